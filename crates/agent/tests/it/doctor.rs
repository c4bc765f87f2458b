//! `agent doctor`: what works, what does not, and what to do about it.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use agent_test_support::command::{ProgramOutput, TestHome};
use agent_test_support::files::{FileServer, write_head};
use agent_test_support::wait::eventually;
use rustix::process::Signal;
use serde_json::Value;

use crate::command_line::agent;
use crate::downloads::faults::Started;
use crate::gateway::up::Machine;
use crate::gateway::{Fixture, Served, settings};
use crate::mcp_live::{configure, entry, log, steady};

/// An address where nobody is.
fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/v1", listener.local_addr().unwrap())
}

/// Looks, with the service at an address.
fn doctor(agent: &TestHome, base: &str, arguments: &[&str]) -> ProgramOutput {
    let all = ["doctor"].iter().chain(arguments);
    ProgramOutput::of(agent.command(all).env("AGENT_BASE_URL", base), b"")
}

fn shown(agent: &TestHome, run: &ProgramOutput) -> String {
    steady(agent, run).replace(&agent.work().display().to_string(), "[work]")
}

fn filters() -> insta::Settings {
    let mut settings = settings();
    settings.add_filter(r"\d+(\.\d)? [GM]B free", "[n] free");
    // Where espeak-ng is installed there are voices.
    settings.add_filter(r"one of \d+ models", "one of [n] models");
    settings.add_filter(r", speech", "");
    settings
}

fn json(run: &ProgramOutput) -> Value {
    serde_json::from_str(&run.stdout).unwrap()
}

/// How an area is, and what is said of it.
fn area<'a>(document: &'a Value, name: &str) -> Vec<(&'a str, &'a str)> {
    let checks = document["checks"].as_array().unwrap().iter();
    let of = checks.filter(|check| check["area"] == name);
    of.map(|check| (check["state"].as_str().unwrap(), check["what"].as_str().unwrap())).collect()
}

#[test]
fn an_empty_home_gets_setup_hints() {
    let agent = agent();
    let run = doctor(&agent, &nobody(), &[]);
    filters().bind(|| insta::assert_snapshot!(shown(&agent, &run)));
    assert!(!agent.home().exists(), "looking makes nothing");
    let run = doctor(&agent, &nobody(), &["--offline"]);
    filters().bind(|| insta::assert_snapshot!("nothing_set_up_offline", shown(&agent, &run)));
}

#[test]
fn a_running_service_is_healthy() {
    let machine = Machine::new();
    let served = machine.start();
    let base = format!("http://{}/v1", served.address);
    eventually("the documents can be searched", || {
        let (_, text) = served.ask("GET", "/v1/capabilities", &machine.key(), "");
        let list: Value = serde_json::from_str(&text).unwrap();
        let needed = ["chat", "responses", "research", "web_search", "web_fetch"];
        let mut found = list["data"].as_array().unwrap().iter();
        found.all(|it| it["usable"] == true || !needed.contains(&it["id"].as_str().unwrap()))
    });
    configure(&machine.agent, &format!("model: ollama/echo\nmcp_servers:\n{}", entry("notes", "")));
    let run = doctor(&machine.agent, &base, &[]);
    filters().bind(|| insta::assert_snapshot!(shown(&machine.agent, &run)));
    let run = doctor(&machine.agent, &base, &["--json"]);
    let document = json(&run);
    assert_eq!((run.code, &document["healthy"]), (0, &true.into()), "{run:?}");
    assert_eq!(document["problems"], 0);
}

#[test]
fn an_unknown_model_is_a_problem() {
    let machine = Machine::new();
    let served = machine.start();
    configure(&machine.agent, "model: ollama/ecko\n");
    let run = doctor(&machine.agent, &format!("http://{}/v1", served.address), &["--json"]);
    let document = json(&run);
    assert_eq!(run.code, 1, "{run:?}");
    assert_eq!(area(&document, "model")[0].0, "problem");
    assert!(run.stdout.contains("did you mean `ollama/echo`?"), "{run:?}");
}

#[test]
fn an_invalid_key_and_an_empty_account_are_problems() {
    let fixture = Fixture::new();
    let run = fixture.run(["member", "create", "poor"]);
    assert_eq!(run.code, 0, "{run:?}");
    let key = fixture.run(["key", "create", "poor", "--name", "k", "--quiet"]).stdout;
    let served: Served = fixture.serve();
    let base = format!("http://{}/v1", served.address);
    let ask = |key: &str| {
        let mut command = fixture.agent.command(["doctor"]);
        ProgramOutput::of(command.env("AGENT_BASE_URL", &base).env("AGENT_API_KEY", key), b"")
    };
    let wrong = ask("agk_wrong");
    filters().bind(|| insta::assert_snapshot!("a_wrong_key", shown(&fixture.agent, &wrong)));
    let poor = ask(key.trim());
    filters().bind(|| insta::assert_snapshot!("an_empty_account", shown(&fixture.agent, &poor)));
}

