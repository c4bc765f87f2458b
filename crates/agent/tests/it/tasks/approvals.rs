//! What needs a yes runs with one, and never without.

use std::fs;

use agent_test_support::command::ProgramOutput;

use super::{MODEL, World, call, notes, say, text};

const UNTRUSTED: &str = "    trust: untrusted\n";
const WRITE: &str = "mcp__notes__write_note";

fn world() -> World {
    World::with_servers(&notes(UNTRUSTED))
}

fn script(world: &World) {
    world.script(vec![call(WRITE, &text("x")), say("Done.")]);
}

/// Runs the task at a terminal where this is typed.
fn at_terminal(world: &World, typed: &str) -> ProgramOutput {
    script(world);
    super::at_terminal(&mut world.command(["run", "--model", MODEL, "Write x"]), typed)
}

fn was_run(world: &World) -> usize {
    let log = world.file("fixture.log");
    log.lines().filter(|line| line.starts_with("call write-note")).count()
}

#[test]
fn without_a_terminal_calls_are_declined_despite_yes() {
    let world = world();
    for more in [&[][..], &["--yes"]] {
        script(&world);
        let run = world.run(&[&["Write x"], more].concat());
        assert_eq!(run.code, 0, "{run:?}");
        assert!(world.told()[0].contains("no user is present"), "{:?}", world.told());
    }
    assert_eq!(was_run(&world), 0);
    // The model keeps asking: in the end the task ends.
    world.script(vec![call(WRITE, &text("x")); 5]);
    let run = world.run(&["Write x"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("was not approved"), "{run:?}");
    assert_eq!(was_run(&world), 0);
}

#[test]
fn the_approve_option_approves_a_server() {
    let world = world();
    script(&world);
    let run = world.run(&["--approve", "notes", "Write x"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!((was_run(&world), world.told()[0].as_str()), (1, "x"));
}

#[test]
fn the_complete_call_is_shown_before_approval() {
    let world = world();
    let run = at_terminal(&world, "y\n");
    assert_eq!((run.code, was_run(&world)), (0, 1), "{run:?}");
    for shown in
        ["notes", "write-note (mcp__notes__write_note)", "Writes a note.", "\"text\": \"x\""]
    {
        assert!(run.stderr.contains(shown), "{shown}: {run:?}");
    }
    let run = at_terminal(&world, "n\n");
    assert_eq!((run.code, was_run(&world)), (0, 1), "{run:?}");
    assert!(world.told()[0].contains("the user declined the call"));
    let run = at_terminal(&world, "stop\n");
    assert_eq!((run.code, was_run(&world)), (1, 1), "{run:?}");
    // What is no answer is asked again, and is no yes.
    let run = at_terminal(&world, "sure\n\nwhat\n");
    assert_eq!((run.code, was_run(&world)), (0, 1), "{run:?}");
}

#[test]
fn an_always_answer_is_valid_until_the_tool_changes() {
    let world = world();
    let run = at_terminal(&world, "a\n");
    assert_eq!((run.code, was_run(&world)), (0, 1), "{run:?}");
    script(&world);
    let run = world.run(&["Write x"]);
    assert_eq!((run.code, was_run(&world)), (0, 2), "{run:?}");
    // The same tool, described in another way since.
    let path = world.ground.bench.home().join("approvals.json");
    let text = fs::read_to_string(&path).unwrap();
    let digest = text.split("\"digest\": \"").nth(1).unwrap()[..64].to_owned();
    let other = text.replace(&digest, &"0".repeat(64)).replace("Writes a note.", "Reads a note.");
    assert_ne!(text, other);
    fs::write(&path, other).unwrap();
    script(&world);
    let run = world.run(&["Write x"]);
    assert_eq!((run.code, was_run(&world)), (0, 2), "{run:?}");
    let run = at_terminal(&world, "y\n");
    assert_eq!((run.code, was_run(&world)), (0, 3), "{run:?}");
    for shown in ["has changed since", "- Reads a note.", "+ Writes a note."] {
        assert!(run.stderr.contains(shown), "{shown}: {run:?}");
    }
}

#[test]
fn a_changed_tool_of_a_trusted_server_needs_approval_or_yes() {
    let world = World::with_servers(&notes(""));
    script(&world);
    assert_eq!(world.run(&["Write x"]).code, 0);
    assert_eq!(was_run(&world), 1);
    let path = world.ground.bench.home().join("approvals.json");
    let text = fs::read_to_string(&path).unwrap();
    let digest = text.split("\"digest\": \"").nth(1).unwrap()[..64].to_owned();
    fs::write(&path, text.replace(&digest, &"0".repeat(64))).unwrap();
    script(&world);
    assert_eq!(world.run(&["Write x"]).code, 0);
    assert_eq!(was_run(&world), 1);
    script(&world);
    assert_eq!(world.run(&["--yes", "Write x"]).code, 0);
    assert_eq!(was_run(&world), 2);
    script(&world);
    assert_eq!(world.run(&["Write x"]).code, 0);
    assert_eq!(was_run(&world), 3);
}

/// `write-note` changed, and now claims to be read-only.
fn turn(world: &World, more: &str) {
    let servers = notes(more).replace("env: {", "env: {FIXTURE_MODE: turned, ");
    world.configure(&format!("mcp_servers:\n{servers}"));
}

#[test]
fn a_changed_tool_needs_approval_even_if_read_only() {
    for more in ["", UNTRUSTED] {
        let world = World::with_servers(&notes(more));
        script(&world);
        assert_eq!(world.run(&["--approve", "notes", "Write x"]).code, 0);
        assert_eq!(was_run(&world), 1);
        turn(&world, more);
        script(&world);
        assert_eq!(world.run(&["Write x"]).code, 0);
        assert_eq!(was_run(&world), 1, "it ran without approval");
        assert!(world.told()[0].contains("approval"), "{:?}", world.told());
        if more == UNTRUSTED {
            script(&world);
            assert_eq!(world.run(&["--yes", "Write x"]).code, 0);
            assert_eq!(was_run(&world), 1, "`--yes` covers trusted servers only");
        }
        let run = at_terminal(&world, "y\n");
        assert_eq!((run.code, was_run(&world)), (0, 2), "{run:?}");
        for shown in ["has changed since", "- (may write)", "+ (claims to be read-only)"] {
            assert!(run.stderr.contains(shown), "{shown}: {run:?}");
        }
        // The new definition was approved, and claims to be read-only.
        script(&world);
        assert_eq!(world.run(&["Write x"]).code, 0);
        assert_eq!(was_run(&world), 3);
    }
}

#[test]
fn changes_are_detected_with_many_remembered_tools() {
    let world = World::with_servers(&notes(""));
    let many: serde_json::Map<_, _> = (0..3000)
        .map(|number| {
            let definition = if number == 0 { "x".repeat(2 << 20) } else { String::new() };
            let tool = serde_json::json!({"digest": "0", "definition": definition});
            (format!("tool{number}"), tool)
        })
        .collect();
    let path = world.ground.bench.home().join("approvals.json");
    fs::write(&path, serde_json::json!({"tools": {"notes": many}}).to_string()).unwrap();
    script(&world);
    assert_eq!(world.run(&["Write x"]).code, 0);
    assert_eq!(was_run(&world), 1);
    turn(&world, "");
    script(&world);
    assert_eq!(world.run(&["Write x"]).code, 0);
    assert_eq!(was_run(&world), 1, "it ran without approval");
    // There was no room for the earlier definition, so the new one is shown.
    let run = at_terminal(&world, "y\n");
    assert_eq!((run.code, was_run(&world)), (0, 2), "{run:?}");
    for shown in ["the earlier definition was not saved", "+ Reads a note."] {
        assert!(run.stderr.contains(shown), "{shown}: {run:?}");
    }
}

#[test]
fn long_arguments_do_not_hide_the_rest_of_the_call() {
    let world = world();
    let hidden = format!("hello{}rm -rf", " ".repeat(4000));
    let many: serde_json::Map<_, _> =
        (0..500).map(|number| (format!("key{number:03}"), number.into())).collect();
    for (arguments, wanted) in [
        (text(&hidden), vec!["hello…(4000 spaces)…rm -rf"]),
        (text("a\u{202e}b\u{200b}c\u{2028}d"), vec!["a\\u{202e}b\\u{200b}c\\u{2028}d"]),
        (text(&"x".repeat(50_000)), vec!["characters)…", "[v]iew everything"]),
        (serde_json::Value::Object(many), vec!["lines)…", "\"key499\": 499"]),
    ] {
        world.script(vec![call(WRITE, &arguments), say("Done.")]);
        let mut command = world.command(["run", "--model", MODEL, "Write x"]);
        let run = super::at_terminal(&mut command, "n\n");
        assert_eq!((run.code, was_run(&world)), (0, 0), "{run:?}");
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
    world.script(vec![call(WRITE, &text(&"x".repeat(50_000))), say("Done.")]);
    let mut command = world.command(["run", "--model", MODEL, "Write x"]);
    let run = super::at_terminal(&mut command, "v\nn\n");
    assert!(run.stderr.contains(&"x".repeat(50_000)), "all of it is shown");
    assert_eq!(run.stderr.matches("characters)…").count(), 2);
}

#[test]
fn the_approve_option_approves_sampling() {
    let servers = notes(UNTRUSTED).replace("env: {", "env: {FIXTURE_MODE: asking, ");
    let world = World::with_servers(&servers);
    let think = || call("mcp__notes__think", &serde_json::json!({}));
    world.script(vec![think(), say("7"), say("Done.")]);
    let run = world.run(&["--approve", "notes", "Think"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(world.told()[0].contains("\"text\": \"7\""), "{:?}", world.told());
    // Without the word nobody is there to ask.
    world.script(vec![think(), say("Done.")]);
    world.run(&["Think"]);
    assert!(world.told()[0].contains("no user is present"), "{:?}", world.told());
    // `agent mcp call` has models as well.
    world.script(vec![say("8")]);
    let run = world.agent(&["mcp", "call", "notes/think", "--approve"]);
    assert!(run.code == 0 && run.stdout.contains("\"text\": \"8\""), "{run:?}");
}

#[test]
fn reads_need_no_approval_and_store_errors_are_reported() {
    let world = world();
    world.script(vec![call("mcp__notes__echo", &text("hi")), say("Done.")]);
    assert_eq!(world.run(&["Go"]).code, 0);
    assert_eq!(world.told()[0], "hi");
    fs::write(world.ground.bench.home().join("approvals.json"), "{broken").unwrap();
    script(&world);
    let run = world.run(&["--approve", "notes", "Write x"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(was_run(&world), 0);
    assert!(world.told()[0].contains("approvals.json"), "{:?}", world.told());
}

fn with_approval(approval: &str, more: &str) -> World {
    World::with_servers(&notes(&format!("    tools: {{approval: {approval}}}\n{more}")))
}

#[test]
fn an_always_tool_needs_approval_for_every_call() {
    let world = with_approval("{\"write-*\": always}", "");
    script(&world);
    assert_eq!(world.run(&["Write x"]).code, 0);
    assert_eq!(was_run(&world), 0, "nobody was asked");
    for _ in 0..2 {
        let run = at_terminal(&world, "y\n");
        assert!(run.stderr.contains("`tools.approval` of the server requires it"), "{run:?}");
        assert!(!run.stderr.contains("[a]lways"), "{run:?}");
    }
    assert_eq!(was_run(&world), 2);
    script(&world);
    assert_eq!(world.run(&["Write x"]).code, 0);
    assert_eq!(was_run(&world), 2, "an earlier yes does not count");
    // A single call follows the same rule.
    let run = world.agent(&["mcp", "call", "notes/write-note", "{\"text\": \"x\"}"]);
    assert!(run.code == 1 && was_run(&world) == 2, "{run:?}");
}

#[test]
fn a_once_approval_is_stored_listed_and_revoked() {
    let world = with_approval("{write-note: once}", "");
    let run = at_terminal(&world, "y\n");
    assert_eq!((run.code, was_run(&world)), (0, 1), "{run:?}");
    script(&world);
    assert_eq!(world.run(&["Write x"]).code, 0);
    assert_eq!(was_run(&world), 2);
    let run = world.agent(&["mcp", "approvals"]);
    assert!(run.stdout.contains("notes   write-note  Writes a note."), "{run:?}");
    let run = world.agent(&["mcp", "approvals", "--json"]);
    assert!(run.stdout.contains("\"tool\": \"write-note\""), "{run:?}");
    let run = world.agent(&["mcp", "approvals", "--revoke", "notes/other"]);
    assert!(run.code == 2 && run.stderr.contains("no approval of `notes/other`"), "{run:?}");
    let run = world.agent(&["mcp", "approvals", "--revoke", "notes/write-note"]);
    assert!(run.code == 0 && run.stderr.contains("1 approval revoked"), "{run:?}");
    script(&world);
    assert_eq!(world.run(&["Write x"]).code, 0);
    assert_eq!(was_run(&world), 2, "it was revoked");
    assert_eq!(world.agent(&["mcp", "approvals"]).stdout, "");
}

#[test]
fn a_never_tool_needs_approval_after_a_change() {
    let more = "    tools: {approval: {\"*\": never}}\n    trust: untrusted\n";
    let world = World::with_servers(&notes(more));
    script(&world);
    assert_eq!(world.run(&["Write x"]).code, 0);
    assert_eq!(was_run(&world), 1);
    turn(&world, more);
    script(&world);
    assert_eq!(world.run(&["Write x"]).code, 0);
    assert_eq!(was_run(&world), 1, "it ran without approval");
}

#[test]
fn invalid_approval_modes_are_strict_and_apply_to_reads() {
    let world = with_approval("{echo: sometimes, read_resource: always}", "");
    world.script(vec![
        call("mcp__notes__echo", &text("hi")),
        call("mcp__notes__read_resource", &serde_json::json!({"uri": "note://one"})),
        say("Done."),
    ]);
    let run = world.run(&["Go"]);
    assert!(run.code == 0 && run.stderr.contains("every call needs approval"), "{run:?}");
    let told = world.told();
    assert!(told.iter().all(|text| text.contains("no user is present")), "{told:?}");
    world.script(vec![
        call("mcp__notes__read_resource", &serde_json::json!({"uri": "note://one"})),
        say("Done."),
    ]);
    let run = super::at_terminal(&mut world.command(["run", "--model", MODEL, "Go"]), "y\n");
    assert!(run.code == 0 && world.told()[0].contains("the first note"), "{run:?}");
}
