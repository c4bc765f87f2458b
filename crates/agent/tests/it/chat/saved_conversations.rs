//! Conversations that are kept: gone on with, listed, saved.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use agent_test_support::command::ProgramOutput;

use super::{Fixture, calls, entry, says, settings};
use crate::tasks::Setup;

fn files(fixture: &Fixture) -> Vec<PathBuf> {
    let folder = fixture.agent.home().join("chat/sessions");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> = files.collect();
    files.sort();
    files
}

#[test]
fn a_conversation_resumes_after_a_kill() {
    let fixture = Fixture::new();
    fixture.script(vec![
        says("Noted: blue."),
        agent_test_support::upstream::Step::HangMid,
        says("Blue."),
    ]);
    let mut person = fixture.person(&[]);
    person.says("my colour is blue");
    person.enters("and now?");
    agent_test_support::wait::eventually("it is asked", || fixture.upstream.in_flight() == 1);
    person.kill();
    let [file] = &*files(&fixture) else { panic!() };
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    let mut person = fixture.person(&["--resume"]);
    person.sees("3 messages so far");
    assert_eq!(person.says("which colour?"), "Blue.");
    let sent = fixture.last_messages();
    assert_eq!(sent.len(), 5, "{sent:?}");
    assert_eq!(sent[1].1, "my colour is blue");
    assert_eq!(files(&fixture).len(), 1, "it is the same conversation");
    let cost = person.says("/cost");
    assert!(cost.contains("model calls  2"), "what was spent before counts: {cost}");
    person.types("\x04");
    let (code, screen) = person.finish();
    assert_eq!(code, 0);
    let id = file.file_stem().unwrap().to_str().unwrap();
    assert!(screen.contains(&format!("Resume with `agent chat --resume {id}`.")), "{screen}");
}

#[test]
fn a_truncated_last_line_loses_only_its_message() {
    let fixture = Fixture::new();
    fixture.script(vec![says("One."), says("Two."), says("Three.")]);
    assert_eq!(fixture.piped(&[], "first\n").stdout, "One.\n");
    let [file] = &*files(&fixture) else { panic!() };
    let mut text = fs::read(file).unwrap();
    text.extend_from_slice(b"{\"role\":\"user\",\"text\":\"lo\xc3");
    fs::write(file, text).unwrap();
    let run = fixture.piped(&["--resume"], "second\n");
    assert_eq!((run.code, &*run.stdout), (0, "Two.\n"), "{run:?}");
    assert!(run.stderr.contains("is incomplete"), "{run:?}");
    let id = file.file_stem().unwrap().to_str().unwrap();
    let run = fixture.piped(&["--resume", id], "third\n");
    assert_eq!((run.code, &*run.stdout, &*run.stderr), (0, "Three.\n", ""), "{run:?}");
    let sent: Vec<String> = fixture.last_messages().into_iter().map(|(_, text)| text).collect();
    assert_eq!(sent[1..], ["first", "One.", "second", "Two.", "third"]);
}

#[test]
fn an_interrupted_tool_call_has_a_result_after_resume() {
    let fixture = Fixture::new();
    let slow = agent_test_support::mcp::ServerCommand {
        command: "python3".into(),
        args: vec![concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/server.py").to_owned()],
        env: Vec::new(),
    };
    fixture.configure(&entry("notes", &slow, ""));
    fixture.script(vec![calls("mcp__notes__slow", &serde_json::json!({})), says("I see.")]);
    let mut person = fixture.person_with_servers(&[]);
    person.enters("go").sees("mcp__notes__slow");
    let [file] = &*files(&fixture) else { panic!() };
    agent_test_support::wait::eventually("the call is kept", || {
        fs::read_to_string(file).unwrap().contains("mcp__notes__slow")
    });
    person.kill();
    let run = fixture.piped(&["--resume", "--json"], "and?\n");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stderr.contains("these tool calls may or may not have run: mcp__notes__slow"),
        "{run:?}"
    );
    let sent = fixture.last_messages();
    assert_eq!(
        sent[3],
        (
            "tool".to_owned(),
            "[no result: the program ended; it may or may not have run]".to_owned()
        )
    );
}

#[test]
fn a_conversation_is_locked_by_one_process() {
    let fixture = Fixture::new();
    fixture.script(vec![says("One.")]);
    let mut person = fixture.person(&[]);
    person.says("first");
    let run = fixture.piped(&["--resume"], "second\n");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("it is open in another process"), "{run:?}");
    person.types("\x04");
    assert_eq!(person.finish().0, 0);
}

