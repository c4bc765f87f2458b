//! What servers ask of us while a task runs.

use agent_test_support::mcp::everything_stdio;
use serde_json::json;

use super::{MODEL, World, call, launched, say};

fn world(more: &str) -> World {
    World::with_servers(&launched("all", &everything_stdio(), more))
}

const SAMPLE: &str = "mcp__all__trigger_sampling_request";
const ELICIT: &str = "mcp__all__trigger_elicitation_request";

#[test]
fn sampling_is_answered_within_its_policy() {
    let world = world("    sampling: {max_tokens_cap: 77}\n");
    world.script(vec![
        call(SAMPLE, &json!({"prompt": "What is a fox?", "maxTokens": 5000})),
        say("A fox is red."),
        say("Done."),
    ]);
    let run = world.run(&["--server", "all", "Go"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "Done.\n"), "{run:?}");
    assert!(world.told()[0].contains("A fox is red."), "{:?}", world.told());
    let asked = world.asked();
    assert_eq!(asked[1]["max_tokens"], 77);
    assert!(asked[1]["messages"].to_string().contains("What is a fox?"));
}

#[test]
fn sampling_of_an_untrusted_server_needs_approval() {
    let world = world("    trust: untrusted\n");
    let prompt = json!({"prompt": "What is a fox?"});
    world.script(vec![call(SAMPLE, &prompt), say("Done.")]);
    let run = world.run(&["--server", "all", "Go"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(world.asked().len(), 2, "no answer was made for the server");
    world.script(vec![call(SAMPLE, &prompt), say("A fox is red."), say("Done.")]);
    let mut command = world.command(["run", "--model", MODEL, "--server", "all", "Go"]);
    // The first yes is for the tool, the second for what its server asks.
    let run = super::at_terminal(&mut command, "y\ny\n");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("A server requests an answer from a model"), "{run:?}");
    assert!(run.stderr.contains("What is a fox?"), "{run:?}");
    assert!(world.told()[0].contains("A fox is red."), "{:?}", world.told());
}

#[test]
fn disabled_capabilities_are_not_announced() {
    let world = world("    sampling: {enabled: false}\n    elicitation: {enabled: false}\n");
    world.script(vec![say("Done.")]);
    let run = world.run(&["--server", "all", "Go"]);
    assert_eq!(run.code, 0, "{run:?}");
    let tools = world.asked()[0]["tools"].to_string();
    // The server offers these tools only to those who can serve them.
    assert!(!tools.contains(SAMPLE) && !tools.contains(ELICIT), "{tools}");
}

#[test]
fn a_form_is_filled_in_at_the_terminal() {
    let world = world("");
    world.script(vec![call(ELICIT, &json!({})), say("Done.")]);
    let mut command = world.command(["run", "--model", MODEL, "--server", "all", "Go"]);
    let answers = "Ada\n".to_owned() + &"\n".repeat(40) + "y\n";
    let run = super::at_terminal(&mut command, &answers);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("The server all asks"), "{run:?}");
}
