//! What an afternoon of work leaves in the metrics.

use agent_test_support::upstream::Step;
use serde_json::{Value, json};

use super::{World, call, notes, say, text};

#[test]
fn an_afternoon_of_work_is_counted_to_the_last_call() {
    let world = World::with_servers(&notes("    trust: untrusted\n"));
    assert_eq!(world.agent(&["metrics", "on"]).code, 0);
    // Two tasks that end well, one of them with two tools; one that is denied; one that fails.
    world.script(vec![
        call("mcp__notes__echo", &text("a")),
        call("mcp__notes__write_note", &text("b")),
        say("Done."),
        say("Hello."),
        call("mcp__notes__write_note", &text("c")),
        call("mcp__notes__write_note", &text("c")),
        call("mcp__notes__write_note", &text("c")),
        Step::Status(400),
    ]);
    assert_eq!(world.run(&["--approve", "notes", "One"]).code, 0);
    assert_eq!(world.run(&["--no-tools", "Two"]).code, 0);
    assert_eq!(world.run(&["Three"]).code, 1);
    assert_ne!(world.run(&["--no-tools", "Four"]).code, 0);
    let run = world.agent(&["metrics", "show", "--json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let mut counted: Vec<(String, Value, u64)> = Vec::new();
    let package: Value = serde_json::from_str(&run.stdout).unwrap();
    for metric in package["metrics"].as_array().unwrap_or(&Vec::new()) {
        let mut dimensions = metric["dimensions"].clone();
        for varying in ["duration_bucket", "latency_bucket"] {
            if dimensions.get(varying).is_some() {
                dimensions[varying] = json!("…");
            }
        }
        let name = metric["name"].as_str().unwrap().to_owned();
        let value = metric["value"].as_u64().unwrap();
        match counted.iter_mut().find(|known| known.0 == name && known.1 == dimensions) {
            Some(known) => known.2 += value,
            None => counted.push((name, dimensions, value)),
        }
    }
    let lines: Vec<String> = counted
        .iter()
        .map(|(name, dimensions, value)| format!("{value} {name} {dimensions}"))
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}
