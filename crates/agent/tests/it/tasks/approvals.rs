//! What needs a yes runs with one, and never without.

use std::fs;

use agent_test_support::command::Run;

use super::{MODEL, World, call, notes, say, text};
use crate::mcp_config::terminal;

const UNTRUSTED: &str = "    trust: untrusted\n";
const WRITE: &str = "mcp__notes__write_note";

fn world() -> World {
    World::with_servers(&notes(UNTRUSTED))
}

fn script(world: &World) {
    world.script(vec![call(WRITE, &text("x")), say("Done.")]);
}

/// Runs the task at a terminal where this is typed.
fn at_terminal(world: &World, typed: &str) -> Run {
    script(world);
    terminal::run(&mut world.command(["run", "--model", MODEL, "Write x"]), typed)
}

fn was_run(world: &World) -> usize {
    let log = world.file("fixture.log");
    log.lines().filter(|line| line.starts_with("call write-note")).count()
}

#[test]
fn without_a_terminal_it_fails_closed_and_yes_does_not_cover_it() {
    let world = world();
    for more in [&[][..], &["--yes"]] {
        script(&world);
        let run = world.run(&[&["Write x"], more].concat());
        assert_eq!(run.code, 0, "{run:?}");
        assert!(world.told()[0].contains("nobody is there"), "{:?}", world.told());
    }
    assert_eq!(was_run(&world), 0);
    // The model goes on asking: in the end the task ends.
    world.script(vec![call(WRITE, &text("x")); 5]);
    let run = world.run(&["Write x"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("was not approved"), "{run:?}");
    assert_eq!(was_run(&world), 0);
}

#[test]
fn a_server_that_is_named_is_approved() {
    let world = world();
    script(&world);
    let run = world.run(&["--approve", "notes", "Write x"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!((was_run(&world), world.told()[0].as_str()), (1, "x"));
}

#[test]
fn a_person_is_shown_all_of_it_and_answers() {
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
    assert!(world.told()[0].contains("the person said no"));
    let run = at_terminal(&world, "stop\n");
    assert_eq!((run.code, was_run(&world)), (1, 1), "{run:?}");
    // What is no answer is asked again, and is no yes.
    let run = at_terminal(&world, "sure\n\nwhat\n");
    assert_eq!((run.code, was_run(&world)), (0, 1), "{run:?}");
}

#[test]
fn always_holds_until_the_tool_is_another_one() {
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
    for shown in ["not what it was", "- Reads a note.", "+ Writes a note."] {
        assert!(run.stderr.contains(shown), "{shown}: {run:?}");
    }
}

#[test]
fn a_tool_of_a_trusted_server_that_changed_is_asked_about_and_yes_covers_it() {
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

#[test]
fn what_only_reads_needs_no_yes_and_a_broken_memory_stops_nothing_silently() {
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
