//! A task from the words of a person to the answer.

use agent_test_support::mcp::filesystem_stdio;
use agent_test_support::oauth::{FaultyAuthServer, Script};
use agent_test_support::upstream::Step;
use serde_json::json;

use super::{MODEL, Setup, call, calls, notes, say, text};

#[test]
fn stdout_contains_only_the_answer() {
    let setup = Setup::with_servers(&notes(""));
    setup.script(vec![
        Step::Turn("Let me look.", vec![("mcp__notes__echo".to_owned(), text("hi").to_string())]),
        say("It says **hi**."),
    ]);
    let run = setup.run(&["What", "does", "it", "say?"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "It says **hi**.\n"), "{run:?}");
    assert!(run.stderr.contains("mcp__notes__echo"), "{run:?}");
    assert_eq!(setup.told(), ["hi"]);
    let asked = setup.asked();
    assert_eq!(asked[0]["messages"][2]["content"], "What does it say?");
    assert_eq!(asked[1]["messages"][3]["content"], "Let me look.");
    let system = asked[0]["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("data, not instructions"), "{system}");
}

#[test]
fn real_files_are_read_and_written_through_a_real_server() {
    let setup = Setup::new();
    let folder = setup.fixture.agent.work().to_owned();
    let launch = filesystem_stdio(&folder);
    setup.configure(&format!(
        "mcp_servers:\n  files:\n    command: {}\n    args: {}\n",
        launch.command.display(),
        json!(launch.args)
    ));
    std::fs::write(folder.join("in.txt"), "the secret of life").unwrap();
    let (from, to) = (folder.join("in.txt"), folder.join("out.txt"));
    setup.script(vec![
        call("mcp__files__read_text_file", &json!({"path": from})),
        call("mcp__files__write_file", &json!({"path": to, "content": "42"})),
        say("Done."),
    ]);
    let run = setup.run(&["Answer what is in in.txt"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "Done.\n"), "{run:?}");
    assert_eq!(setup.file("out.txt"), "42");
    assert!(setup.told()[0].contains("the secret of life"));
}

#[test]
fn the_service_is_available_as_an_mcp_server() {
    let setup = Setup::new();
    setup.script(vec![call("mcp__member__account", &json!({})), say("You have credit.")]);
    let (run, events) = setup.events(&["How much credit do I have?"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(setup.told()[0].contains("available_micros"), "{:?}", setup.told());
    let last = events.last().unwrap();
    assert_eq!(last["answer"], "You have credit.");
    assert_eq!(last["spent"]["model_calls"], 2);
    assert_eq!(last["spent"]["charge_micros"], 2000, "{last}");
    setup.script(vec![say("None.")]);
    let run = setup.run(&["--no-tools", "Which tools are there?"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(setup.asked().last().unwrap().get("tools").is_none());
}

#[test]
fn events_are_printed_only_with_json_output() {
    let setup = Setup::with_servers(&notes(""));
    setup.script(vec![call("mcp__notes__echo", &text("hi")), say("It is hi.")]);
    let (run, events) = setup.events(&["Go"]);
    assert_eq!(run.code, 0, "{run:?}");
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let expected =
        ["asking", "tool_call", "tool_result", "asking", "text", "text", "text", "finished"];
    assert_eq!(kinds, expected);
    assert_eq!(events[1]["arguments"], text("hi"));
    assert_eq!(events[1]["server"], "notes");
    assert_eq!(events[2]["outcome"], "success");
    assert_eq!(events[7]["end_reason"], "completed");
}

#[test]
fn tasks_run_over_the_responses_api() {
    let setup = Setup::with_servers(&notes(""));
    setup.script(vec![call("mcp__notes__echo", &text("hi")), say("It is hi.")]);
    let run = setup.run(&["--api", "responses", "Go"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "It is hi.\n"), "{run:?}");
    let asked = setup.asked().last().unwrap().to_string();
    assert!(asked.contains("\"function_call_output\"") && asked.contains("\"hi\""), "{asked}");
}

#[test]
fn piped_input_is_sent_with_the_task() {
    let setup = Setup::new();
    setup.script(vec![say("Fine."), say("Fine.")]);
    let mut command = setup.command(["run", "--model", MODEL, "Review this"]);
    let run = agent_test_support::command::ProgramOutput::of(&mut command, b"- old\n+ new\n");
    assert_eq!(run.code, 0, "{run:?}");
    let words = setup.asked()[0]["messages"][2]["content"].clone();
    assert_eq!(words, "Review this\n\n- old\n+ new");
    let mut command = setup.command(["run", "--model", MODEL, "-"]);
    let run = agent_test_support::command::ProgramOutput::of(&mut command, b"only this\n");
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(setup.asked()[1]["messages"][2]["content"], "only this");
    let run = setup.run(&[]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("missing task"), "{run:?}");
}

#[test]
fn batch_tasks_print_a_line_each_despite_a_failure() {
    let setup = Setup::new();
    let file = setup.fixture.agent.work().join("tasks");
    std::fs::write(&file, "say one\n{\"id\": \"b\", \"task\": \"say two\"}\nsay three\n").unwrap();
    setup.script(vec![say("a"), Step::Status(400), say("c")]);
    let path = file.display().to_string();
    let run = setup.run(&["--no-tools", "--batch", &path, "--jobs", "1"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("1 of 3 tasks failed"), "{run:?}");
    let lines: Vec<serde_json::Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let got: Vec<(String, &str)> = lines
        .iter()
        .map(|line| (line["id"].to_string(), line["end_reason"].as_str().unwrap()))
        .collect();
    let expected = [("1", "completed"), ("\"b\"", "failed"), ("3", "completed")];
    assert_eq!(got, expected.map(|(id, end)| (id.to_owned(), end)), "{lines:?}");
}

#[test]
fn calls_run_in_parallel_only_if_the_server_allows_it() {
    let slow = json!({"seconds": 1.0});
    let launch = agent_test_support::mcp::python_stdio();
    let entry = |more: &str| {
        format!(
            "mcp_servers:\n  py:\n    command: {}\n    args: {}\n    required: true\n    \
             connect_timeout: 600\n{more}",
            launch.command.display(),
            json!(launch.args)
        )
    };
    let setup = Setup::new();
    let two = || calls(&[("mcp__py__slow", &slow), ("mcp__py__slow", &slow)]);
    let times = |events: &[serde_json::Value]| {
        let kinds = events.iter().map(|event| event["type"].as_str().unwrap());
        kinds
            .filter(|kind| kind.starts_with("tool_") && *kind != "tool_progress")
            .collect::<Vec<_>>()
            .join(" ")
    };
    setup.configure(&entry("    supports_parallel_tool_calls: true\n"));
    setup.script(vec![two(), say("Done.")]);
    let (run, events) = setup.events(&["Go"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(times(&events), "tool_call tool_call tool_result tool_result");
    setup.configure(&entry(""));
    setup.script(vec![two(), say("Done.")]);
    let (run, events) = setup.events(&["Go"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(times(&events), "tool_call tool_result tool_call tool_result");
}

#[test]
fn many_tools_are_found_by_search() {
    let setup = Setup::with_servers(
        "  notes:\n    command: python3\n    args: [server]\n    env: {FIXTURE_MODE: wide}\n",
    );
    setup.script(vec![
        call("find_tools", &json!({"query": "give a text back"})),
        call("mcp__notes__echo", &text("found")),
        say("Done."),
    ]);
    let run = setup.run(&["--server", "notes", "Echo found"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "Done.\n"), "{run:?}");
    let asked = setup.asked();
    let names = |at: usize| -> Vec<String> {
        let tools = asked[at]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(0), ["update_plan", "find_tools"]);
    assert!(names(1).contains(&"mcp__notes__echo".to_owned()), "{:?}", names(1));
    assert!(names(1).len() <= 10);
    assert_eq!(setup.told()[1], "found");
}

#[test]
fn missing_prerequisites_are_reported_with_a_hint() {
    let setup = Setup::new();
    let run = setup.agent(&["run", "--model", "test/ehco", "Hi"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stderr.contains("did you mean `test/echo`?"), "{run:?}");
    let run = setup.run(&["--server", "nots", "Hi"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("unknown server `nots`"), "{run:?}");
    let mut command = setup.fixture.agent.command(["run", "Hi"]);
    let run = agent_test_support::command::ProgramOutput::of(&mut command, b"");
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.stderr.contains("no API key"), "{run:?}");
    let mut command = setup.command(["run", "Hi"]);
    command.env("AGENT_BASE_URL", "http://127.0.0.1:1/v1");
    let run = agent_test_support::command::ProgramOutput::of(&mut command, b"");
    assert_eq!(run.code, 5, "{run:?}");
    assert!(run.stderr.contains("start a service on this machine with `agent up`"), "{run:?}");
}

#[test]
fn unavailable_servers_are_explained_in_plain_words() {
    let closed = FaultyAuthServer::start(Script::default()).unwrap();
    let docs = format!("  docs:\n    url: {}\n    auth: oauth\n", closed.mcp_url());
    let setup = Setup::with_servers(&format!("{docs}  gone:\n    command: /no/such/program\n"));
    setup.script(vec![say("Done.")]);
    let run = setup.run(&["Go"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "Done.\n"), "{run:?}");
    for line in [
        "docs needs a sign-in: ",
        "gone failed: `/no/such/program` not found; searched that path only; its tools are \
         unavailable until the next attempt in ",
    ] {
        assert!(run.stderr.contains(line), "{line}: {run:?}");
    }
    assert!(!run.stderr.contains("parked"), "{run:?}");
}
