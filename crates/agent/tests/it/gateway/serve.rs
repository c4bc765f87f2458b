//! The service runs, tells everything that keeps it from running, and drains when a signal asks for it.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::Stdio;

use agent_test_support::command::ProgramOutput;
use agent_test_support::wait::eventually;
use rustix::process::Signal;

use super::{Fixture, Served, chat_body, send, settings};

#[test]
fn service_answers_members_and_stops_on_a_signal() {
    let fixture = Fixture::new();
    let key = fixture.alice();
    let served = fixture.serve();
    assert_eq!(served.ask("GET", "/readyz", "", "").0, 200);
    let (status, body) = served.ask("GET", "/v1/models", &key, "");
    assert_eq!(status, 200, "{body}");
    assert!(body.contains("test/echo"), "{body}");
    assert_eq!(served.chat("agk_wrong", "test/echo").0, 401);
    let (code, lines) = served.stop();
    assert_eq!(code, Some(0));
    assert!(lines.iter().any(|line| line.starts_with("Stopping: ")), "{lines:?}");
}

#[test]
fn every_request_is_logged_as_json_without_secrets() {
    let fixture = Fixture::new();
    let key = fixture.alice();
    let served = fixture.serve();
    assert_eq!(served.chat(&key, "test/echo").0, 200);
    let (_, lines) = served.stop();
    let logged =
        lines.iter().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let answered = logged.filter(|line| line["message"] == "answered").collect::<Vec<_>>();
    assert_eq!(answered.len(), 1, "{lines:?}");
    assert_eq!((&answered[0]["operation"], &answered[0]["status"]), (&"chat".into(), &200.into()));
    assert_eq!((&answered[0]["level"], &answered[0]["method"]), (&"INFO".into(), &"POST".into()));
    let all = lines.join("\n");
    assert!(!all.contains(&key[17..]) && !all.contains(fixture.upstream.key()), "{all}");
    assert!(!all.contains("hello"), "{all}");
}

#[test]
fn log_format_and_level_are_configurable() {
    let fixture = Fixture::new();
    let key = fixture.alice();
    for (log, has_line) in [("text, level: info", true), ("text, level: warn", false)] {
        fixture.configure(&format!("log: {{format: {log}}}\n"));
        let served = fixture.serve();
        assert_eq!(served.chat(&key, "test/echo").0, 200);
        let (_, lines) = served.stop();
        let line = lines.iter().find(|line| line.contains("answered"));
        assert_eq!(line.is_some(), has_line, "{lines:?}");
        assert!(line.is_none_or(|line| line.contains(" INFO ") && line.contains("status=200")));
    }
}

#[test]
fn json_output_reports_readiness_on_stdout() {
    let fixture = Fixture::new();
    let mut command = fixture.command(["serve", "--json"]);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(ready["event"], "ready");
    let address = ready["address"].as_str().unwrap();
    assert_eq!(ready["base_url"], format!("http://{address}/v1"));
    assert!(!address.ends_with(":0"));
}

#[test]
fn all_configuration_errors_are_reported_together() {
    let fixture = Fixture::bare();
    let path = fixture.agent.home().join("gateway/gateway.yaml");
    let text = "listen: 8930\nprovidrs: {}\nproviders:\n  a:\n    kind: opnai\n    base_url: http://x/v1\n    \
                discover: true\n  b:\n    kind: openai\n    api_key: ${NOT_SET}\n    models: [m]\nprices:\n  \
                default_micros: {chat: -1}\n";
    fs::write(path, text).unwrap();
    let run = fixture.run(["serve"]);
    assert_eq!(run.code, 3);
    settings().bind(|| insta::assert_snapshot!(fixture.plain(&run.transcript())));
}

#[test]
fn all_startup_errors_are_reported_together() {
    let fixture = Fixture::bare();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let path = fixture.agent.home().join("gateway/gateway.yaml");
    let text = fs::read_to_string(&path).unwrap();
    let address = taken.local_addr().unwrap().to_string();
    fs::write(&path, text.replace("127.0.0.1:0\n", &format!("{address}\n"))).unwrap();
    fs::write(fixture.agent.home().join("gateway/gateway.secret"), "short").unwrap();
    let run = fixture.run(["serve"]);
    assert_eq!(run.code, 3);
    settings().bind(|| insta::assert_snapshot!(fixture.plain(&run.transcript())));
    let json = ProgramOutput::of(&mut fixture.command(["serve", "--json"]), b"");
    let error: serde_json::Value = serde_json::from_str(json.stderr.trim()).unwrap();
    assert_eq!(error["error"]["causes"].as_array().unwrap().len(), 3, "{error}");
}

