//! How far a task goes, and what it does when somebody must be waited for.

use std::time::{Duration, Instant};

use agent_test_support::mcp::filesystem_stdio;
use agent_test_support::upstream::Step;

use serde_json::{Value, json};

use super::{Setup, call, events, launched, notes, say, text};

#[test]
fn a_task_times_out_at_its_limit() {
    let setup = Setup::new();
    setup.script(vec![Step::Hang]);
    let begun = Instant::now();
    let (run, events) = setup.events(&["--no-tools", "--max-time", "1.5", "Go"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert_eq!(events.last().unwrap()["end_reason"], "timed_out");
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_task_stops_at_its_credit_limit() {
    let setup = Setup::with_servers(&notes(""));
    setup.script(vec![call("mcp__notes__echo", &text("again")); 9]);
    let (run, events) = setup.events(&["--max-credits", "0.003", "Go"]);
    assert_eq!(run.code, 1, "{run:?}");
    let last = events.last().unwrap();
    assert_eq!(last["end_reason"], "iteration_limit");
    assert_eq!(last["spent"]["charge_micros"], 3000);
    let run = setup.agent(&["me", "--json"]);
    let me: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(me["usage"]["today"]["charged_micros"], 3000);
}

#[test]
fn a_busy_service_is_retried_after_its_delay() {
    let setup = Setup::new();
    setup.script(vec![Step::RetryAfter(429, 1), Step::Status(500), say("Now.")]);
    let run = setup.run(&["--no-tools", "Go"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "Now.\n"), "{run:?}");
    assert!(run.stderr.contains("retrying in"), "{run:?}");
}

#[test]
fn an_interrupted_answer_is_retried_and_printed_once() {
    let setup = Setup::new();
    setup.script(vec![Step::CutAfter(3), say("One two three.")]);
    let (run, events) = setup.events(&["--no-tools", "Go"]);
    assert_eq!(run.code, 0, "{run:?}");
    let last = events.last().unwrap();
    assert_eq!(last["answer"], "One two three.");
    assert_eq!(last["spent"]["retries"], 1);
}

#[test]
fn missing_credit_or_scope_fails_without_retry() {
    let setup = Setup::new();
    let member = setup.fixture.run(["member", "create", "poor"]);
    assert_eq!(member.code, 0, "{member:?}");
    let key = setup
        .fixture
        .run(["key", "create", "poor", "--name", "k", "--quiet"])
        .stdout
        .trim()
        .to_owned();
    let mut command = setup.command(["run", "--no-tools", "--model", super::MODEL, "Go"]);
    let run =
        agent_test_support::command::ProgramOutput::of(command.env("AGENT_API_KEY", &key), b"");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("this needs 0.001 credits, but only 0 are available"), "{run:?}");
    assert_eq!(setup.asked().len(), 0);
}

#[test]
fn results_beyond_the_context_are_cut_with_a_note() {
    // The latest long result fits with the window that the tools leave, but not two of them.
    let setup =
        Setup::on("models:\n  small:\n    targets: [test/echo]\n    context_length: 9300\n");
    setup.configure(&format!("mcp_servers:\n{}", notes("")));
    let long = "lorem ".repeat(1000);
    setup.script(vec![
        call("mcp__notes__echo", &text(&long)),
        call("mcp__notes__echo", &text(&long)),
        call("mcp__notes__echo", &text("short")),
        say("Done."),
    ]);
    let run = setup.agent(&["run", "--json", "--model", "small", "--server", "notes", "Go"]);
    assert_eq!(run.code, 0, "{run:?}");
    let events = events(&run);
    let cut: Vec<_> = events.iter().filter(|event| event["type"] == "trimmed").collect();
    assert!(!cut.is_empty(), "{events:?}");
    let told = setup.told();
    assert!(
        told[0].contains("were removed to fit the context window; call mcp__notes__echo again"),
        "{}",
        told[0]
    );
    assert_eq!(told[2], "short");
}

#[test]
fn finished_rounds_of_one_long_turn_are_summarised_or_cut() {
    let window = "models:\n  small:\n    targets: [test/echo]\n    context_length: 32768\n";
    for (summarise, event) in [(true, "summarised"), (false, "trimmed")] {
        let setup = Setup::on(window);
        let folder = setup.fixture.agent.work();
        let files = launched("files", &filesystem_stdio(folder), "");
        let config = format!("task: {{summarise: {summarise}, member_tools: false}}\n");
        setup.configure(&format!("{config}mcp_servers:\n{files}"));
        // An answer to a request for a summary is its text, without the call. Pages differ, because
        // the service repeats the answer to an identical request.
        let round = |page: usize| {
            let content = format!("{page:04} ").repeat(4000);
            let page = json!({"path": folder.join("page.txt"), "content": content});
            let write = ("mcp__files__write_file".to_owned(), page.to_string());
            Step::Turn("Pages are written.", vec![write])
        };
        setup.script((0..40).map(round).collect());
        // One for the answer, and some for summaries.
        setup.script(vec![say("Done."); 4]);
        let run = setup.agent(&["run", "--json", "--yes", "--model", "small", "Write"]);
        assert_eq!(run.code, 0, "{run:?}");
        let events = events(&run);
        let count = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
        assert!(count(event) > 5, "{}", count(event));
        assert!((40..=41).contains(&(count("tool_result") + count("summarised"))), "{events:?}");
        assert_eq!(setup.file("page.txt").len(), 20_000);
        assert_eq!(events.last().unwrap()["answer"], "Done.");
        for asked in setup.asked() {
            assert!(asked.to_string().len() < 32768 * 36 / 10);
            let messages = asked["messages"].as_array().unwrap();
            let question =
                |message: &Value| message["role"] == "user" && message["content"] == "Write";
            let has_tools = asked.get("tools").is_some();
            assert_eq!(messages.iter().filter(|one| question(one)).count(), usize::from(has_tools));
        }
        if summarise {
            let folder = setup.fixture.agent.home().join("chat/sessions");
            let file = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
            let id = file.file_stem().unwrap().to_str().unwrap();
            let run = setup.agent(&["run", "--resume", id, "And?"]);
            assert_eq!((run.code, run.stdout.as_str()), (0, "Done.\n"), "{run:?}");
            let asked = setup.asked().pop().unwrap();
            let roles: Vec<&Value> =
                asked["messages"].as_array().unwrap().iter().map(|one| &one["role"]).collect();
            assert_eq!(roles[..4], ["system", "user", "user", "assistant"], "{asked}");
            assert!(
                asked["messages"][1].to_string().contains("written by the assistant]"),
                "{asked}"
            );
        }
    }
}
