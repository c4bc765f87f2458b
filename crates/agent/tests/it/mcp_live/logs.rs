//! Logs of servers: their level, what is stored, and how it is followed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use agent_test_support::mcp::everything_stdio;
use rustix::process::{Pid, Signal, kill_process};

use super::{configured, entry, log};
use crate::tasks::launched;

#[test]
fn log_messages_are_stored_and_shown_without_secrets() {
    let variables = "SECRET: s3cretvalue99, FIXTURE_LOG: fixture.log";
    let notes = entry("notes", variables) + "    log_level: warning\n";
    let agent = configured(&format!("mcp_servers:\n{notes}"));
    let run = agent.run(["mcp", "logs", "notes"]);
    assert!(run.code == 0 && run.stderr.contains("has logged nothing yet"), "{run:?}");
    assert_eq!(agent.run(["mcp", "call", "notes/leak"]).code, 0);
    assert!(fs::read_to_string(log(&agent)).unwrap().contains("level warning\n"));
    let run = agent.run(["mcp", "logs", "notes"]);
    assert!(run.stdout.contains("--- notes started\n[warning] leaked"), "{run:?}");
    assert!(!run.stdout.contains("s3cretvalue99") && !run.stdout.contains('\u{1b}'), "{run:?}");
    let run = agent.run(["mcp", "logs", "notes", "--lines", "1"]);
    assert_eq!(run.stdout.lines().count(), 1, "{run:?}");
    let run = agent.run(["mcp", "logs", "other"]);
    assert_eq!(run.code, 3, "{run:?}");
}

#[test]
fn a_followed_log_shows_new_lines() {
    let agent = configured(&format!("mcp_servers:\n{}", entry("notes", "")));
    assert_eq!(agent.run(["mcp", "call", "notes/leak"]).code, 0);
    let mut command = agent.command(["mcp", "logs", "notes", "--follow"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = |wanted: &str| lines.by_ref().any(|line| line.unwrap().starts_with(wanted));
    assert!(next("--- stopped"));
    assert_eq!(agent.run(["mcp", "call", "notes/leak"]).code, 0);
    assert!(next("[warning] leaked") && next("--- stopped"));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    child.wait().unwrap();
}

#[test]
fn a_real_server_accepts_the_log_level() {
    let all = launched("all", &everything_stdio(), "    log_level: debug\n");
    let agent = configured(&format!("mcp_servers:\n{all}"));
    let run = agent.run(["mcp", "call", "all/echo", "{\"message\": \"hi\"}"]);
    assert!(run.code == 0 && !run.stderr.contains("log level"), "{run:?}");
}
