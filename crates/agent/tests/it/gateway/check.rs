//! The configuration, the providers and all else looked at before anybody notices.

use std::fs;

use agent_test_support::command::ProgramOutput;
use agent_test_support::port;
use agent_test_support::upstream::Step;

use super::{Fixture, settings};

#[test]
fn a_healthy_service_passes_every_check() {
    let fixture = Fixture::new();
    fixture.alice();
    fixture.configure("models: {best: [test/echo]}\nprices: {models: {test/echo: 5}}\n");
    let run = fixture.run(["check"]);
    assert_eq!(run.code, 0, "{run:?}");
    settings().bind(|| insta::assert_snapshot!(fixture.plain(&run.transcript())));
}

#[test]
fn all_problems_are_reported_and_nothing_is_created() {
    let fixture = Fixture::bare();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let url = fixture.upstream.base_url();
    let text = format!(
        "listen: {address}\nproviders:\n  wrongkey:\n    kind: openai\n    base_url: {url}\n    api_key: bad-key\n    \
         discover: true\n  gone:\n    kind: openai\n    base_url: http://127.0.0.1:1/v1\n    discover: true\n  \
         stale:\n    kind: openai\n    base_url: {url}\n    api_key: ${{UPSTREAM_KEY}}\n    models: [nosuch]\n"
    );
    fs::write(fixture.agent.home().join("gateway/gateway.yaml"), text).unwrap();
    let run = fixture.run(["check"]);
    assert_eq!((run.code, &*run.stderr), (1, ""));
    settings().bind(|| insta::assert_snapshot!(fixture.plain(&run.stdout)));
    assert!(!run.stdout.contains(fixture.upstream.key()) && !run.stdout.contains("bad-key"));
    let files = fs::read_dir(fixture.agent.home().join("gateway")).unwrap().count();
    assert_eq!(files, 1, "only the configuration is there");
    let json = ProgramOutput::of(fixture.command(["check", "--offline"]).arg("--json"), b"");
    let found: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((json.code, &found["wrong"]), (1, &2.into()), "{found}");
}

#[test]
fn search_providers_are_checked() {
    let fixture = Fixture::new();
    // The upstream knows no search: it acts as a provider that cannot be used.
    let url = fixture.upstream.base_url();
    let path = fixture.agent.home().join("gateway/gateway.yaml");
    let text = fs::read_to_string(&path).unwrap();
    let entry = format!("providers:\n  found: {{kind: searxng, base_url: \"{url}\"}}\n");
    fs::write(&path, text.replace("providers:\n", &entry)).unwrap();
    let run = fixture.run(["check"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.contains("error  search provider found"), "{run:?}");
    let offline = fixture.run(["check", "--offline"]);
    assert_eq!(offline.code, 0, "{offline:?}");
    assert!(!offline.stdout.contains("found"), "{offline:?}");
}

#[test]
fn a_running_service_passes_the_port_check() {
    let fixture = Fixture::new();
    let free = port::free();
    let path = fixture.agent.home().join("gateway/gateway.yaml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("127.0.0.1:0\n", &format!("{free}\n"))).unwrap();
    let _served = fixture.serve();
    let run = fixture.run(["check", "--offline"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains(&format!("the service is running at {free}")), "{run:?}");
}

#[test]
fn a_lost_key_secret_is_detected() {
    let fixture = Fixture::new();
    fixture.alice();
    let secret = fixture.agent.home().join("gateway/gateway.secret");
    fs::remove_file(&secret).unwrap();
    let run = fixture.run(["check", "--offline"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(
        run.stdout.contains("gateway.secret is missing, but the database has members"),
        "{run:?}"
    );
    assert!(!secret.exists());
    fs::write(&secret, "0123456789abcdef0123456789abcdef").unwrap();
    for run in [
        fixture.run(["check", "--offline"]),
        fixture.run(["key", "create", "alice", "--name", "x"]),
    ] {
        let said = format!("{}{}", run.stdout, run.stderr);
        assert_ne!(run.code, 0, "{said}");
        assert!(said.contains("the key secret does not match"), "{said}");
    }
}

#[test]
fn an_invalid_configuration_skips_the_other_checks() {
    let fixture = Fixture::bare();
    fixture.configure("nonsense: 1\n");
    let run = fixture.run(["check"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.starts_with("error  configuration"), "{run:?}");
}

#[test]
fn providers_are_listed_without_their_secrets() {
    let fixture = Fixture::bare();
    let run = fixture.run(["provider", "list"]);
    settings().bind(|| insta::assert_snapshot!(fixture.plain(&run.transcript())));
    let json = fixture.json(["provider", "list"]);
    assert_eq!(json["providers"][0]["models"], serde_json::json!(["echo", "gate-mid"]));
    assert!(!json.to_string().contains(fixture.upstream.key()));
}

#[test]
fn provider_test_lists_models_and_sends_a_chat() {
    let fixture = Fixture::bare();
    let runs = [
        fixture.transcript(["provider", "test", "test"]),
        fixture.transcript(["provider", "test", "test", "--model", "echo"]),
        fixture.transcript(["provider", "test", "tset"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
    assert_eq!(fixture.upstream.completions().len(), 1);
}

#[test]
fn a_failing_provider_exits_with_5_without_secrets() {
    let fixture = Fixture::bare();
    fixture.upstream.script("echo", vec![Step::Status(401), Step::HtmlError, Step::Empty]);
    for said in ["status 401", "status 502", "sent an invalid response"] {
        let run = fixture.run(["provider", "test", "test", "--model", "test/echo"]);
        assert_eq!(run.code, 5, "{run:?}");
        assert!(run.stderr.contains(said), "{run:?}");
        assert!(!run.stderr.contains(fixture.upstream.key()), "{run:?}");
    }
    fixture.upstream.go_down();
    let run = fixture.run(["provider", "test", "test"]);
    assert_eq!(run.code, 5, "{run:?}");
    assert!(run.stderr.contains("does not respond"), "{run:?}");
}

#[test]
fn the_example_and_the_reference_are_printed() {
    let fixture = Fixture::bare();
    let example = fixture.run(["example"]);
    assert!(example.code == 0 && example.stdout.starts_with("# gateway.yaml"), "{example:?}");
    let reference = fixture.run(["reference"]);
    assert!(reference.code == 0 && reference.stdout.contains("`listen`"), "{reference:?}");
    assert_eq!(fixture.json(["example"])["yaml"], example.stdout);
}
