//! `agent research watch` where things break.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use agent_test_support::upstream::Step;
use agent_test_support::wait::eventually;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::cable::CuttableProxy;
use super::{MemberFixture, told};
use crate::gateway::Served;

/// A job that waits for the test before its first answer.
fn begin(club: &MemberFixture, served: &Served) -> String {
    let words = ["research", "start", "Why? [[gate]]", "--depth", "quick", "--model", "test/echo"];
    let run = club.run(served, &words);
    assert_eq!(run.code, 0, "{run:?}");
    eventually("it is worked on", || club.fixture.upstream.in_flight() == 1);
    run.stdout.trim().to_owned()
}

fn watch(club: &MemberFixture, address: &str, arguments: &[&str]) -> Child {
    let words = [&["research", "watch"], arguments].concat();
    let mut command = club.command(address, &words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The numbers of events, which must be all there are, each once.
fn numbers(lines: &[Value]) -> Vec<i64> {
    lines.iter().map(|event| event["sequence_number"].as_i64().unwrap()).collect()
}

#[test]
fn events_are_printed_once_despite_cut_connections() {
    let club = MemberFixture::new();
    let served = club.serve();
    let id = begin(&club, &served);
    let cable = CuttableProxy::to(&served.address);
    let mut child = watch(&club, &cable.address, &[&id, "--json"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut seen: Vec<Value> = Vec::new();
    while seen.last().is_none_or(|event| event["type"] != "running") {
        seen.push(serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap());
    }
    cable.cut();
    eventually("it comes back", || cable.made() >= 2);
    club.fixture.upstream.open_gate();
    seen.extend(lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let expected: Vec<i64> = (1..).take(seen.len()).collect();
    assert_eq!(numbers(&seen), expected);
    assert_eq!(seen.last().unwrap()["type"], "completed");
    assert!(seen.iter().all(|event| event["job"] == id.as_str()));
}

#[test]
fn watch_survives_a_restart_of_the_service() {
    let club = MemberFixture::new();
    let mut served = club.serve();
    // The plan is made, the notes wait.
    club.fixture.upstream.script("echo", vec![Step::Echo, Step::Gate]);
    let words = ["research", "start", "Why is the sky blue?", "--depth", "quick"];
    let run = club.run(&served, &[&words[..], &["--model", "test/echo"]].concat());
    let id = run.stdout.trim();
    let cable = CuttableProxy::to(&served.address);
    let mut child = watch(&club, &cable.address, &[id]);
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut seen = Vec::new();
    while seen.last().is_none_or(|line: &String| !line.contains(" read: ")) {
        seen.push(told.next().unwrap().unwrap());
    }
    eventually("notes are being made", || club.fixture.upstream.in_flight() == 1);
    served.signal(Signal::KILL);
    served.wait();
    let line = told.next().unwrap().unwrap();
    assert!(line.contains("connection lost"), "{line}");
    club.fixture.upstream.open_gate();
    let served = club.fixture.serve();
    cable.lead_to(&served.address);
    let rest: Vec<String> = told.map(Result::unwrap).collect();
    let mut report = String::new();
    child.stdout.take().unwrap().read_to_string(&mut report).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{rest:?}");
    assert!(report.contains("## Sources"), "{report}");
    assert!(rest.iter().any(|line| line.contains("check: ")), "{rest:?}");
    assert!(!rest.iter().any(|line| line.contains("read: ")), "what was told stays told: {rest:?}");
    assert_eq!(club.balance(), 10_000_000 - 10_000);
}

#[test]
fn ctrl_c_keeps_the_job_running_and_prints_the_resume_command() {
    let club = MemberFixture::new();
    let served = club.serve();
    let id = begin(&club, &served);
    let cable = CuttableProxy::to(&served.address);
    let mut child = watch(&club, &cable.address, &[&id, "--json"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // It listens to signals before it asks.
    assert!(lines.next().unwrap().unwrap().contains("queued"));
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    // Until here somebody read: a reader who leaves would be another end.
    drop(lines);
    assert_eq!(output.status.code(), Some(130));
    let error: Value = serde_json::from_slice(&output.stderr).unwrap();
    let hint = format!("the job is still running; follow it with `agent research watch {id}`");
    assert_eq!(error["error"]["hints"][0], hint);
    club.fixture.upstream.open_gate();
    assert_eq!(club.run(&served, &["research", "watch", &id]).code, 0);
}

#[test]
fn a_failed_job_exits_with_1() {
    let club = MemberFixture::with("");
    let served = club.serve();
    let words =
        ["research", "start", "zebra", "--depth", "quick", "--model", "test/echo", "--watch"];
    let run = club.run(&served, &words);
    told(&club, "research_failed", &run.transcript());
    let jobs = club.json(&served, &["research", "list"]);
    assert_eq!(jobs["data"][0]["status"], "failed");
    assert_eq!(club.balance(), 10_000_000);
}

#[test]
fn start_with_watch_prints_the_report() {
    let club = MemberFixture::new();
    let served = club.serve();
    let words = ["research", "start", "Why is the sky blue?", "--depth", "quick", "--watch"];
    let words = [&words[..], &["--model", "test/echo"]].concat();
    let run = club.run(&served, &words);
    told(&club, "research_start_and_watch", &run.transcript());
    let lines = club.run(&served, &[&words[..], &["--json"]].concat());
    let events: Vec<Value> =
        lines.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events[0]["type"], "queued", "{lines:?}");
    assert_eq!(events.last().unwrap()["type"], "completed");
}

#[test]
fn progress_is_shown_at_a_terminal() {
    let club = MemberFixture::new();
    let served = club.serve();
    let words = ["research", "start", "Why is the sky blue?", "--depth", "quick", "--watch"];
    let words = [&words[..], &["--model", "test/echo"]].concat();
    let mut command = club.command(&served.address, &words);
    command.env("TERM", "xterm");
    let run = crate::mcp_config::terminal::run(&mut command, "");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("[6/6] check: "), "{run:?}");
    assert!(run.stderr.contains("completed …") || run.stderr.contains("queued …"), "{run:?}");
    assert!(run.stdout.contains("## Sources"), "{run:?}");
}
