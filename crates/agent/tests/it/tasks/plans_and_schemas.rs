//! Plans, answers of a schema, and calls that run side by side.

use std::fs;

use agent_test_support::mcp::{everything_stdio, python_stdio};
use agent_test_support::upstream::Step;
use serde_json::{Value, json};

use super::{REQUIRED, Setup, call, calls, launched, notes, say};

#[test]
fn a_plan_is_shown_and_an_invalid_one_rejected() {
    let setup = Setup::with_servers(&notes(""));
    let plan = json!({"plan": [
        {"step": "Read the notes", "status": "completed"},
        {"step": "Write a\u{1b}[2J summary", "status": "in_progress"},
        {"step": "Check it", "status": "pending"},
    ]});
    setup.script(vec![
        call("update_plan", &plan),
        call("update_plan", &json!({"plan": "everything"})),
        call("update_plan", &json!({"plan": vec![json!({"step": "x", "status": "pending"}); 51]})),
        say("Done."),
    ]);
    let run = setup.run(&["Go"]);
    assert_eq!(run.code, 0, "{run:?}");
    for line in ["✓ Read the notes", "→ Write a", "· Check it"] {
        assert!(run.stderr.contains(line), "{line}: {run:?}");
    }
    assert!(!run.stderr.contains('\u{1b}'), "{run:?}");
    let told = setup.told();
    assert_eq!(told[0], "the plan is shown to the user");
    assert!(told[1].starts_with("error: ") && told[2].contains("more than 50 steps"), "{told:?}");
    setup.configure("task: {plan: false}\n");
    setup.script(vec![say("Done.")]);
    assert_eq!(setup.run(&["Go"]).code, 0);
    assert!(!setup.asked().last().unwrap()["tools"].to_string().contains("update_plan"));
}

#[test]
fn read_only_calls_run_in_parallel_across_servers() {
    let servers = launched("all", &everything_stdio(), REQUIRED)
        + &launched("python", &python_stdio(), REQUIRED);
    let setup = Setup::with_servers(&servers);
    let (echo, uri) = (json!({"message": "hi"}), json!({"uri": "note://today"}));
    setup.script(vec![
        calls(&[("mcp__all__echo", &echo), ("mcp__python__read_resource", &uri)]),
        say("Done."),
    ]);
    let (run, events) = setup.events(&["Go"]);
    assert_eq!(run.code, 0, "{run:?}");
    // Both are called before the first result is there.
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let first_result = kinds.iter().position(|kind| *kind == "tool_result").unwrap();
    let called = kinds[..first_result].iter().filter(|kind| **kind == "tool_call").count();
    assert_eq!(called, 2, "{kinds:?}");
    // Those that may write run one after the other.
    let servers = notes("");
    let setup = Setup::with_servers(&servers);
    let text = super::text("x");
    let write = ("mcp__notes__write_note", &text);
    setup.script(vec![calls(&[write, write]), say("Done.")]);
    let (_, events) = setup.events(&["Go"]);
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let first_result = kinds.iter().position(|kind| *kind == "tool_result").unwrap();
    assert_eq!(kinds[..first_result].iter().filter(|kind| **kind == "tool_call").count(), 1);
}

fn schema(setup: &Setup) {
    let schema = json!({
        "type": "object",
        "properties": {"sum": {"type": "integer"}},
        "required": ["sum"],
        "additionalProperties": false,
    });
    fs::write(setup.fixture.agent.work().join("schema.json"), schema.to_string()).unwrap();
}

#[test]
fn an_answer_must_match_the_output_schema() {
    let setup = Setup::new();
    schema(&setup);
    let run = |setup: &Setup, more: &[&str]| {
        setup.run(&[&["--no-tools", "--output-schema", "schema.json", "Add"], more].concat())
    };
    // The model answers by the schema in the request.
    for api in ["chat", "responses"] {
        setup.script(vec![Step::Echo]);
        let run = run(&setup, &["--api", api]);
        let answer: Value = serde_json::from_str(&run.stdout).unwrap();
        assert!(answer["sum"].is_i64(), "{run:?}");
    }
    let asked = setup.asked();
    assert_eq!(asked[0]["response_format"]["json_schema"]["name"], "answer");
    // The model is asked again if its answer does not match.
    setup.script(vec![say("It is 3."), say("{\"sum\": \"3\"}"), say("```json\n{\"sum\": 3}\n```")]);
    let good = run(&setup, &[]);
    assert_eq!((good.code, good.stdout.as_str()), (0, "{\"sum\":3}\n"), "{good:?}");
    let last = setup.asked().last().unwrap()["messages"].to_string();
    assert!(last.contains("`sum` must be integer, found string"), "{last}");
    setup.script(vec![say("no"); 3]);
    let bad = run(&setup, &[]);
    assert!(bad.code != 0 && bad.stderr.contains("does not match the output schema"), "{bad:?}");
    for (file, why) in [("missing.json", "cannot read missing.json"), (".", "")] {
        let run = setup.run(&["--no-tools", "--output-schema", file, "Add"]);
        assert!(run.code != 0 && run.stderr.contains(why), "{run:?}");
    }
}