#[test]
fn conversations_are_listed_and_resumed_by_id() {
    let fixture = Fixture::new();
    let run = fixture.piped(&["--list"], "");
    assert_eq!((run.code, &*run.stdout), (0, ""), "{run:?}");
    let run = fixture.piped(&["--resume"], "");
    assert_eq!(run.code, 2, "{run:?}");
    fixture.script(vec![says("One."), says("Two."), says("Three.")]);
    fixture.piped(&[], "the first question\\\nof two lines\nand more\n/clear\nanother\x1b[2J\n");
    settings().bind(|| insta::assert_snapshot!(fixture.piped(&["--list"], "").transcript()));
    let json: serde_json::Value =
        serde_json::from_str(&fixture.piped(&["--list", "--json"], "").stdout).unwrap();
    let all = json["conversations"].as_array().unwrap();
    assert_eq!(all.len(), 2);
    let oldest = all.iter().find(|one| one["messages"] == 4).unwrap();
    assert_eq!(oldest["first_words"], "the first question");
    let run = fixture.piped(&["--resume", "20200101-000000-0000"], "");
    assert_eq!(run.code, 2, "{run:?}");
    let run = fixture.piped(&["--resume", "../../../etc/passwd"], "");
    assert_eq!(run.code, 2, "{run:?}");
}

#[test]
fn a_conversation_is_saved_as_markdown_without_overwriting() {
    let fixture = Fixture::new();
    fixture.script(vec![says("It is `x`.")]);
    let run = fixture.piped(&[], "what is it?\n/save notes.md\n/save notes.md\n");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("existing files are not overwritten"), "{run:?}");
    let path = fixture.agent.work().join("notes.md");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(path).unwrap();
    settings().bind(|| insta::assert_snapshot!(text));
}

#[test]
fn a_conversation_resumes_if_its_model_is_missing() {
    let fixture = Fixture::new();
    fixture.upstream.script("second", vec![says("One.")]);
    fixture.piped(&["--model", "ollama/second"], "first\n");
    let [file] = &*files(&fixture) else { panic!() };
    let text = fs::read_to_string(file).unwrap();
    fs::write(file, text.replacen("ollama/second", "ollama/gone", 1)).unwrap();
    fixture.script(vec![says("Two.")]);
    let run = fixture.piped(&["--resume"], "second\n");
    assert_eq!((run.code, &*run.stdout), (0, "Two.\n"), "{run:?}");
    assert!(run.stderr.contains("unknown model `ollama/gone`"), "{run:?}");
}

#[test]
fn a_conversation_continues_if_it_cannot_be_saved() {
    let fixture = Fixture::new();
    fixture.script(vec![says("One."), says("Two.")]);
    fs::write(fixture.agent.home().join("chat"), "in the way").unwrap();
    let run = fixture.piped(&[], "first\nsecond\n");
    assert_eq!((run.code, &*run.stdout), (0, "One.\nTwo.\n"), "{run:?}");
    assert_eq!(run.stderr.matches("the conversation is no longer saved to").count(), 1, "{run:?}");
}

