//! Conversations of programs: a message a line, answers on standard output.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use agent_test_support::upstream::Step;
use agent_test_support::wait::eventually;
use serde_json::Value;

use super::{Fixture, calls, says};

#[test]
fn each_input_line_is_a_message_and_stdout_has_only_answers() {
    let fixture = Fixture::new();
    fixture.script(vec![says("One."), says("Two.\n"), says("Three.")]);
    let run = fixture.piped(&[], "first\n\nsecond \\\nline\nthird");
    assert_eq!((run.code, &*run.stderr), (0, ""), "{run:?}");
    assert_eq!(run.stdout, "One.\nTwo.\nThree.\n");
    let sent: Vec<String> = fixture.last_messages().into_iter().map(|(_, text)| text).collect();
    assert_eq!(sent[3], "second \nline");
}

#[test]
fn dash_reads_all_input_as_one_message() {
    let fixture = Fixture::new();
    fixture.script(vec![says("Read.")]);
    let run = fixture.piped(&["-"], "/quit\nthis too\n");
    assert_eq!((run.code, &*run.stdout), (0, "Read.\n"), "{run:?}");
    assert_eq!(fixture.last_messages().last().unwrap().1, "/quit\nthis too");
}

#[test]
fn a_failed_message_is_reported_and_the_next_ones_run() {
    let fixture = Fixture::new();
    fixture.script(vec![Step::Status(400), says("Two.")]);
    let run = fixture.piped(&[], "first\n/nonsense\nsecond\n");
    assert_eq!((run.code, &*run.stdout), (1, "Two.\n"), "{run:?}");
    assert!(run.stderr.contains("unknown command `/nonsense`"), "{run:?}");
}

#[test]
fn json_output_has_one_event_per_line() {
    let fixture = Fixture::new();
    fixture.script(vec![says("One.")]);
    let input = "first\n/help\n/model\n/model ollama/second\n/tools\n/mcp\n/cost\n/metrics\n/history\n\
                 /save x.md\n/reload-mcp\n/clear\n/quit\nnever\n";
    let run = fixture.piped(&["--json"], input);
    assert_eq!((run.code, &*run.stderr), (0, ""), "{run:?}");
    let lines: Vec<Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(
        types,
        [
            "ready", "asking", "text", "finished", "help", "models", "model", "tools", "mcp",
            "cost", "metrics", "history", "saved", "reloaded", "cleared"
        ]
    );
    assert_eq!(fixture.upstream.completions().len(), 1);
}

#[test]
fn tool_calls_are_declined_without_a_terminal() {
    let fixture = Fixture::new();
    let folder = std::fs::canonicalize(fixture.agent.work()).unwrap();
    let launch = agent_test_support::mcp::filesystem_stdio(&folder);
    fixture.configure(&super::entry("files", &launch, "    trust: untrusted\n"));
    let write = serde_json::json!({"path": folder.join("x"), "content": "x"});
    fixture.script(vec![calls("mcp__files__write_file", &write), says("Not allowed.")]);
    assert_eq!(answer_with_servers(&fixture, &["--yes"], "write"), "Not allowed.");
    assert!(!folder.join("x").exists());
    let write = serde_json::json!({"path": folder.join("y"), "content": "y"});
    fixture.script(vec![calls("mcp__files__write_file", &write), says("Allowed.")]);
    assert_eq!(answer_with_servers(&fixture, &["--approve", "files"], "write"), "Allowed.");
    assert!(folder.join("y").exists());
}

/// The answer to a message that is sent once every server has been tried.
fn answer_with_servers(fixture: &Fixture, arguments: &[&str], message: &str) -> String {
    let mut command = fixture.command(arguments);
    let piped = command.arg("--json").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.stderr(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut answer = |line: &str, kind: &str| {
        writeln!(input, "{line}").unwrap();
        let mut values = lines.by_ref().map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        values.find(|value: &Value| value["type"] == kind).unwrap()
    };
    eventually("all servers are settled", || {
        !answer("/mcp", "mcp").to_string().contains("\"connecting\"")
    });
    let answer = answer(message, "finished")["answer"].as_str().unwrap().to_owned();
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    answer
}

#[test]
fn a_closed_stdout_ends_the_program() {
    let fixture = Fixture::new();
    fixture.upstream.set_default(says("Hello."));
    let mut child = fixture
        .command(&[])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"one\ntwo\nthree\n").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(fixture.upstream.completions().len(), 1);
    drop(input);
}

#[test]
fn missing_service_or_key_is_reported_with_a_hint() {
    let mut fixture = Fixture::new();
    fixture.down();
    let run = fixture.piped(&[], "hello\n");
    assert_eq!((run.code, &*run.stdout), (5, ""), "{run:?}");
    std::fs::remove_file(fixture.agent.home().join(".env")).unwrap();
    let run = fixture.piped(&[], "hello\n");
    assert_eq!((run.code, &*run.stdout), (4, ""), "{run:?}");
    assert!(run.stderr.contains("agent up"), "{run:?}");
}

#[test]
fn help_has_examples_and_invalid_options_are_rejected() {
    let agent = crate::command_line::agent();
    let help = agent.run(["chat", "--help"]);
    assert!(help.stdout.contains("Examples:") && help.stdout.contains("agent chat --resume"));
    for wrong in [&["chat", "hello"][..], &["chat", "--list", "--resume"], &["chat", "--jobs"]] {
        assert_eq!(agent.run(wrong).code, 2, "{wrong:?}");
    }
}
