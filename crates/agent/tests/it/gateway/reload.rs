//! The configuration is reloaded while the service runs.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::sync::Arc;

use agent_test_support::postgres::Cluster;
use agent_test_support::wait::eventually;
use rustix::process::Signal;
use serde_json::Value;

use super::{Fixture, Served, chat_body, send};

const TOKEN: &str = "an-admin-token-of-at-least-32-characters";
const ADMIN: &str = "admin_token: an-admin-token-of-at-least-32-characters\n";
const ALIAS: &str = "models:\n  smart: [test/echo]\n";

/// The charge of the newest posting.
fn last_charge(fixture: &Fixture) -> Value {
    fixture.json(["ledger", "statement", "alice"])["lines"][0]["amount_micros"].clone()
}

#[test]
fn reload_changes_aliases_prices_and_providers() {
    let fixture = Fixture::new();
    let key = fixture.alice();
    let path = fixture.agent.home().join("gateway/gateway.yaml");
    let text = fs::read_to_string(&path).unwrap();
    let served = fixture.serve();
    assert_eq!(served.chat(&key, "test/echo").0, 200);
    assert_eq!(served.chat(&key, "smart").0, 400);
    let more = text.replace(
        "providers:\n",
        &format!(
            "prices: {{default_micros: {{chat: 7000}}}}\n{ALIAS}providers:\n  other:\n    \
             kind: openai\n    base_url: {}\n    api_key: ${{UPSTREAM_KEY}}\n    models: [echo]\n",
            fixture.upstream.base_url()
        ),
    );
    fs::write(&path, more).unwrap();
    let run = fixture.run(["reload"]);
    assert_eq!((run.code, run.stderr.trim()), (0, "Configuration reloaded."), "{run:?}");
    assert_eq!(served.chat(&key, "smart").0, 200);
    assert_eq!(last_charge(&fixture), -7000);
    assert_eq!(served.chat(&key, "other/echo").0, 200);
    fs::write(&path, &text).unwrap();
    assert_eq!(fixture.json(["reload"])["processes"].as_array().unwrap().len(), 1);
    assert_eq!(served.chat(&key, "other/echo").0, 400);
    assert_eq!(served.chat(&key, "test/echo").0, 200);
    assert_eq!(last_charge(&fixture), -1000);
    let audit = &fixture.json(["audit"])["entries"];
    assert_eq!(audit[0]["action"], "configuration.reload", "{audit}");
    assert_eq!(audit[0]["actor"], "cli:op", "{audit}");
    let (code, lines) = served.stop();
    assert_eq!(code, Some(0));
    let reloads = lines.iter().filter(|line| line.contains("configuration reloaded"));
    assert_eq!(reloads.count(), 2, "{lines:?}");
}

#[test]
fn unchanged_providers_keep_their_state() {
    let fixture = Fixture::new();
    let key = fixture.alice();
    fixture.configure(ADMIN);
    let path = fixture.agent.home().join("gateway/gateway.yaml");
    let text = fs::read_to_string(&path).unwrap().replace("[echo, ", "[echo, status-401, ");
    fs::write(&path, &text).unwrap();
    let served = fixture.serve();
    let health = || {
        let (status, body) = served.ask("GET", "/admin/v1/providers", TOKEN, "");
        assert_eq!(status, 200, "{body}");
        serde_json::from_str::<Value>(&body).unwrap()["data"][0]["health"].clone()
    };
    assert_eq!(served.chat(&key, "test/status-401").0, 503);
    assert_eq!(health(), "key_refused");
    // Other models and prices are no other connection.
    let more = text.replace("[echo, ", "[echo, chunks-3, ");
    fs::write(&path, format!("{more}prices: {{default_micros: {{chat: 7000}}}}\n")).unwrap();
    assert_eq!(fixture.run(["reload"]).code, 0);
    assert_eq!(health(), "key_refused");
    assert_eq!(served.chat(&key, "test/chunks-3").0, 200, "the model is known");
    assert_eq!(served.chat(&key, "test/status-401").0, 503);
    fs::write(&path, more.replace("    models: [", "    max_concurrency: 9\n    models: ["))
        .unwrap();
    assert_eq!(fixture.run(["reload"]).code, 0);
    assert_eq!(health(), "usable");
}

