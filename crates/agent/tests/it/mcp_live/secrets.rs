//! Secrets of the configuration appear nowhere, whatever goes wrong.

use std::fs;
use std::path::Path;
use std::thread;

use agent_test_support::command::{ProgramOutput, TestHome};

use super::{SERVER, configure};
use crate::command_line::agent;

const IN_PROFILE: &str = "profile-3c9f1a7be2d04856";
const IN_HEADER: &str = "header-a81c55d0f3e94b27";
const IN_ARGUMENT: &str = "argument-6e02b9d4c7f1483a";
const IN_URL: &str = "url-f7d3018e6ab94c52";
const ALL: [&str; 4] = [IN_PROFILE, IN_HEADER, IN_ARGUMENT, IN_URL];

fn planted() -> TestHome {
    let agent = agent();
    configure(
        &agent,
        &format!(
            "mcp_servers:\n  crash:\n    command: python3\n    args: [\"{SERVER}\", --api-key, \
             {IN_ARGUMENT}]\n    env: {{FIXTURE_MODE: crash, SECRET: \"${{TOKEN}}\"}}\n  leak:\n    \
             command: python3\n    args: [\"{SERVER}\", \"--token={IN_ARGUMENT}\"]\n    env: \
             {{SECRET: \"${{TOKEN}}\"}}\n  web:\n    url: http://127.0.0.1:9/mcp?api_key={IN_URL}\n    \
             headers: {{Authorization: Bearer {IN_HEADER}}}\n"
        ),
    );
    fs::write(agent.home().join(".env"), format!("TOKEN={IN_PROFILE}\n")).unwrap();
    agent
}

/// Every file below a folder that the program wrote by itself.
fn written(folder: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() {
            all.push_str(&written(&path));
        } else if name != ".env" && name != "config.yaml" {
            all.push_str(&String::from_utf8_lossy(&fs::read(path).unwrap()));
        }
    }
    all
}

#[test]
fn secrets_are_neither_printed_nor_logged() {
    let agent = planted();
    let commands: [&[&str]; 9] = [
        &["mcp", "list"],
        &["mcp", "list", "--no-connect"],
        &["mcp", "test", "crash"],
        &["mcp", "test", "web"],
        &["mcp", "tools"],
        &["mcp", "doctor"],
        &["mcp", "call", "crash/echo", "{}"],
        &["mcp", "call", "web/echo", "{}"],
        &["mcp", "call", "leak/leak", "{}"],
    ];
    let check = |command: &[&str], style: &[&str]| {
        let mut with_log = agent.command(command.iter().chain(style));
        let run = ProgramOutput::of(with_log.env("RUST_LOG", "mcp_client=trace"), b"");
        for secret in ALL {
            let place = format!("{command:?} {style:?} tells {secret}");
            assert!(!run.stdout.contains(secret), "{place}: {}", run.stdout);
            assert!(!run.stderr.contains(secret), "{place}: {}", run.stderr);
        }
    };
    // Most of them wait for a server that does not start.
    thread::scope(|scope| {
        for command in commands {
            for style in [&["--verbose"][..], &["--json", "--verbose"]] {
                scope.spawn(move || check(command, style));
            }
        }
    });
    let written = written(&agent.home());
    assert!(written.contains("cannot sign in with"), "the log is missing");
    for secret in ALL {
        assert!(!written.contains(secret), "a file tells {secret}");
    }
}