#[test]
fn a_missing_configuration_is_reported_with_a_hint() {
    let fixture = Fixture::bare();
    fs::remove_file(fixture.agent.home().join("gateway/gateway.yaml")).unwrap();
    let runs = [
        fixture.transcript(["serve"]),
        fixture.transcript(["member", "list", "--config", "elsewhere.yaml"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
}

#[test]
fn an_explicit_configuration_needs_no_home() {
    let fixture = Fixture::bare();
    let from = fixture.agent.home().join("gateway/gateway.yaml");
    fs::copy(from, fixture.agent.work().join("my.yaml")).unwrap();
    let run = |command: &mut std::process::Command| {
        command.env_remove("AGENT_HOME").env("UPSTREAM_KEY", "x");
        ProgramOutput::of(command, b"")
    };
    let made = run(&mut fixture.command(["migrate", "--config", "my.yaml"]));
    assert_eq!(made.code, 0, "{made:?}");
    assert!(fixture.agent.work().join("gateway.sqlite3").exists());
    let listed = run(fixture.command(["member", "list"]).env("AGENT_GATEWAY_CONFIG", "my.yaml"));
    assert_eq!(listed.code, 0, "{listed:?}");
}

#[test]
fn a_database_file_serves_only_one_process() {
    let fixture = Fixture::new();
    let _first = fixture.serve();
    let run = fixture.run(["serve"]);
    settings().bind(|| insta::assert_snapshot!(fixture.plain(&run.transcript())));
}

#[test]
fn shutdown_finishes_streams_and_rejects_new_requests() {
    let fixture = Fixture::new();
    let key = fixture.alice();
    let mut served = fixture.serve();
    let mut stream = TcpStream::connect(&served.address).unwrap();
    send(&mut stream, ("POST", "/v1/chat/completions"), &key, &chat_body("test/gate-mid", true));
    let mut reader = BufReader::new(stream);
    let mut begun = String::new();
    while !begun.contains("data: ") {
        assert!(reader.read_line(&mut begun).unwrap() > 0, "{begun}");
    }
    served.signal(Signal::TERM);
    eventually("nobody new is let in", || match TcpStream::connect(&served.address) {
        Err(_) => true,
        Ok(mut late) => {
            send(&mut late, ("GET", "/v1/models"), &key, "");
            let mut answer = String::new();
            late.read_to_string(&mut answer).is_err() || !answer.starts_with("HTTP/1.1 200")
        }
    });
    fixture.upstream.open_gate();
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("data: [DONE]"), "{rest}");
    assert_eq!(served.wait(), Some(0));
    let line = &fixture.json(["ledger", "statement", "alice"])["lines"][0];
    assert_eq!((&line["kind"], &line["amount_micros"]), (&"charge".into(), &(-1000).into()));
}

#[test]
fn a_second_signal_stops_immediately_and_releases_holds() {
    let fixture = Fixture::new();
    let key = fixture.alice();
    let mut served = fixture.serve();
    let mut stream = TcpStream::connect(&served.address).unwrap();
    send(&mut stream, ("POST", "/v1/chat/completions"), &key, &chat_body("test/gate-mid", true));
    eventually("the upstream works", || fixture.upstream.in_flight() == 1);
    served.signal(Signal::TERM);
    while !served.line().starts_with("Stopping: ") {}
    served.signal(Signal::TERM);
    assert_eq!(served.wait(), Some(143));
    // As after a crash, unless the hold was released in the moment before the process ended.
    let held = &fixture.json(["member", "show", "alice"])["held_micros"];
    assert!(*held == 1000 || *held == 0, "{held}");
    let again = fixture.serve();
    let member = fixture.json(["member", "show", "alice"]);
    assert_eq!(
        (&member["held_micros"], &member["balance_micros"]),
        (&0.into(), &10_000_000.into())
    );
    drop(again);
}

#[test]
fn serve_migrates_on_request() {
    let fixture = Fixture::bare();
    let served = Served::start(&mut fixture.command(["serve", "--migrate"]));
    assert_eq!(served.ask("GET", "/readyz", "", "").0, 200);
    assert_eq!(served.stop().0, Some(0));
}
