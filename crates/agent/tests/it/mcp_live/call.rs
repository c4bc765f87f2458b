//! `agent mcp call`: one call of one tool.

use std::fs;

use agent_test_support::command::{ProgramOutput, TestHome};
use serde_json::{Value, json};

use super::{UNSTEADY, configured, entry, log, steady, with_notes};
use crate::mcp_config::terminal;

#[test]
fn a_tool_is_called_by_either_name_with_arguments_in_any_form() {
    let agent = with_notes();
    let all: [&[&str]; 4] = [
        &["mcp", "call", "mcp__notes__echo", r#"{"text": "hello"}"#],
        &["mcp", "call", "notes/echo", "--arg", "text=hello"],
        &["mcp", "call", "notes/echo", "--arg", "text=\"hello\""],
        &["mcp", "call", "notes/echo", "-"],
    ];
    for arguments in all {
        let run = agent.run_with_input(arguments, br#"{"text": "hello"}"#);
        assert_eq!((run.code, &*run.stdout, &*run.stderr), (0, "hello\n", ""), "{arguments:?}");
    }
}

#[test]
fn arguments_are_validated_before_sending() {
    let agent = configured(&format!(
        "mcp_servers:\n{}",
        entry("notes", &format!("FIXTURE_LOG: {}", "calls.log"))
    ));
    let mut all = String::new();
    for arguments in [
        &["mcp", "call", "notes/echo"][..],
        &["mcp", "call", "notes/echo", "[1]"],
        &["mcp", "call", "notes/echo", "{text: 1}"],
        &["mcp", "call", "notes/echo", "--arg", "text"],
        &["mcp", "call", "notes/ecko", "{}"],
        &["mcp", "call", "mcp__note__echo", "{}"],
        &["mcp", "call", "nots/echo", "{}"],
    ] {
        let run = agent.run(arguments);
        all.push_str(&format!("{}\n{}\n", arguments[2..].join(" "), steady(&agent, &run)));
    }
    insta::assert_snapshot!(all);
    let log = fs::read_to_string(agent.work().join("calls.log")).unwrap();
    assert!(!log.contains("call "), "{log}");
}

#[test]
fn a_failed_tool_exits_with_1_and_its_output_is_escaped() {
    let agent = with_notes();
    let run = agent.run(["mcp", "call", "notes/fail"]);
    assert_eq!((run.code, &*run.stdout), (1, ""));
    insta::assert_snapshot!(run.stderr);
    let run = agent.run(["mcp", "call", "notes/fail", "--json"]);
    assert_eq!((run.code, &*run.stderr), (1, ""));
    let outcome: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(outcome["is_error"], true);
}

#[test]
fn images_are_saved_without_overwriting_files() {
    let agent = with_notes();
    let folder = agent.work().join("results");
    for _ in 0..2 {
        let run = agent.run(["mcp", "call", "notes/draw", "--output", "results"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(run.stdout, "[image, image/png, 70 bytes, attachment 1]\n");
    }
    for name in ["mcp__notes__draw-1.png", "mcp__notes__draw-1-2.png"] {
        assert!(fs::read(folder.join(name)).unwrap().starts_with(b"\x89PNG"), "{name}");
    }
    let mut command = agent.command(["mcp", "call", "notes/draw"]);
    let run = ProgramOutput::of(command.env("TMPDIR", agent.work()), b"");
    insta::with_settings!({ filters => UNSTEADY.to_vec() }, {
        insta::assert_snapshot!(run.stderr, @"attachment 1: [folder]/mcp__notes__draw-1.png");
    });
}

#[test]
fn long_output_is_truncated_and_saved_to_a_file() {
    let agent = with_notes();
    let run = agent.run(["mcp", "call", "notes/long", "--output", "results"]);
    assert_eq!(run.code, 0);
    assert!(run.stdout.len() < 2_000_100, "{}", run.stdout.len());
    assert!(run.stdout.contains("truncated by the client"));
    let whole = fs::read(agent.work().join("results/mcp__notes__long.txt")).unwrap();
    assert_eq!(whole.len(), 2_500_000);
}

#[test]
fn json_output_has_the_complete_outcome() {
    let run = with_notes().run(["mcp", "call", "notes/draw", "--json"]);
    let outcome: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(outcome["tool"], "mcp__notes__draw");
    assert_eq!(outcome["content"][0]["type"], "image");
    assert!(outcome["content"][0]["data"].as_str().unwrap().starts_with("iVBOR"));
    assert_eq!(outcome["is_error"], json!(false));
}

#[test]
fn without_a_terminal_calls_that_need_approval_fail() {
    let agent = configured(&format!(
        "mcp_servers:\n{}    trust: untrusted\n",
        entry("notes", "FIXTURE_LOG: fixture.log")
    ));
    let refused = agent.run(["mcp", "call", "notes/write-note", "--arg", "text=x"]);
    insta::assert_snapshot!(refused.transcript());
    assert!(!fs::read_to_string(log(&agent)).unwrap().contains("call write-note"));

    let reads = agent.run(["mcp", "call", "notes/echo", "--arg", "text=x"]);
    assert_eq!((reads.code, &*reads.stdout), (0, "x\n"));

    let approved = agent.run(["mcp", "call", "notes/write-note", "--arg", "text=x", "--approve"]);
    assert_eq!((approved.code, &*approved.stdout), (0, "x\n"));
    assert!(fs::read_to_string(log(&agent)).unwrap().contains("call write-note"));
}

#[test]
fn at_a_terminal_only_yes_approves_a_call() {
    let agent = configured(&format!(
        "mcp_servers:\n{}    trust: untrusted\n",
        entry("notes", "FIXTURE_LOG: fixture.log")
    ));
    let calls = || fs::read_to_string(log(&agent)).unwrap().matches("call write-note").count();
    let asked = |answer: &str| {
        let mut child = agent.command(["mcp", "call", "notes/write-note", "--arg", "text=a note"]);
        terminal::answering(&mut child, answer, &[": "])
    };
    for no in ["\n", "n\n", "sure\n", "\u{4}"] {
        let run = asked(no);
        assert_eq!((run.code, calls()), (1, 0), "{run:?}");
        assert!(run.stderr.contains("was not approved and did not run"), "{run:?}");
    }
    let run = asked("y\n");
    assert_eq!((run.code, calls()), (0, 1), "{run:?}");
    for shown in
        ["server       notes", "write-note (mcp__notes__write_note)", "\"text\": \"a note\""]
    {
        assert!(run.stderr.contains(shown), "{shown}: {run:?}");
    }
}

/// A server whose tools ask the client.
fn asking() -> TestHome {
    configured(&format!("mcp_servers:\n{}", entry("notes", "FIXTURE_MODE: asking")))
}

#[test]
fn a_result_with_structured_content_is_printed_once() {
    let run = asking().run(["mcp", "call", "notes/both", "--arg", "text=hello"]);
    assert_eq!((run.code, &*run.stdout, &*run.stderr), (0, "hello\n", ""));
}

#[test]
fn elicitation_is_answered_at_the_terminal() {
    let agent = asking();
    let mut command = agent.command(["mcp", "call", "notes/ask"]);
    let run = terminal::answering(&mut command, "Ada\ny\n", &[": "]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.stdout, "{\"action\": \"accept\", \"content\": {\"name\": \"Ada\"}}\n");
    assert!(run.stderr.contains("Who are you?"), "{run:?}");
    // Without a terminal there is nobody to ask, and the server knows.
    let run = agent.run(["mcp", "call", "notes/ask"]);
    assert_eq!(run.stdout, "the client has no elicitation\n", "{run:?}");
    // Nor is there a model, where no service is configured.
    let run = agent.run(["mcp", "call", "notes/think"]);
    assert_eq!(run.stdout, "the client has no sampling\n", "{run:?}");
}

#[test]
fn an_invalid_server_entry_is_reported() {
    let agent = configured(&format!("mcp_servers:\n{}  bad: 5\n", entry("notes", "")));
    for tool in ["mcp__bad__x", "bad/x"] {
        let run = agent.run(["mcp", "call", tool, "{}"]);
        assert_eq!(run.code, 3, "{run:?}");
        assert!(run.stderr.contains("invalid configuration of server `bad`"), "{run:?}");
        assert!(!run.stderr.contains("no server has a tool"), "{run:?}");
    }
}

#[test]
fn tools_are_listed_without_a_declared_capability() {
    for mode in ["mute", "nulled"] {
        let variables = format!("FIXTURE_MODE: {mode}");
        let agent = configured(&format!("mcp_servers:\n{}", entry("notes", &variables)));
        let run = agent.run(["mcp", "call", "notes/echo", "--arg", "text=x"]);
        assert_eq!((run.code, &*run.stdout), (0, "x\n"), "{mode}: {run:?}");
        let run = agent.run(["mcp", "test", "notes"]);
        assert!(run.stdout.contains("does not declare the capability"), "{mode}: {run:?}");
    }
}

#[test]
fn only_the_called_server_is_connected() {
    let agent = configured(&format!(
        "mcp_servers:\n{}{}",
        entry("notes", ""),
        entry("other", "FIXTURE_LOG: fixture.log")
    ));
    assert_eq!(agent.run(["mcp", "call", "notes/echo", "--arg", "text=x"]).code, 0);
    assert!(!log(&agent).exists());
}

#[test]
fn a_slow_call_times_out() {
    let agent = with_notes();
    let run = agent.run(["mcp", "call", "notes/slow", "--timeout", "1"]);
    assert_eq!(run.code, 5, "{run:?}");
    insta::assert_snapshot!(run.stderr);
}

#[test]
fn a_disabled_server_is_not_called() {
    let agent = configured(&format!("mcp_servers:\n{}    enabled: false\n", entry("notes", "")));
    let run = agent.run(["mcp", "call", "notes/echo", "{}"]);
    insta::assert_snapshot!(run.transcript());
}

#[test]
fn an_ambiguous_tool_name_is_rejected_with_both_alternatives() {
    let two = format!("mcp_servers:\n{}{}", entry("a.b", ""), entry("a-b", ""));
    let agent = configured(&two);
    let run = agent.run(["mcp", "call", "mcp__a_b__echo", "--arg", "text=x"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stderr.contains("use `a.b/echo` or `a-b/echo`"), "{run:?}");
    let run = agent.run(["mcp", "call", "a-b/echo", "--arg", "text=x"]);
    assert_eq!((run.code, &*run.stdout), (0, "x\n"), "{run:?}");
    let run = agent.run(["mcp", "tools", "a-b"]);
    assert!(run.stderr.contains("the tools of `a.b` have the same names"), "{run:?}");
    let run = agent.run(["mcp", "add", "a_b", "--", "python3"]);
    assert!(run.stderr.contains("like those of `a.b`"), "{run:?}");
}
