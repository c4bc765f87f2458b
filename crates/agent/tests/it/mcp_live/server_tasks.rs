//! `agent mcp tasks`: calls that run as tasks, after their client was killed.

use std::process::{Command, Stdio};

use agent_test_support::command::TestHome;
use agent_test_support::mcp::everything_stdio;
use agent_test_support::mcp::hostile::{Behaviour, HostileHttp};
use agent_test_support::wait::eventually;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::configured;
use crate::tasks::launched;

/// A server of this behaviour, and a home that uses it.
fn fixture(behaviour: Behaviour) -> (HostileHttp, TestHome) {
    let site = HostileHttp::start(behaviour).unwrap();
    let agent = configured(&format!("mcp_servers:\n  h:\n    url: {}\n", site.url));
    (site, agent)
}

/// Starts a call, waits until its task was looked at, and ends the program.
fn ends_by(signal: Signal, site: &HostileHttp, agent: &TestHome) -> Option<i32> {
    let polls = || site.methods().iter().filter(|method| *method == "tasks/get").count();
    let before = polls();
    let mut call: Command = agent.command(["mcp", "call", "h/good"]);
    let mut child = call.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually("the task runs", || polls() > before);
    kill_process(Pid::from_child(&child), signal).unwrap();
    child.wait().unwrap().code()
}

fn tasks(agent: &TestHome, more: &[&str]) -> Vec<Value> {
    let run = agent.run([&["mcp", "tasks", "list", "--json"], more].concat());
    assert_eq!(run.code, 0, "{run:?}");
    let listed: Value = serde_json::from_str(&run.stdout).unwrap();
    listed["tasks"].as_array().unwrap().clone()
}

#[test]
fn a_later_command_gets_the_result_of_a_killed_one() {
    let (site, agent) = fixture(Behaviour::TaskOutlives);
    assert_eq!(ends_by(Signal::KILL, &site, &agent), None);
    let [task] = &*tasks(&agent, &["--no-connect"]) else { panic!("one task") };
    assert_eq!((&task["id"], &task["state"]), (&json!("task-1"), &Value::Null));
    assert_eq!((&task["server"], &task["tool"]), (&json!("h"), &json!("mcp__h__good")));
    assert_eq!(tasks(&agent, &[])[0]["state"], "completed: at last");
    let run = agent.run(["mcp", "tasks", "list"]);
    assert!(run.stdout.contains("task-1") && run.stdout.contains("completed"), "{run:?}");
    let run = agent.run(["mcp", "tasks", "result", "task"]);
    assert_eq!((run.code, &*run.stdout), (0, "good: the task is done\n"), "{run:?}");
    assert!(tasks(&agent, &[]).is_empty());
    let run = agent.run(["mcp", "tasks", "result", "task"]);
    assert!(run.code == 2 && run.stderr.contains("unknown task `task`"), "{run:?}");
}

#[test]
fn a_task_is_cancelled_by_ctrl_c_or_by_a_later_command() {
    let (site, agent) = fixture(Behaviour::TaskForever);
    assert_eq!(ends_by(Signal::INT, &site, &agent), Some(130));
    assert_eq!(site.methods().iter().filter(|method| *method == "tasks/cancel").count(), 1);
    assert!(tasks(&agent, &[]).is_empty(), "it is cancelled, not remembered");

    let (site, agent) = fixture(Behaviour::TaskForeverStateless);
    ends_by(Signal::KILL, &site, &agent);
    assert_eq!(tasks(&agent, &[])[0]["state"], "working: far from done");
    let run = agent.run(["mcp", "tasks", "cancel", "task-1", "--json"]);
    let told: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, told), (0, json!({"cancelled": "task-1"})), "{run:?}");
    assert!(site.methods().iter().any(|method| method == "tasks/cancel"));
    assert!(tasks(&agent, &[]).is_empty());
}

#[test]
fn a_task_that_ended_with_its_server_is_forgotten() {
    let server = launched("all", &everything_stdio(), "");
    let agent = configured(&format!("mcp_servers:\n{server}"));
    let mut call =
        agent.command(["mcp", "call", "all/simulate-research-query", "{\"topic\": \"t\"}"]);
    let mut child = call.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let file = agent.home().join("mcp-tasks.json");
    eventually("the task is remembered", || file.exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(tasks(&agent, &[])[0]["state"], "unknown to the server");
    assert!(tasks(&agent, &[]).is_empty());
}

#[test]
fn the_list_is_bounded_private_and_no_list_of_others() {
    use std::os::unix::fs::PermissionsExt as _;
    let (site, agent) = fixture(Behaviour::TaskOutlives);
    let file = agent.home().join("mcp-tasks.json");
    let old = |at: usize, started: &str| {
        let id = format!("old-{at}");
        json!({"server": "h", "tool": "mcp__h__good", "id": id, "conversation": null, "started": started})
    };
    let mut known: Vec<Value> = (0..100).map(|at| old(at, "2100-01-01T00:00:00Z")).collect();
    known.push(old(100, "2020-01-01T00:00:00Z"));
    std::fs::write(&file, json!({ "tasks": known }).to_string()).unwrap();
    ends_by(Signal::KILL, &site, &agent);
    let listed = tasks(&agent, &["--no-connect"]);
    assert_eq!(listed.len(), 64);
    assert_eq!((&listed[0]["id"], &listed[63]["id"]), (&json!("old-37"), &json!("task-1")));
    std::fs::remove_file(&file).unwrap();
    ends_by(Signal::KILL, &site, &agent);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // A damaged file is reported and stays; calls work without it.
    std::fs::write(&file, "{").unwrap();
    let run = agent.run(["mcp", "call", "h/good"]);
    assert_eq!((run.code, &*run.stdout), (0, "good: the task is done\n"), "{run:?}");
    assert!(run.stderr.contains("mcp-tasks.json"), "{run:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{");
}
