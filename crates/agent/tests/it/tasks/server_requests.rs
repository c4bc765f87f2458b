//! What servers ask of us while a task runs.

use agent_test_support::mcp::everything_stdio;
use serde_json::json;

use super::{MODEL, Setup, call, launched, say};

fn setup(more: &str) -> Setup {
    Setup::with_servers(&launched("all", &everything_stdio(), more))
}

const SAMPLE: &str = "mcp__all__trigger_sampling_request";
const ELICIT: &str = "mcp__all__trigger_elicitation_request";

#[test]
fn sampling_is_answered_within_its_policy() {
    let setup = setup("    sampling: {max_tokens_cap: 77}\n");
    setup.script(vec![
        call(SAMPLE, &json!({"prompt": "What is a fox?", "maxTokens": 5000})),
        say("A fox is red."),
        say("Done."),
    ]);
    let run = setup.run(&["--server", "all", "Go"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "Done.\n"), "{run:?}");
    assert!(setup.told()[0].contains("A fox is red."), "{:?}", setup.told());
    let asked = setup.asked();
    assert_eq!(asked[1]["max_tokens"], 77);
    assert!(asked[1]["messages"].to_string().contains("What is a fox?"));
}

#[test]
fn sampling_of_an_untrusted_server_needs_approval() {
    let setup = setup("    trust: untrusted\n");
    let prompt = json!({"prompt": "What is a fox?"});
    setup.script(vec![call(SAMPLE, &prompt), say("Done.")]);
    let run = setup.run(&["--server", "all", "Go"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(setup.asked().len(), 2, "no answer was made for the server");
    setup.script(vec![call(SAMPLE, &prompt), say("A fox is red."), say("Done.")]);
    let mut command = setup.command(["run", "--model", MODEL, "--server", "all", "Go"]);
    // The first yes is for the tool, the second for what its server asks.
    let run = super::at_terminal(&mut command, "y\ny\n");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("A server requests an answer from a model"), "{run:?}");
    assert!(run.stderr.contains("What is a fox?"), "{run:?}");
    assert!(setup.told()[0].contains("A fox is red."), "{:?}", setup.told());
}

#[test]
fn disabled_capabilities_are_not_announced() {
    let setup = setup("    sampling: {enabled: false}\n    elicitation: {enabled: false}\n");
    setup.script(vec![say("Done.")]);
    let run = setup.run(&["--server", "all", "Go"]);
    assert_eq!(run.code, 0, "{run:?}");
    let tools = setup.asked()[0]["tools"].to_string();
    // The server offers these tools only to those who can serve them.
    assert!(!tools.contains(SAMPLE) && !tools.contains(ELICIT), "{tools}");
}

#[test]
fn a_form_is_filled_in_at_the_terminal() {
    let setup = setup("");
    setup.script(vec![call(ELICIT, &json!({})), say("Done.")]);
    let mut command = setup.command(["run", "--model", MODEL, "--server", "all", "Go"]);
    let answers = "Ada\n".to_owned() + &"\n".repeat(40) + "y\n";
    let run = super::at_terminal(&mut command, &answers);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("The server all asks"), "{run:?}");
}
