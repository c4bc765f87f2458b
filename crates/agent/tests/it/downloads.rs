//! Verified downloads: what the service made, and the program itself.

pub(crate) mod faults;
mod hostile;
mod media;
mod update;
mod update_hostile;

use std::fs;
use std::path::Path;
use std::process::Command;

use agent_test_support::command::{ProgramOutput, TestHome};
use agent_test_support::files::{FileServer, Request, ServedFile, Truncation, write_head};
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::gateway::{plain, settings};

#[test]
fn every_command_has_a_help_page_with_examples() {
    let agent = crate::command_line::agent();
    for command in ["media download", "update", "doctor"] {
        let help = agent.run(command.split(' ').chain(["--help"]));
        let example = format!("Examples:\n  agent {command}");
        assert!(help.code == 0 && help.stdout.contains(&example), "{help:?}");
    }
}

/// The run that a server of ours knows.
const RUN: &str = "run_00000000000000000000000000000001";

/// What every run of the program has otherwise.
fn filters() -> insta::Settings {
    let mut settings = settings();
    settings.add_filter(r"(run|art)_[0-9a-f]{32}", "[$1]");
    settings.add_filter(r"\b[0-9a-f]{64}\b", "[digest]");
    settings
}

fn sha256(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in digest(&SHA256, bytes).as_ref() {
        text += &format!("{byte:02x}");
    }
    text
}

/// The program with the service at an address.
fn agent_at(agent: &TestHome, url: &str, arguments: &[&str]) -> Command {
    let mut command = agent.command(arguments);
    command.env("AGENT_BASE_URL", format!("{url}/v1")).env("AGENT_API_KEY", "agk_test");
    command
}

fn transcript(agent: &TestHome, run: &ProgramOutput) -> String {
    plain(agent, &run.transcript())
}

/// The names of all files in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The manifest of a run with one artifact that should be these bytes.
fn manifest(bytes: &[u8]) -> Value {
    json!({
        "object": "media.run", "id": RUN, "model": "a/b", "capability": "image",
        "charge_micros": 0, "created_at": "2026-01-01T00:00:00Z",
        "expires_at": "2026-02-01T00:00:00Z",
        "artifacts": [{
            "id": "art_1", "url": "http://elsewhere.invalid/art_1", "media_type": "image/png",
            "bytes": bytes.len(), "sha256": sha256(bytes),
        }],
    })
}

/// A service that knows one run, whose artifact is answered by `artifact`; the number counts the
/// requests for it.
fn service(
    manifest: &Value,
    artifact: impl Fn(usize, &Request, &mut std::net::TcpStream) -> std::io::Result<()>
    + Send
    + Sync
    + 'static,
) -> FileServer {
    let text = manifest.to_string();
    let count = std::sync::atomic::AtomicUsize::new(0);
    FileServer::start(move |_, asked, stream| {
        if asked.path.ends_with("/manifest.json") {
            let content = ServedFile { has_parts: false, ..ServedFile::new(text.clone()) };
            return content.send(asked, stream, Truncation::Never);
        }
        if asked.path == "/v1/media/artifacts/art_1" {
            let number = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            return artifact(number, asked, stream);
        }
        write_head(stream, "404 Not Found", "Content-Length: 0\r\n")
    })
}