#[test]
fn a_service_that_is_down_is_a_problem() {
    let agent = agent();
    let base = nobody();
    fs::create_dir_all(agent.home()).unwrap();
    let secrets = agent.home().join(".env");
    fs::write(&secrets, format!("AGENT_API_KEY=agk_some\nAGENT_BASE_URL={base}\n")).unwrap();
    fs::set_permissions(&secrets, fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(agent.home(), fs::Permissions::from_mode(0o777)).unwrap();
    let run = agent.run(["doctor"]);
    filters().bind(|| insta::assert_snapshot!(shown(&agent, &run)));
    fs::set_permissions(&secrets, fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(agent.home(), fs::Permissions::from_mode(0o700)).unwrap();
    let document = json(&agent.run(["doctor", "--json"]));
    assert_eq!(area(&document, "home")[0].0, "ok");
    assert_eq!(area(&document, "files"), []);
}

#[test]
fn an_invalid_configuration_is_a_problem_and_other_checks_run() {
    for (text, name, expected) in [
        ("member: [\n", "config", "invalid configuration at"),
        ("member: {base: x}\n", "service", "unknown key"),
        ("member: {base_url: 'ftp://x'}\n", "service", "invalid service address"),
        ("metrics: {mode: maybe}\n", "metrics", "`metrics.mode` must be one of `off`, `local`"),
        ("update: {public_key: abc}\n", "updates", "invalid public key"),
        ("update: {key: abc}\n", "updates", "unknown key"),
        ("mcp_servers: {x: {command: /no/such/program}}\n", "servers", "/no/such/program"),
    ] {
        let agent = agent();
        configure(&agent, text);
        let run = agent.run(["doctor", "--offline", "--json"]);
        let document = json(&run);
        let found = area(&document, name);
        assert_eq!(run.code, 1, "{text} {run:?}");
        let is_it = |(state, what): &(&str, &str)| *state == "problem" && what.contains(expected);
        assert!(found.iter().any(is_it), "{text} {found:?}");
        assert_eq!(area(&document, "disk").len(), 1);
    }
}

#[test]
fn failing_servers_are_problems() {
    let machine = Machine::new();
    let served = machine.start();
    let base = format!("http://{}/v1", served.address);
    let servers = [entry("notes", ""), entry("crash", "FIXTURE_MODE: crash")].concat();
    configure(&machine.agent, &format!("mcp_servers:\n{servers}"));
    let run = doctor(&machine.agent, &base, &["--json"]);
    let document = json(&run);
    assert_eq!(run.code, 1, "{run:?}");
    let found = area(&document, "servers");
    let has = |state: &str, name: &str| {
        found.iter().any(|(word, what)| *word == state && what.starts_with(name))
    };
    assert!(has("ok", "notes: responds") && has("problem", "crash: "), "{found:?}");
}

#[test]
fn invalid_responses_of_the_service_are_problems() {
    let agent = agent();
    let answer = |status: &'static str, head: &'static str, body: &'static str| {
        FileServer::start(move |_, _, stream| {
            let length = body.len();
            write_head(stream, status, &format!("{head}Content-Length: {length}\r\n"))?;
            stream.write_all(body.as_bytes())
        })
    };
    let late = "Date: Mon, 01 Jan 2001 00:00:00 GMT\r\n";
    let evil = "{\"error\": {\"message\": \"\\u001b[2J no\", \"type\": \"x\", \"param\": null, \
                \"code\": null}}";
    for (server, name, expected) in [
        (answer("200 OK", late, "ready\n"), "clock", "ahead of the service"),
        (answer("404 Not Found", "", "<p>no"), "service", "is not a member service"),
        (answer("503 Service Unavailable", "", evil), "service", "no"),
        (answer("302 Found", "Location: http://127.0.0.1:1/\r\n", ""), "service", "302"),
        (answer("200 OK", "", "{\"version\": \"7\"}"), "service", "version 7"),
        (answer("200 OK", "", "not json"), "key", "invalid response"),
    ] {
        let base = format!("{}/v1", server.url());
        let ask = |arguments: &[&str]| {
            let mut command = agent.command(["doctor"].iter().chain(arguments));
            ProgramOutput::of(
                command.env("AGENT_BASE_URL", &base).env("AGENT_API_KEY", "agk_x"),
                b"",
            )
        };
        let run = ask(&[]);
        assert!(!run.stdout.contains('\x1b'), "{run:?}");
        let document = json(&ask(&["--json"]));
        let found = area(&document, name);
        assert!(found.iter().any(|(_, what)| what.contains(expected)), "{found:?}");
    }
}

/// A service that never answers.
fn silent() -> FileServer {
    FileServer::start(|_, _, stream| {
        let mut scrap = [0; 16];
        while std::io::Read::read(stream, &mut scrap).is_ok_and(|count| count > 0) {}
        Ok(())
    })
}

#[test]
fn doctor_can_be_interrupted() {
    let agent = agent();
    let server = silent();
    configure(
        &agent,
        &format!("mcp_servers:\n{}", entry("mute", "FIXTURE_MODE: hang, FIXTURE_LOG: fixture.log")),
    );
    let mut command = agent.command(["doctor"]);
    command.env("AGENT_BASE_URL", format!("{}/v1", server.url())).env("AGENT_API_KEY", "agk_x");
    let begun = std::time::Instant::now();
    let mut started = Started::new(&mut command);
    eventually("both are asked", || !server.seen().is_empty() && log(&agent).exists());
    assert_eq!(started.end(Signal::INT), Some(130));
    assert!(begun.elapsed().as_secs() < 9, "{:?}", begun.elapsed());
}

#[test]
fn a_silent_service_times_out() {
    let agent = agent();
    let server = silent();
    let begun = std::time::Instant::now();
    let mut command = agent.command(["doctor"]);
    command.env("AGENT_BASE_URL", format!("{}/v1", server.url())).env("AGENT_API_KEY", "agk_x");
    let run = ProgramOutput::of(&mut command, b"");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.contains("no response within 10 s"), "{run:?}");
    assert!(begun.elapsed().as_secs() < 25, "{:?}", begun.elapsed());
}
