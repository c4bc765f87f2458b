//! What commands of a conversation show, at 80 columns and in a pipe.

use agent_test_support::mcp::ServerCommand;
use serde_json::json;

use super::{Ground, calls, entry, says, settings};

fn with_notes() -> Ground {
    let ground = Ground::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/server.py");
    let launch =
        ServerCommand { command: "python3".into(), args: vec![script.to_owned()], env: Vec::new() };
    ground.configure(&format!(
        "{}  gone:\n    command: /no/such/program\n",
        entry("notes", &launch, "")
    ));
    ground
}

#[test]
fn output_of_status_commands_at_a_terminal() {
    let ground = with_notes();
    ground
        .script(vec![calls("mcp__notes__echo", &json!({"text": "x".repeat(100)})), says("Done.")]);
    let mut person = ground.person_with_servers(&[]);
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
    settings().bind(|| insta::assert_snapshot!(ground.plain(&shown)));
}

#[test]
fn output_of_status_commands_in_a_pipe() {
    let ground = with_notes();
    ground.script(vec![calls("mcp__notes__echo", &json!({"text": "x"})), says("Done.")]);
    let typed = "/help\n/model\n/tools\n/mcp\ngo\n/cost\n/history\n/metrics\n";
    let run = ground.piped(&[], typed);
    settings().bind(|| insta::assert_snapshot!(ground.plain(&run.transcript())));
}

#[test]
fn metrics_command_shows_the_pending_package() {
    let ground = Ground::new();
    assert_eq!(ground.bench.run(["metrics", "on"]).code, 0);
    ground.script(vec![says("Hello.")]);
    let run = ground.piped(&[], "hi\n/metrics\n");
    assert_eq!(run.code, 0, "{run:?}");
    let package: serde_json::Value =
        serde_json::from_str(run.stdout.strip_prefix("Hello.\n").unwrap()).unwrap();
    let text = package.to_string();
    assert!(text.contains("\"tui\"") && text.contains("\"interactive\""), "{text}");
    let show = ground.bench.run(["metrics", "show"]);
    assert!(show.stdout.contains("\"tui\""), "{show:?}");
}

#[test]
fn an_unknown_balance_is_reported_and_other_costs_are_shown() {
    let mut ground = Ground::new();
    let mut person = ground.person(&[]);
    ground.down();
    let cost = person.says("/cost");
    assert!(cost.contains("model calls  0") && cost.contains("cannot read the balance"), "{cost}");
    person.types("\x04");
    assert_eq!(person.finish().0, 0);
}
