//! Nothing that was started outlives the command, however that ends.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use agent_test_support::command::TestHome;
use agent_test_support::wait::eventually;

use super::{configured, entry, log};

/// A call that runs, and the processes behind it: the server and a child in a new session.
fn running() -> (TestHome, Child, Vec<String>) {
    let agent = configured(&format!(
        "mcp_servers:\n{}",
        entry("notes", "FIXTURE_LOG: fixture.log, FIXTURE_CHILD: \"1\"")
    ));
    let mut command = agent.command(["mcp", "call", "notes/slow"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually("the call runs", || said(&agent).contains("call slow"));
    let ids: Vec<String> = said(&agent)
        .lines()
        .filter_map(|line| line.strip_prefix("child ").or(line.strip_prefix("started ")))
        .map(str::to_owned)
        .collect();
    assert_eq!(ids.len(), 2);
    assert!(ids.iter().all(|id| lives(id)));
    (agent, child, ids)
}

fn said(agent: &TestHome) -> String {
    fs::read_to_string(log(agent)).unwrap_or_default()
}

/// Whether a process still does something; one that only waits to be collected does not.
fn lives(id: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(id).join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[test]
fn an_interrupt_cancels_the_call_and_stops_the_server() {
    let (agent, mut child, ids) = running();
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(said(&agent).contains("cancelled"), "{}", said(&agent));
    for id in ids {
        assert!(!lives(&id), "process {id} survived");
    }
}

#[test]
fn server_processes_end_when_the_agent_is_killed() {
    let (_bench, mut child, ids) = running();
    child.kill().unwrap();
    child.wait().unwrap();
    for id in ids {
        eventually("the process is gone", || !lives(&id));
    }
}
