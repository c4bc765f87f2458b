//! Results that are checked against the output schema of their tool.

use agent_test_support::mcp::everything_stdio;
use serde_json::json;

use super::{REQUIRED, Setup, call, launched, notes, say};

#[test]
fn structured_content_replaces_text_and_violations_are_marked() {
    let setup =
        Setup::with_servers(&notes("").replace("env: {", "env: {FIXTURE_MODE: measuring, "));
    let none = json!({});
    let tools = ["measure", "lie", "hush"];
    let mut turns: Vec<_> =
        tools.map(|tool| call(&format!("mcp__notes__{tool}"), &none)).into_iter().collect();
    turns.push(say("Done."));
    setup.script(turns);
    assert_eq!(setup.run(&["Go"]).code, 0);
    let broken = "[the result does not match the tool's output schema: ";
    assert_eq!(
        setup.told(),
        [
            "{\"celsius\":21.5}".to_owned(),
            format!("warm\n{broken}`celsius` must be number, found string]"),
            format!("warm\n{broken}there is no structured content]"),
        ]
    );
}

#[test]
fn results_of_a_correct_server_are_not_marked() {
    let setup = Setup::with_servers(&launched("all", &everything_stdio(), REQUIRED));
    let place = json!({"location": "New York"});
    setup.script(vec![call("mcp__all__get_structured_content", &place), say("Done.")]);
    assert_eq!(setup.run(&["Go"]).code, 0);
    let told = &setup.told()[0];
    assert!(told.contains("temperature") && !told.contains("output schema"), "{told}");
}
