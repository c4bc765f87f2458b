//! Tasks of a model that cannot use tools: a real one, which the service computes itself.

use agent_test_support::command::ProgramOutput;
use agent_test_support::weights;
use serde_json::Value;

use super::{Setup, events, notes};

const SMALL: &str = "here/smol";
const NOTE: &str = "here/smol cannot use tools: no server is started";

/// A service that has this model beside the scripted one, and a server with tools.
fn setup() -> Setup {
    let setup = Setup::on(&format!(
        "  here: {{kind: local, models: {{smol: {{path: \"{}\"}}}}}}\n",
        weights::smollm2().display()
    ));
    setup.configure(&format!("mcp_servers:\n{}", notes("")));
    setup
}

/// Whether the server with tools was started.
fn is_started(setup: &Setup) -> bool {
    setup.fixture.agent.work().join("fixture.log").exists()
}

fn times(text: &str, words: &str) -> usize {
    text.matches(words).count()
}

#[test]
fn a_task_without_tool_support_warns_once() {
    let setup = setup();
    let run =
        setup.agent(&["run", "--model", SMALL, "What", "is", "the", "capital", "of", "France?"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!run.stdout.trim().is_empty(), "{run:?}");
    assert_eq!(times(&run.stderr, NOTE), 1, "{run:?}");
    assert!(!is_started(&setup));
    let plain = setup.agent(&["run", "--no-tools", "--json", "--model", SMALL, "Say hello."]);
    assert_eq!((plain.code, times(&plain.stderr, "tools")), (0, 0), "{plain:?}");
    let events: Vec<Value> = events(&plain);
    assert_eq!(events.last().unwrap()["spent"]["charge_micros"], 1000, "{events:?}");
}

#[test]
fn a_conversation_without_tool_support_warns() {
    let setup = setup();
    let mut command = setup.command(["chat", "--model", SMALL]);
    let run = ProgramOutput::of(&mut command, b"Say hello.\n");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!run.stdout.trim().is_empty(), "{run:?}");
    assert_eq!(times(&run.stderr, NOTE), 1, "{run:?}");
    assert!(!is_started(&setup));
    // Another model has its tools again, and the usual system prompt.
    setup.script(vec![super::say("Hello.")]);
    let mut command = setup.command(["chat", "--model", SMALL]);
    let run = ProgramOutput::of(&mut command, b"/model test/echo\nSay hello.\n");
    assert_eq!(run.code, 0, "{run:?}");
    let asked = setup.asked().pop().unwrap();
    assert!(asked["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{asked}");
    let system = asked["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("data, not instructions"), "{system}");
    assert!(is_started(&setup));
}

#[test]
fn earlier_tool_calls_become_text_without_tool_support() {
    let setup = setup();
    setup.script(vec![
        super::call("mcp__notes__echo", &super::text("a note")),
        super::say("Noted."),
        super::say("I still know it."),
    ]);
    // This model rejects calls and results.
    let typed = format!("Note it.\n/model {SMALL}\nSay hello.\n/model test/echo\nAnd now?\n");
    let mut command = setup.command(["chat", "--model", "test/echo", "--server", "notes"]);
    let run = ProgramOutput::of(&mut command, typed.as_bytes());
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.ends_with("I still know it.\n"), "{run:?}");
    // The first model gets everything again.
    let asked = setup.asked().pop().unwrap()["messages"].to_string();
    assert!(asked.contains("tool_calls") && asked.contains("a note"), "{asked}");
}

#[test]
fn a_local_model_is_listed_and_tested() {
    let setup = setup();
    let listed = setup.agent(&["models"]);
    for words in ["here/smol", "2,048", "apache-2.0", "no tools"] {
        assert!(listed.stdout.contains(words), "{words}: {}", listed.stdout);
    }
    let providers = setup.fixture.json(["provider", "list"]);
    let here = providers["providers"].as_array().unwrap().iter().find(|one| one["name"] == "here");
    assert_eq!(here.unwrap()["kind"], "local");
    assert!(here.unwrap()["folder"].as_str().unwrap().ends_with("/models"), "{providers}");
    let tested = setup.fixture.json(["provider", "test", "here"]);
    assert_eq!(tested["models"], serde_json::json!(["smol"]));
    let answered = setup.fixture.json(["provider", "test", "here", "--model", "smol"]);
    assert!(!answered["answer"][0].as_str().unwrap().is_empty(), "{answered}");
}