#[test]
fn a_stream_finishes_with_its_initial_configuration() {
    let fixture = Fixture::new();
    let key = fixture.alice();
    let served = fixture.serve();
    let mut stream = TcpStream::connect(&served.address).unwrap();
    send(&mut stream, ("POST", "/v1/chat/completions"), &key, &chat_body("test/gate-mid", true));
    let mut reader = BufReader::new(stream);
    let mut begun = String::new();
    while !begun.contains("data: ") {
        assert!(reader.read_line(&mut begun).unwrap() > 0, "{begun}");
    }
    // The model of the stream is not offered any more.
    let path = fixture.agent.home().join("gateway/gateway.yaml");
    let text = fs::read_to_string(&path).unwrap().replace("[echo, gate-mid]", "[echo]");
    fs::write(&path, format!("{text}prices: {{default_micros: {{chat: 7000}}}}\n")).unwrap();
    let run = fixture.run(["reload"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(served.chat(&key, "test/gate-mid").0, 400);
    fixture.upstream.open_gate();
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("data: [DONE]"), "{rest}");
    eventually("the stream is charged", || last_charge(&fixture) == -1000);
    assert_eq!(served.chat(&key, "test/echo").0, 200);
    assert_eq!(last_charge(&fixture), -7000);
}

#[test]
fn an_invalid_file_changes_nothing_and_lists_all_problems() {
    let fixture = Fixture::new();
    let key = fixture.alice();
    fixture.configure(&format!("{ADMIN}{ALIAS}"));
    let served = fixture.serve();
    fixture.configure(&format!("{ADMIN}modls: {{}}\nprices: {{default_micros: {{chat: -1}}}}\n"));
    let run = fixture.run(["reload"]);
    assert_eq!(run.code, 3, "{run:?}");
    let places = ["gateway.yaml:9:1: modls", "gateway.yaml:10:33: prices.default_micros.chat"];
    for place in places {
        assert!(run.stderr.contains(place), "{place}: {run:?}");
    }
    let (status, body) = served.ask("POST", "/admin/v1/reload", TOKEN, "");
    assert_eq!(status, 409, "{body}");
    assert!(places.iter().all(|place| body.contains(place)), "{body}");
    // A valid file, of which keys need a restart.
    fixture.configure(&format!(
        "{ADMIN}{ALIAS}hold_lease_seconds: 9\nlimits:\n  max_connections: 9\n"
    ));
    let run = fixture.run(["reload"]);
    assert_eq!(run.code, 3, "{run:?}");
    for line in ["gateway.yaml:11:1: hold_lease_seconds: ", "gateway.yaml:13:3: limits.max_connect"]
    {
        assert!(run.stderr.contains(line), "{line}: {run:?}");
    }
    assert!(run.stderr.contains("restart the service"), "{run:?}");
    assert_eq!(served.chat(&key, "smart").0, 200, "the old configuration is in use");
    let (_, lines) = served.stop();
    let logged = |place: &&str| lines.iter().any(|line| line.contains(*place));
    assert!(places.iter().all(logged), "{lines:?}");
    assert!(logged(&"limits.max_connections"), "{lines:?}");
    let run = fixture.run(["reload"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("no process is serving"), "{run:?}");
}

#[test]
fn sighup_and_the_admin_api_reload_the_configuration() {
    let fixture = Fixture::new();
    let key = fixture.alice();
    fixture.configure(ADMIN);
    let served = fixture.serve();
    fixture.configure(&format!("{ADMIN}{ALIAS}"));
    served.signal(Signal::HUP);
    eventually("the alias is known", || served.chat(&key, "smart").0 == 200);
    assert_eq!(fixture.json(["audit"])["entries"][0]["actor"], "signal:SIGHUP");
    fixture.configure(&format!("{ADMIN}{}", ALIAS.replace("smart", "wise")));
    let (status, body) = served.ask("POST", "/admin/v1/reload", TOKEN, "");
    assert_eq!(status, 200, "{body}");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&body["generation"], &body["changed"][0]), (&2.into(), &"models".into()), "{body}");
    assert_eq!((served.chat(&key, "smart").0, served.chat(&key, "wise").0), (400, 200));
    let (status, _) = served.ask("POST", "/admin/v1/reload", &key, "");
    assert_eq!(status, 401, "a member may not");
    assert_eq!(served.stop().0, Some(0));
}

#[test]
fn all_processes_on_a_database_reload_their_own_file() {
    let database = Arc::new(Cluster::start_new()).database();
    let fixture = Fixture::bare();
    let base = format!("{ADMIN}database: \"{}\"\n", database.url());
    fixture.configure(&base);
    assert_eq!(fixture.run(["migrate"]).code, 0);
    let key = fixture.alice();
    let (first, home) = (fixture.serve(), fixture.agent.home().join("gateway"));
    let own = home.join("second.yaml");
    fs::copy(home.join("gateway.yaml"), &own).unwrap();
    let own_path = own.to_str().unwrap();
    let second = Served::start(&mut fixture.command(["serve", "--config", own_path]));
    fixture.configure(&format!("{base}{ALIAS}"));
    fs::copy(home.join("gateway.yaml"), &own).unwrap();
    let run = fixture.run(["reload"]);
    assert!(run.stderr.ends_with("Configuration reloaded by 2 processes.\n"), "{run:?}");
    assert_eq!((first.chat(&key, "smart").0, second.chat(&key, "smart").0), (200, 200));
    fixture.configure(&base);
    fs::copy(home.join("gateway.yaml"), &own).unwrap();
    assert_eq!(first.ask("POST", "/admin/v1/reload", TOKEN, "").0, 200);
    assert_eq!(first.chat(&key, "smart").0, 400);
    eventually("the other process follows", || second.chat(&key, "smart").0 == 400);
    fs::write(&own, "listen: 1\n").unwrap();
    fixture.configure(&format!("{base}{ALIAS}"));
    let run = fixture.run(["reload"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stderr.contains("second.yaml:1:9: listen"), "{run:?}");
    assert_eq!((first.chat(&key, "smart").0, second.chat(&key, "smart").0), (200, 400));
    assert_eq!((first.stop().0, second.stop().0), (Some(0), Some(0)));
}
