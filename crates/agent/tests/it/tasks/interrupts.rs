//! Somebody ends a task, or its service, in the middle.

use std::process::{Child, Stdio};
use std::time::Duration;

use agent_test_support::upstream::Step;
use agent_test_support::wait::eventually;
use rustix::process::{Pid, Signal, kill_process};

use super::{MODEL, Setup, call, notes, say, text};

fn start(setup: &Setup, arguments: &[&str]) -> Child {
    let mut command = setup.command([&["run", "--json", "--model", MODEL], arguments].concat());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Ends it and gives its code and its events.
fn end(child: Child) -> (i32, Vec<serde_json::Value>, String) {
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let events = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap_or(-1), events, stderr)
}

#[test]
fn an_interrupt_at_any_time_ends_all_processes() {
    let setup = Setup::with_servers(&notes(""));
    let upstream = &setup.fixture.upstream;
    // While the model is silent, in the middle of an answer, and while a tool runs.
    let moments: [(&str, Vec<Step>); 4] = [
        ("silent", vec![Step::Hang]),
        ("answering", vec![Step::HangMid]),
        ("calling", vec![call("mcp__notes__slow", &text("x"))]),
        ("after a call", vec![call("mcp__notes__echo", &text("x")), Step::Hang]),
    ];
    for (moment, steps) in moments {
        let questions = upstream.completions().len() + steps.len();
        setup.script(steps);
        let child = start(&setup, &["Go"]);
        eventually(moment, || upstream.completions().len() == questions);
        if moment == "calling" {
            eventually("it runs", || setup.file("fixture.log").contains("call slow"));
        }
        if moment == "answering" {
            std::thread::sleep(Duration::from_millis(500)); // sleep: the first words are on their way
        }
        let process = child.id();
        signal(&child, Signal::INT);
        let (code, events, stderr) = end(child);
        assert_eq!(code, 130, "{moment}: {stderr}");
        let last = events.last().unwrap();
        assert_eq!(last["end_reason"], "user_cancelled", "{moment}: {events:?}");
        if moment == "calling" {
            let unfinished = events.iter().find(|event| event["type"] == "unfinished").unwrap();
            assert_eq!(unfinished["tools"][0], "mcp__notes__slow");
        }
        // What has begun is read to its end by the service, and paid for.
        if moment != "answering" {
            eventually("nothing is asked any more", || upstream.in_flight() == 0);
        }
        upstream.cut_connections();
        let log = setup.file("fixture.log");
        let servers = log.lines().filter_map(|line| line.strip_prefix("started "));
        let alive = |id: &&str| std::path::Path::new("/proc").join(id).exists();
        assert_eq!(servers.filter(alive).count(), 0, "{moment}: of {process}: {log}");
    }
}

#[test]
fn an_interrupt_during_startup_or_silence_exits_immediately() {
    let setup = Setup::with_servers(
        "  stuck:\n    command: python3\n    args: [server]\n    env: {FIXTURE_MODE: hang, FIXTURE_LOG: fixture.log}\n",
    );
    let child = start(&setup, &["Go"]);
    eventually("the server runs", || setup.file("fixture.log").contains("started"));
    signal(&child, Signal::INT);
    let (code, _, stderr) = end(child);
    assert_eq!(code, 130, "{stderr}");
    assert_eq!(setup.asked().len(), 0);
    // A service that takes the question and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = setup.command(["run", "--no-tools", "Go"]);
    command.env("AGENT_BASE_URL", format!("http://{}/v1", silent.local_addr().unwrap()));
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    let (connection, _) = silent.accept().unwrap();
    signal(&child, Signal::INT);
    let (code, _, stderr) = end(child);
    assert_eq!(code, 130, "{stderr}");
    drop(connection);
}

