//! What needs a yes runs with one, and never without.

use std::fs;

use agent_test_support::command::ProgramOutput;

use super::{MODEL, Setup, call, notes, say, text};

const UNTRUSTED: &str = "    trust: untrusted\n";
const WRITE: &str = "mcp__notes__write_note";

fn setup() -> Setup {
    Setup::with_servers(&notes(UNTRUSTED))
}

fn script(setup: &Setup) {
    setup.script(vec![call(WRITE, &text("x")), say("Done.")]);
}

/// Runs the task at a terminal where this is typed.
fn at_terminal(setup: &Setup, typed: &str) -> ProgramOutput {
    script(setup);
    super::at_terminal(&mut setup.command(["run", "--model", MODEL, "Write x"]), typed)
}

fn was_run(setup: &Setup) -> usize {
    let log = setup.file("fixture.log");
    log.lines().filter(|line| line.starts_with("call write-note")).count()
}

#[test]
fn without_a_terminal_calls_are_declined_despite_yes() {
    let setup = setup();
    for more in [&[][..], &["--yes"]] {
        script(&setup);
        let run = setup.run(&[&["Write x"], more].concat());
        assert_eq!(run.code, 0, "{run:?}");
        assert!(setup.told()[0].contains("no user is present"), "{:?}", setup.told());
    }
    assert_eq!(was_run(&setup), 0);
    // The model keeps asking: in the end the task ends.
    setup.script(vec![call(WRITE, &text("x")); 5]);
    let run = setup.run(&["Write x"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("was not approved"), "{run:?}");
    assert_eq!(was_run(&setup), 0);
}

#[test]
fn the_approve_option_approves_a_server() {
    let setup = setup();
    script(&setup);
    let run = setup.run(&["--approve", "notes", "Write x"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!((was_run(&setup), setup.told()[0].as_str()), (1, "x"));
}

#[test]
fn the_complete_call_is_shown_before_approval() {
    let setup = setup();
    let run = at_terminal(&setup, "y\n");
    assert_eq!((run.code, was_run(&setup)), (0, 1), "{run:?}");
    for shown in
        ["notes", "write-note (mcp__notes__write_note)", "Writes a note.", "\"text\": \"x\""]
    {
        assert!(run.stderr.contains(shown), "{shown}: {run:?}");
    }
    let run = at_terminal(&setup, "n\n");
    assert_eq!((run.code, was_run(&setup)), (0, 1), "{run:?}");
    assert!(setup.told()[0].contains("the user declined the call"));
    let run = at_terminal(&setup, "stop\n");
    assert_eq!((run.code, was_run(&setup)), (1, 1), "{run:?}");
    // What is no answer is asked again, and is no yes.
    let run = at_terminal(&setup, "sure\n\nwhat\n");
    assert_eq!((run.code, was_run(&setup)), (0, 1), "{run:?}");
}

#[test]
fn an_always_answer_is_valid_until_the_tool_changes() {
    let setup = setup();
    let run = at_terminal(&setup, "a\n");
    assert_eq!((run.code, was_run(&setup)), (0, 1), "{run:?}");
    script(&setup);
    let run = setup.run(&["Write x"]);
    assert_eq!((run.code, was_run(&setup)), (0, 2), "{run:?}");
    // The same tool, described in another way since.
    let path = setup.fixture.agent.home().join("approvals.json");
    let text = fs::read_to_string(&path).unwrap();
    let digest = text.split("\"digest\": \"").nth(1).unwrap()[..64].to_owned();
    let other = text.replace(&digest, &"0".repeat(64)).replace("Writes a note.", "Reads a note.");
    assert_ne!(text, other);
    fs::write(&path, other).unwrap();
    script(&setup);
    let run = setup.run(&["Write x"]);
    assert_eq!((run.code, was_run(&setup)), (0, 2), "{run:?}");
    let run = at_terminal(&setup, "y\n");
    assert_eq!((run.code, was_run(&setup)), (0, 3), "{run:?}");
    for shown in ["has changed since", "- Reads a note.", "+ Writes a note."] {
        assert!(run.stderr.contains(shown), "{shown}: {run:?}");
    }
}

#[test]
fn a_changed_tool_of_a_trusted_server_needs_approval_or_yes() {
    let setup = Setup::with_servers(&notes(""));
    script(&setup);
    assert_eq!(setup.run(&["Write x"]).code, 0);
    assert_eq!(was_run(&setup), 1);
    let path = setup.fixture.agent.home().join("approvals.json");
    let text = fs::read_to_string(&path).unwrap();
    let digest = text.split("\"digest\": \"").nth(1).unwrap()[..64].to_owned();
    fs::write(&path, text.replace(&digest, &"0".repeat(64))).unwrap();
    script(&setup);
    assert_eq!(setup.run(&["Write x"]).code, 0);
    assert_eq!(was_run(&setup), 1);
    script(&setup);
    assert_eq!(setup.run(&["--yes", "Write x"]).code, 0);
    assert_eq!(was_run(&setup), 2);
    script(&setup);
    assert_eq!(setup.run(&["Write x"]).code, 0);
    assert_eq!(was_run(&setup), 3);
}

/// `write-note` changed, and now claims to be read-only.
fn turn(setup: &Setup, more: &str) {
    let servers = notes(more).replace("env: {", "env: {FIXTURE_MODE: turned, ");
    setup.configure(&format!("mcp_servers:\n{servers}"));
}

#[test]
fn a_changed_tool_needs_approval_even_if_read_only() {
    for more in ["", UNTRUSTED] {
        let setup = Setup::with_servers(&notes(more));
        script(&setup);
        assert_eq!(setup.run(&["--approve", "notes", "Write x"]).code, 0);
        assert_eq!(was_run(&setup), 1);
        turn(&setup, more);
        script(&setup);
        assert_eq!(setup.run(&["Write x"]).code, 0);
        assert_eq!(was_run(&setup), 1, "it ran without approval");
        assert!(setup.told()[0].contains("approval"), "{:?}", setup.told());
        if more == UNTRUSTED {
            script(&setup);
            assert_eq!(setup.run(&["--yes", "Write x"]).code, 0);
            assert_eq!(was_run(&setup), 1, "`--yes` covers trusted servers only");
        }
        let run = at_terminal(&setup, "y\n");
        assert_eq!((run.code, was_run(&setup)), (0, 2), "{run:?}");
        for shown in ["has changed since", "- (may write)", "+ (claims to be read-only)"] {
            assert!(run.stderr.contains(shown), "{shown}: {run:?}");
        }
        // The new definition was approved, and claims to be read-only.
        script(&setup);
        assert_eq!(setup.run(&["Write x"]).code, 0);
        assert_eq!(was_run(&setup), 3);
    }
}

#[test]
fn changes_are_detected_with_many_remembered_tools() {
    let setup = Setup::with_servers(&notes(""));
    let many: serde_json::Map<_, _> = (0..3000)
        .map(|number| {
            let definition = if number == 0 { "x".repeat(2 << 20) } else { String::new() };
            let tool = serde_json::json!({"digest": "0", "definition": definition});
            (format!("tool{number}"), tool)
        })
        .collect();
    let path = setup.fixture.agent.home().join("approvals.json");
    fs::write(&path, serde_json::json!({"tools": {"notes": many}}).to_string()).unwrap();
    script(&setup);
    assert_eq!(setup.run(&["Write x"]).code, 0);
    assert_eq!(was_run(&setup), 1);
    turn(&setup, "");
    script(&setup);
    assert_eq!(setup.run(&["Write x"]).code, 0);
    assert_eq!(was_run(&setup), 1, "it ran without approval");
    // There was no room for the earlier definition, so the new one is shown.
    let run = at_terminal(&setup, "y\n");
    assert_eq!((run.code, was_run(&setup)), (0, 2), "{run:?}");
    for shown in ["the earlier definition was not saved", "+ Reads a note."] {
        assert!(run.stderr.contains(shown), "{shown}: {run:?}");
    }
}

#[test]
fn long_arguments_do_not_hide_the_rest_of_the_call() {
    let setup = setup();
    let hidden = format!("hello{}rm -rf", " ".repeat(4000));
    let many: serde_json::Map<_, _> =
        (0..500).map(|number| (format!("key{number:03}"), number.into())).collect();
    for (arguments, wanted) in [
        (text(&hidden), vec!["hello…(4000 spaces)…rm -rf"]),
        (text("a\u{202e}b\u{200b}c\u{2028}d"), vec!["a\\u{202e}b\\u{200b}c\\u{2028}d"]),
        (text(&"x".repeat(50_000)), vec!["characters)…", "[v]iew everything"]),
        (serde_json::Value::Object(many), vec!["lines)…", "\"key499\": 499"]),
    ] {
        setup.script(vec![call(WRITE, &arguments), say("Done.")]);
        let mut command = setup.command(["run", "--model", MODEL, "Write x"]);
        let run = super::at_terminal(&mut command, "n\n");
        assert_eq!((run.code, was_run(&setup)), (0, 0), "{run:?}");
        for wanted in wanted {
            assert!(run.stderr.contains(wanted), "{wanted}: {}", run.stderr);
        }
        // The tool and the question are on one screen.
        let (_, after) = run.stderr.rsplit_once("  tool  ").unwrap();
        let (shown, _) = after.split_once("Run it?").unwrap();
        let rows: usize = shown.lines().map(|line| line.chars().count().div_ceil(80).max(1)).sum();
        assert!(rows <= 18, "{rows} rows: {shown}");
    }
    // All of it is shown when it is wanted, and then the question with its short form again.
    setup.script(vec![call(WRITE, &text(&"x".repeat(50_000))), say("Done.")]);
    let mut command = setup.command(["run", "--model", MODEL, "Write x"]);
    let run = super::at_terminal(&mut command, "v\nn\n");
    assert!(run.stderr.contains(&"x".repeat(50_000)), "all of it is shown");
    assert_eq!(run.stderr.matches("characters)…").count(), 2);
}

#[test]
fn the_approve_option_approves_sampling() {
    let servers = notes(UNTRUSTED).replace("env: {", "env: {FIXTURE_MODE: asking, ");
    let setup = Setup::with_servers(&servers);
    let think = || call("mcp__notes__think", &serde_json::json!({}));
    setup.script(vec![think(), say("7"), say("Done.")]);
    let run = setup.run(&["--approve", "notes", "Think"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(setup.told()[0].contains("\"text\": \"7\""), "{:?}", setup.told());
    // Without the word nobody is there to ask.
    setup.script(vec![think(), say("Done.")]);
    setup.run(&["Think"]);
    assert!(setup.told()[0].contains("no user is present"), "{:?}", setup.told());
    // `agent mcp call` has models as well.
    setup.script(vec![say("8")]);
    let run = setup.agent(&["mcp", "call", "notes/think", "--approve"]);
    assert!(run.code == 0 && run.stdout.contains("\"text\": \"8\""), "{run:?}");
}

#[test]
fn reads_need_no_approval_and_store_errors_are_reported() {
    let setup = setup();
    setup.script(vec![call("mcp__notes__echo", &text("hi")), say("Done.")]);
    assert_eq!(setup.run(&["Go"]).code, 0);
    assert_eq!(setup.told()[0], "hi");
    fs::write(setup.fixture.agent.home().join("approvals.json"), "{broken").unwrap();
    script(&setup);
    let run = setup.run(&["--approve", "notes", "Write x"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(was_run(&setup), 0);
    assert!(setup.told()[0].contains("approvals.json"), "{:?}", setup.told());
}

fn with_approval(approval: &str, more: &str) -> Setup {
    Setup::with_servers(&notes(&format!("    tools: {{approval: {approval}}}\n{more}")))
}

#[test]
fn an_always_tool_needs_approval_for_every_call() {
    let setup = with_approval("{\"write-*\": always}", "");
    script(&setup);
    assert_eq!(setup.run(&["Write x"]).code, 0);
    assert_eq!(was_run(&setup), 0, "nobody was asked");
    for _ in 0..2 {
        let run = at_terminal(&setup, "y\n");
        assert!(run.stderr.contains("`tools.approval` of the server requires it"), "{run:?}");
        assert!(!run.stderr.contains("[a]lways"), "{run:?}");
    }
    assert_eq!(was_run(&setup), 2);
    script(&setup);
    assert_eq!(setup.run(&["Write x"]).code, 0);
    assert_eq!(was_run(&setup), 2, "an earlier yes does not count");
    // A single call follows the same rule.
    let run = setup.agent(&["mcp", "call", "notes/write-note", "{\"text\": \"x\"}"]);
    assert!(run.code == 1 && was_run(&setup) == 2, "{run:?}");
}

#[test]
fn a_once_approval_is_stored_listed_and_revoked() {
    let setup = with_approval("{write-note: once}", "");
    let run = at_terminal(&setup, "y\n");
    assert_eq!((run.code, was_run(&setup)), (0, 1), "{run:?}");
    script(&setup);
    assert_eq!(setup.run(&["Write x"]).code, 0);
    assert_eq!(was_run(&setup), 2);
    let run = setup.agent(&["mcp", "approvals"]);
    assert!(run.stdout.contains("notes   write-note  Writes a note."), "{run:?}");
    let run = setup.agent(&["mcp", "approvals", "--json"]);
    assert!(run.stdout.contains("\"tool\": \"write-note\""), "{run:?}");
    let run = setup.agent(&["mcp", "approvals", "--revoke", "notes/other"]);
    assert!(run.code == 2 && run.stderr.contains("no approval of `notes/other`"), "{run:?}");
    let run = setup.agent(&["mcp", "approvals", "--revoke", "notes/write-note"]);
    assert!(run.code == 0 && run.stderr.contains("1 approval revoked"), "{run:?}");
    script(&setup);
    assert_eq!(setup.run(&["Write x"]).code, 0);
    assert_eq!(was_run(&setup), 2, "it was revoked");
    assert_eq!(setup.agent(&["mcp", "approvals"]).stdout, "");
}

#[test]
fn a_never_tool_needs_approval_after_a_change() {
    let more = "    tools: {approval: {\"*\": never}}\n    trust: untrusted\n";
    let setup = Setup::with_servers(&notes(more));
    script(&setup);
    assert_eq!(setup.run(&["Write x"]).code, 0);
    assert_eq!(was_run(&setup), 1);
    turn(&setup, more);
    script(&setup);
    assert_eq!(setup.run(&["Write x"]).code, 0);
    assert_eq!(was_run(&setup), 1, "it ran without approval");
}

#[test]
fn invalid_approval_modes_are_strict_and_apply_to_reads() {
    let setup = with_approval("{echo: sometimes, read_resource: always}", "");
    setup.script(vec![
        call("mcp__notes__echo", &text("hi")),
        call("mcp__notes__read_resource", &serde_json::json!({"uri": "note://one"})),
        say("Done."),
    ]);
    let run = setup.run(&["Go"]);
    assert!(run.code == 0 && run.stderr.contains("every call needs approval"), "{run:?}");
    let told = setup.told();
    assert!(told.iter().all(|text| text.contains("no user is present")), "{told:?}");
    setup.script(vec![
        call("mcp__notes__read_resource", &serde_json::json!({"uri": "note://one"})),
        say("Done."),
    ]);
    let run = super::at_terminal(&mut setup.command(["run", "--model", MODEL, "Go"]), "y\n");
    assert!(run.code == 0 && setup.told()[0].contains("the first note"), "{run:?}");
}
