//! What commands of a conversation show, at 80 columns and in a pipe.

use agent_test_support::mcp::ServerCommand;
use serde_json::json;

use super::{Fixture, calls, entry, says, settings};

fn with_notes() -> Fixture {
    let fixture = Fixture::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/server.py");
    let launch =
        ServerCommand { command: "python3".into(), args: vec![script.to_owned()], env: Vec::new() };
    fixture.configure(&format!(
        "{}  gone:\n    command: /no/such/program\n",
        entry("notes", &launch, "")
    ));
    fixture
}

#[test]
fn output_of_status_commands_at_a_terminal() {
    let fixture = with_notes();
    fixture
        .script(vec![calls("mcp__notes__echo", &json!({"text": "x".repeat(100)})), says("Done.")]);
    let mut person = fixture.person_with_servers(&[]);
    let mut shown = String::new();
    for typed in [
        "/help", "/model", "/tools", "/tools write", "/mcp", "go", "/cost", "/history", "/metrics",
        "/tools zebra", "/clear", "/history",
    ] {
        shown.push_str(&format!("> {typed}\n{}\n", person.says(typed)));
    }
    person.types("\x04");
    assert_eq!(person.finish().0, 0);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    settings().bind(|| insta::assert_snapshot!(fixture.plain(&shown)));
}

#[test]
fn output_of_status_commands_in_a_pipe() {
    let fixture = with_notes();
    fixture.script(vec![calls("mcp__notes__echo", &json!({"text": "x"})), says("Done.")]);
    let typed = "/help\n/model\n/tools\n/mcp\ngo\n/cost\n/history\n/metrics\n";
    let run = fixture.piped(&[], typed);
    settings().bind(|| insta::assert_snapshot!(fixture.plain(&run.transcript())));
}

#[test]
fn metrics_command_shows_the_pending_package() {
    let fixture = Fixture::new();
    assert_eq!(fixture.agent.run(["metrics", "on"]).code, 0);
    fixture.script(vec![says("Hello.")]);
    let run = fixture.piped(&[], "hi\n/metrics\n");
    assert_eq!(run.code, 0, "{run:?}");
    let package: serde_json::Value =
        serde_json::from_str(run.stdout.strip_prefix("Hello.\n").unwrap()).unwrap();
    let text = package.to_string();
    assert!(text.contains("\"tui\"") && text.contains("\"interactive\""), "{text}");
    let show = fixture.agent.run(["metrics", "show"]);
    assert!(show.stdout.contains("\"tui\""), "{show:?}");
}

#[test]
fn an_unknown_balance_is_reported_and_other_costs_are_shown() {
    let mut fixture = Fixture::new();
    let mut person = fixture.person(&[]);
    fixture.down();
    let cost = person.says("/cost");
    assert!(cost.contains("model calls  0") && cost.contains("cannot read the balance"), "{cost}");
    person.types("\x04");
    assert_eq!(person.finish().0, 0);
}
