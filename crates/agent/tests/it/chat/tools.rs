//! Calls in a conversation: shown as they run, and run only if that is allowed.

use std::fs;

use agent_test_support::mcp::{everything_stdio, filesystem_stdio};
use serde_json::json;

use super::{Fixture, calls, entry, says};

/// A file server that is not trusted, and the folder it may write to.
fn untrusted() -> (Fixture, std::path::PathBuf) {
    let fixture = Fixture::new();
    let folder = fixture.agent.work().join("files");
    fs::create_dir(&folder).unwrap();
    let folder = fs::canonicalize(folder).unwrap();
    fixture.configure(&entry("files", &filesystem_stdio(&folder), "    trust: untrusted\n"));
    (fixture, folder)
}

fn writes(folder: &std::path::Path, name: &str) -> agent_test_support::upstream::Step {
    let path = folder.join(name);
    calls("mcp__files__write_file", &json!({"path": path, "content": name}))
}

#[test]
fn tool_calls_are_shown_with_duration_and_size() {
    let fixture = Fixture::new();
    fixture.configure(&entry("all", &everything_stdio(), ""));
    fixture.script(vec![
        calls("mcp__all__echo", &json!({"message": "hello"})),
        says("It said hello."),
    ]);
    let mut person = fixture.person_with_servers(&[]);
    let shown = person.says("say hello");
    let (call, answer) = shown.split_once('\n').unwrap();
    assert!(call.starts_with("✓ mcp__all__echo {\"message\":\"hello\"} "), "{shown}");
    assert!(call.ends_with(" B") && call.contains("s, "), "{shown}");
    assert_eq!(answer, "It said hello.");
    person.types("\x04");
    assert_eq!(person.finish().0, 0);
}

#[test]
fn an_untrusted_server_writes_only_after_approval() {
    let (fixture, folder) = untrusted();
    fixture.script(vec![
        writes(&folder, "once"),
        says("Written once."),
        writes(&folder, "never"),
        says("Not written."),
        writes(&folder, "always"),
        says("Written."),
        writes(&folder, "again"),
        says("Written again."),
    ]);
    let mut person = fixture.person_with_servers(&["--yes"]);
    let ask = |person: &mut super::Screen, words: &str, answer: &str, times: usize| {
        let (prompts, _) = person.here();
        person.enters(words).sees_times("[s]top the task:", times);
        person.types(answer).awaits_prompt(prompts + 1);
    };
    ask(&mut person, "one", "y\n", 1);
    person.sees("Written once.");
    assert!(folder.join("once").exists());
    ask(&mut person, "two", "no\n", 2);
    person.sees("Not written.");
    assert!(!folder.join("never").exists());
    let told = fixture.last_messages();
    assert_eq!(told.last().unwrap().1, "not run: the user declined the call");
    ask(&mut person, "three", "always\n", 3);
    assert!(folder.join("always").exists());
    person.says("four");
    assert!(folder.join("again").exists(), "it is not asked again");
    assert_eq!(person.text().matches("[s]top the task:").count(), 3);
    person.types("\x04");
    assert_eq!(person.finish().0, 0);
}

#[test]
fn stop_at_an_approval_ends_only_the_answer() {
    let (fixture, folder) = untrusted();
    fixture.script(vec![writes(&folder, "x"), says("Fine, something else.")]);
    let mut person = fixture.person_with_servers(&[]);
    let (prompts, _) = person.here();
    person.enters("one").sees("[s]top the task:");
    person.types("s\n").awaits_prompt(prompts + 1);
    person.sees("the answer was stopped");
    assert!(!folder.join("x").exists());
    assert_eq!(person.says("two"), "Fine, something else.");
    person.types("\x04");
    assert_eq!(person.finish().0, 0);
}

#[test]
fn ctrl_c_at_an_approval_ends_only_the_answer() {
    let (fixture, folder) = untrusted();
    fixture.script(vec![writes(&folder, "x"), says("I am here.")]);
    let mut person = fixture.person_with_servers(&[]);
    let (prompts, _) = person.here();
    person.enters("one").sees("[s]top the task:");
    person.types("\x03").awaits_prompt(prompts + 1);
    assert_eq!(person.says("two"), "I am here.");
    assert!(!folder.join("x").exists());
    let sent = fixture.last_messages();
    let is_closed = |(role, text): &(String, String)| {
        role == "tool" && text.contains("it may or may not have run")
    };
    assert!(sent.iter().any(is_closed), "{sent:?}");
    person.types("\x04");
    assert_eq!(person.finish().0, 0);
}