#[test]
fn conversations_are_deleted_by_id_and_age_unless_open() {
    let fixture = Fixture::new();
    fixture.script(vec![says("One."), says("Two."), says("Three.")]);
    let mut open = fixture.person(&[]);
    open.says("first");
    fixture.piped(&[], "second\n");
    fixture.piped(&[], "third\n");
    let folder = fixture.agent.home().join("chat/sessions");
    let ids = || {
        let run = fixture.piped(&["--list", "--json"], "");
        let listed: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        let all = listed["conversations"].as_array().unwrap().clone();
        all.into_iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = ids();
    assert_eq!(all.len(), 3, "{all:?}");
    let run = fixture.piped(&["--remove", &all[0]], "");
    assert!(run.code == 0 && run.stderr.contains("1 conversation removed"), "{run:?}");
    assert_eq!(fixture.piped(&["--remove", "nonsense"], "").code, 2);
    // Both are old; one is open.
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(24 * 40);
    for id in ids() {
        let file =
            fs::File::options().append(true).open(folder.join(format!("{id}.jsonl"))).unwrap();
        file.set_modified(long_ago).unwrap();
    }
    assert_eq!(fixture.piped(&["--remove-older", "50"], "").code, 0);
    assert_eq!(ids().len(), 2);
    let run = fixture.piped(&["--remove-older", "30"], "");
    assert!(run.stderr.contains("1 conversation removed"), "{run:?}");
    let left = ids();
    assert_eq!(left.len(), 1);
    let run = fixture.piped(&["--remove", &left[0]], "");
    assert!(run.code == 1 && run.stderr.contains("open in another process"), "{run:?}");
    open.types("\x04");
    assert_eq!(open.finish().0, 0);
}

#[test]
fn conversations_older_than_the_configured_age_are_deleted() {
    let fixture = Fixture::new();
    fixture.script(vec![says("One."), says("Two.")]);
    fixture.piped(&[], "first\n");
    let folder = fixture.agent.home().join("chat/sessions");
    let old = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(24 * 40);
    fs::File::options().append(true).open(&old).unwrap().set_modified(long_ago).unwrap();
    let config = fixture.agent.home().join("config.yaml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("task:\n", "task:\n  keep_days: 30\n")).unwrap();
    fixture.piped(&[], "second\n");
    assert!(!old.exists());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

/// A member with a model whose window is small, which says this.
fn small_window(steps: Vec<agent_test_support::upstream::Step>) -> Setup {
    let setup =
        Setup::on("models:\n  small:\n    targets: [test/echo]\n    context_length: 4000\n");
    setup.configure("task: {member_tools: false, plan: false}\nmcp_servers: {}\n");
    setup.script(steps);
    setup
}

fn chat(setup: &Setup, arguments: &[&str], lines: &[String]) -> ProgramOutput {
    let mut command = setup.command(["chat", "--model", "small"].iter().chain(arguments));
    ProgramOutput::of(&mut command, format!("{}\n", lines.join("\n")).as_bytes())
}

/// A line of about 1000 tokens.
fn long(word: &str) -> String {
    format!("{word} ").repeat(700)
}

#[test]
fn old_turns_are_replaced_by_a_saved_summary() {
    let steps = ["One.", "Two.", "They spoke of apples and pears.", "Three."].map(says);
    let setup = small_window(steps.into());
    let lines = ["apple", "pear", "plum"].map(long);
    let run = chat(&setup, &["--json"], &lines);
    assert_eq!(run.code, 0, "{run:?}");
    let events = crate::tasks::events(&run);
    let summarised = events.iter().find(|event| event["type"] == "summarised").unwrap();
    assert_eq!(summarised["messages"], 4);
    assert!(events.iter().all(|event| event["type"] != "trimmed"), "{run:?}");
    let asked = setup.asked();
    assert!(asked[2]["messages"][1]["content"].as_str().unwrap().contains("apple"), "{}", asked[2]);
    assert_eq!((&asked[2]["max_tokens"], asked[2].get("tools")), (&2000.into(), None));
    let last = asked[3].to_string();
    assert!(last.contains("They spoke of apples") && last.contains("plum"), "{last}");
    assert!(!last.contains("apple apple") && !last.contains("pear pear"), "{last}");
    // The summary costs what a question costs, and is part of the resumed conversation.
    setup.script(vec![says("Four.")]);
    let run = chat(&setup, &["--json", "--resume"], &["/cost".to_owned(), "And?".to_owned()]);
    let events = crate::tasks::events(&run);
    let cost = events.iter().find(|event| event["type"] == "cost").unwrap();
    assert_eq!(cost["spent"]["model_calls"], 4, "{cost}");
    let resumed = setup.asked().pop().unwrap();
    let roles: Vec<_> =
        resumed["messages"].as_array().unwrap().iter().map(|one| &one["role"]).collect();
    assert_eq!(roles, ["system", "user", "user", "assistant", "user"], "{resumed}");
    assert!(resumed.to_string().contains("They spoke of apples"), "{resumed}");
}

#[test]
fn old_turns_are_removed_if_the_summary_fails() {
    use agent_test_support::upstream::Step;
    let lines = ["apple", "pear", "plum"].map(long);
    let answers = |summary: Step| vec![says("One."), says("Two."), summary, says("Three.")];
    for (steps, arguments) in [
        (answers(Step::Status(400)), &["--json"][..]),
        (answers(says(" ")), &["--json"]),
        // A summary would cost what is left for the answer.
        (["One.", "Two.", "Three."].map(says).into(), &["--json", "--max-credits", "0.0015"]),
    ] {
        let count = steps.len();
        let setup = small_window(steps);
        let run = chat(&setup, arguments, &lines);
        assert_eq!(run.code, 0, "{run:?}");
        assert!(run.stdout.contains(r#""type":"trimmed""#), "{run:?}");
        assert!(!run.stdout.contains(r#""type":"summarised""#), "{run:?}");
        let asked = setup.asked();
        assert_eq!(asked.len(), count);
        let last = asked.last().unwrap().to_string();
        assert!(last.contains("were removed to fit the context window"), "{last}");
    }
}

#[test]
fn compact_command_creates_a_summary() {
    let fixture = Fixture::new();
    fixture.script(["Blue.", "The user likes blue.", "Yes, blue."].map(says).into());
    let run = fixture.piped(&[], "/compact\nmy colour is blue\n/compact\nwhich colour?\n");
    assert_eq!((run.code, &*run.stdout), (0, "Blue.\nYes, blue.\n"), "{run:?}");
    assert!(run.stderr.contains("2 earlier messages replaced by a summary"), "{run:?}");
    let sent = fixture.last_messages();
    assert_eq!(sent.len(), 3, "{sent:?}");
    assert!(sent[1].1.contains("written by the assistant]\nThe user likes blue.\n"), "{sent:?}");
    // A resumed conversation begins with it, too.
    fixture.script(vec![says("Still blue.")]);
    assert_eq!(fixture.piped(&["--resume"], "still?\n").stdout, "Still blue.\n");
    let texts: Vec<String> = fixture.last_messages().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts[1], sent[1].1);
    assert_eq!(texts[2..], ["which colour?", "Yes, blue.", "still?"]);
}