#[test]
fn an_interrupt_during_sampling_retry_or_batch_exits() {
    let launch = agent_test_support::mcp::everything_stdio();
    let setup = Setup::new();
    setup.configure(&format!(
        "mcp_servers:\n  all:\n    command: {}\n    args: {}\n",
        launch.command.display(),
        serde_json::json!(launch.args)
    ));
    // A server waits for a model's answer.
    let before = setup.asked().len();
    let prompt = serde_json::json!({"prompt": "Hi"});
    setup.script(vec![call("mcp__all__trigger_sampling_request", &prompt), Step::Hang]);
    let child = start(&setup, &["--server", "all", "Go"]);
    eventually("the server asked", || setup.asked().len() == before + 2);
    signal(&child, Signal::INT);
    let (code, events, stderr) = end(child);
    assert_eq!(code, 130, "{stderr}");
    assert!(events.iter().any(|event| event["type"] == "unfinished"), "{events:?}");
    // Tasks of a file: the one that runs ends, the rest do not begin.
    let file = setup.fixture.agent.work().join("tasks");
    std::fs::write(&file, "one\ntwo\nthree\nfour\n").unwrap();
    let before = setup.asked().len();
    setup.script(vec![say("1"), Step::Hang]);
    let path = file.display().to_string();
    let child = start(&setup, &["--no-tools", "--batch", &path, "--jobs", "1"]);
    eventually("the second task", || setup.asked().len() == before + 2);
    signal(&child, Signal::INT);
    let (code, lines, stderr) = end(child);
    assert_eq!(code, 130, "{stderr}");
    assert!(stderr.contains("interrupted after 2 of 4 tasks"), "{stderr}");
    let ends: Vec<&str> = lines.iter().map(|line| line["end_reason"].as_str().unwrap()).collect();
    assert_eq!(ends, ["completed", "user_cancelled"]);
    // It waits for a service that is busy.
    setup.script(vec![Step::RetryAfter(503, 60); 4]);
    let before = setup.asked().len();
    let child = start(&setup, &["--no-tools", "Go"]);
    eventually("it is asked", || setup.asked().len() > before);
    std::thread::sleep(Duration::from_millis(500)); // sleep: the refusal is on its way back
    signal(&child, Signal::INT);
    assert_eq!(end(child).0, 130);
}

#[test]
fn a_second_interrupt_exits_immediately() {
    let setup = Setup::with_servers(&notes(""));
    setup.script(vec![call("mcp__notes__slow", &text("x"))]);
    let child = start(&setup, &["Go"]);
    eventually("it runs", || setup.file("fixture.log").contains("call slow"));
    signal(&child, Signal::INT);
    signal(&child, Signal::INT);
    let (code, _, stderr) = end(child);
    assert_eq!(code, 130, "{stderr}");
}

#[test]
fn sigterm_exits_with_143_as_system_aborted() {
    let setup = Setup::new();
    setup.script(vec![Step::Hang]);
    let child = start(&setup, &["--no-tools", "Go"]);
    eventually("it is asked", || !setup.asked().is_empty());
    signal(&child, Signal::TERM);
    let (code, events, _) = end(child);
    assert_eq!(code, 143);
    assert_eq!(events.last().unwrap()["end_reason"], "system_aborted");
}

#[test]
fn a_task_continues_after_a_restart_of_the_service() {
    let mut setup = Setup::with_servers(&notes(""));
    setup.fixture.configure("");
    let address = setup.served.address.clone();
    // The service listens where it did.
    let yaml = setup.fixture.agent.home().join("gateway/gateway.yaml");
    let fixed = std::fs::read_to_string(&yaml).unwrap();
    std::fs::write(&yaml, fixed.replace("listen: 127.0.0.1:0", &format!("listen: {address}")))
        .unwrap();
    setup.script(vec![call("mcp__notes__echo", &text("x")), Step::Hang, say("Back again.")]);
    let child = start(&setup, &["--server", "notes", "Go"]);
    eventually("the second question", || setup.asked().len() == 2);
    setup.served.signal(Signal::KILL);
    setup.served.wait();
    setup.served = setup.fixture.serve();
    assert_eq!(setup.served.address, address);
    let (code, events, stderr) = end(child);
    assert_eq!(code, 0, "{stderr} {events:?}");
    assert_eq!(events.last().unwrap()["answer"], "Back again.");
    assert!(events.iter().any(|event| event["type"] == "waiting"));
}
