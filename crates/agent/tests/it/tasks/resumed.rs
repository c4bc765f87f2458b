//! Tasks that were interrupted and are resumed, by the program that saved them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use agent_test_support::upstream::Step;
use agent_test_support::wait::eventually;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::terminal::{self, Terminal};

use super::{MODEL, Setup, call, calls, notes, say, text};

const UNKNOWN: &str = "[no result: the program ended; it may or may not have run]";

fn start(setup: &Setup, arguments: &[&str]) -> Child {
    let mut command = setup.command([&["run", "--model", MODEL], arguments].concat());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Ends it and gives its code and what it said on standard error.
fn end(child: Child, signal: Signal) -> (Option<i32>, String) {
    kill_process(Pid::from_child(&child), signal).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

fn files(setup: &Setup) -> Vec<PathBuf> {
    let folder = setup.fixture.agent.home().join("chat/sessions");
    let files = fs::read_dir(folder).into_iter().flatten().map(|file| file.unwrap().path());
    files.collect()
}

fn id(file: &Path) -> &str {
    file.file_stem().unwrap().to_str().unwrap()
}

/// Roles and texts of the latest request, without the system message.
fn messages(setup: &Setup) -> Vec<(String, String)> {
    let asked = setup.asked().pop().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = asked["messages"].as_array().unwrap().iter().skip(1);
    all.map(|message| (text(&message["role"]), text(&message["content"]))).collect()
}

#[test]
fn a_task_that_was_killed_while_a_tool_ran_continues_with_an_unknown_result() {
    let setup = Setup::with_servers(&notes(""));
    let two = [("mcp__notes__write_note", &text("first")), ("mcp__notes__slow", &text("x"))];
    setup.script(vec![calls(&two), say("It may have run.")]);
    let child = start(&setup, &["--server", "notes", "Go"]);
    eventually("the second one runs", || setup.file("fixture.log").contains("call slow"));
    let (code, _) = end(child, Signal::KILL);
    assert_eq!(code, None);
    let run = setup.agent(&["run", "--resume"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "It may have run.\n"), "{run:?}");
    assert!(run.stderr.contains("may or may not have run: mcp__notes__slow"), "{run:?}");
    let messages = messages(&setup);
    let roles: Vec<&str> = messages.iter().map(|(role, _)| role.as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool"]);
    assert_eq!((messages[2].1.as_str(), messages[3].1.as_str()), ("first", UNKNOWN));
    // The same tools: those of one server, without those of the service.
    let asked = setup.asked();
    assert_eq!(asked[0]["tools"], asked[1]["tools"]);
    // The conversation continues under the same id.
    setup.script(vec![say("Now it has.")]);
    let [file] = &*files(&setup) else { panic!() };
    let run = setup.agent(&["run", "--resume", id(file), "And", "now?"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "Now it has.\n"), "{run:?}");
    assert_eq!(self::messages(&setup).last().unwrap().1, "And now?");
    assert_eq!(files(&setup).len(), 1);
}

#[test]
fn an_answer_that_came_after_the_program_was_killed_is_charged_once() {
    let setup = Setup::new();
    setup.script(vec![Step::GateBetween("It is ", "done.")]);
    let spent = || {
        let me: Value = serde_json::from_str(&setup.agent(&["me", "--json"]).stdout).unwrap();
        me["available_micros"].as_i64().unwrap()
    };
    let before = spent();
    let terminal = Terminal::open();
    let mut command = setup.command(["run", "--model", MODEL, "--no-tools", "Go"]);
    command.stdin(Stdio::null()).stdout(terminal.stdio()).stderr(terminal.stdio());
    let child = command.spawn().unwrap();
    // Not before the first words: until then, the service charges and keeps nothing.
    let (program, mut seen) = (Pid::from_child(&child), Vec::new());
    terminal.watch(child, |bytes| {
        seen.extend_from_slice(bytes);
        if terminal::text(&seen).contains("It is") {
            // Fails for what is read after the program ended.
            let _ = kill_process(program, Signal::KILL);
        }
    });
    setup.fixture.upstream.open_gate();
    let run = setup.agent(&["run", "--resume", "last"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "It is done.\n"), "{run:?}");
    assert_eq!(setup.asked().len(), 1, "the service kept the answer");
    let price = before - spent();
    setup.script(vec![say("Again.")]);
    assert_eq!(setup.run(&["--no-tools", "Go"]).code, 0);
    assert_eq!(before - spent(), 2 * price);
}

#[test]
fn an_interrupted_task_names_the_command_that_resumes_it() {
    let setup = Setup::with_servers(&notes(""));
    setup.script(vec![call("mcp__notes__slow", &text("x")), say("Done.")]);
    let child = start(&setup, &["Go"]);
    eventually("it runs", || setup.file("fixture.log").contains("call slow"));
    let (code, said) = end(child, Signal::INT);
    assert_eq!(code, Some(130), "{said}");
    let [file] = &*files(&setup) else { panic!() };
    assert!(said.contains(&format!("`agent run --resume {}`", id(file))), "{said}");
    let run = setup.agent(&["run", "--resume", id(file)]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "Done.\n"), "{run:?}");
    let told = &setup.told()[0];
    assert!(told.contains("the task ended (interrupted); it may or may not have run"), "{told}");
    // A limit ends a task in the same way; what a model said is not repeated to it.
    setup.script(vec![Step::HangMid]);
    let run = setup.run(&["--no-tools", "--max-time", "1", "Count"]);
    assert!(run.code == 1 && run.stderr.contains("agent run --resume run-"), "{run:?}");
    setup.script(vec![say("Two.")]);
    let run = setup.agent(&["run", "--resume"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "Two.\n"), "{run:?}");
    let messages = messages(&setup);
    assert_eq!(messages.last().unwrap(), &("user".to_owned(), "Continue.".to_owned()));
    assert!(setup.asked().last().unwrap().get("tools").is_none(), "there were none before");
}

#[test]
fn tasks_are_listed_exported_and_deleted_with_the_chats() {
    let setup = Setup::new();
    setup.script(vec![say("One."), say("Two."), say("Three.")]);
    assert_eq!(setup.run(&["--no-tools", "first task"]).code, 0);
    let chat = ["chat", "--no-tools", "--model", MODEL, "-"];
    let command = &mut setup.command(chat);
    let run = agent_test_support::command::ProgramOutput::of(command, b"first chat");
    assert_eq!(run.stdout, "Two.\n", "{run:?}");
    let listed: Value =
        serde_json::from_str(&setup.agent(&["chat", "--list", "--json"]).stdout).unwrap();
    let all = listed["conversations"].as_array().unwrap();
    let find = |words: &str| {
        let one = all.iter().find(|one| one["first_words"] == words).unwrap();
        one["id"].as_str().unwrap().to_owned()
    };
    let (task, chat) = (find("first task"), find("first chat"));
    assert!(task.starts_with("run-") && !chat.starts_with("run-"), "{task} {chat}");
    // Without an id, each command resumes its own.
    let run = setup.agent(&["run", "--resume", "last", "second task"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "Three.\n"), "{run:?}");
    assert_eq!(messages(&setup)[0].1, "first task");
    let exported = setup.agent(&["chat", "--export", &task]).stdout;
    assert!(exported.contains("second task") && exported.contains("Three."), "{exported}");
    assert_eq!(setup.agent(&["chat", "--remove", &task]).code, 0);
    assert_eq!(files(&setup).len(), 1);
    let run = setup.agent(&["run", "--resume"]);
    assert!(run.code == 2 && run.stderr.contains("no conversation to resume"), "{run:?}");
    let run = setup.agent(&["run", "--resume", "continue please"]);
    assert!(run.code == 2 && run.stderr.contains("unknown conversation"), "{run:?}");
    // What is not wanted, and what is one of many, is not saved.
    setup.script(vec![say("Four."), say("Five.")]);
    assert_eq!(setup.run(&["--no-tools", "--no-save", "third task"]).code, 0);
    let batch = setup.fixture.agent.work().join("tasks");
    fs::write(&batch, "fourth task\n").unwrap();
    assert_eq!(setup.run(&["--no-tools", "--batch", batch.to_str().unwrap()]).code, 0);
    assert_eq!(files(&setup).len(), 1);
}

#[test]
fn a_resumed_task_has_its_model_and_may_get_another() {
    let setup = Setup::new();
    setup.script(vec![say("One."), say("Two.")]);
    assert_eq!(setup.run(&["--no-tools", "one"]).code, 0);
    let [file] = &*files(&setup) else { panic!() };
    let saved = fs::read_to_string(file).unwrap();
    assert!(saved.contains(&format!("\"model\":\"{MODEL}\"")), "{saved}");
    let (run, events) = setup.events(&["--resume", "last", "two"]);
    assert_eq!((run.code, &events[0]["model"]), (0, &json!(MODEL)), "{run:?}");
    fs::write(file, saved.replacen(MODEL, "test/gone", 1)).unwrap();
    let run = setup.agent(&["run", "--resume"]);
    assert!(run.code == 3 && run.stderr.contains("unknown model `test/gone`"), "{run:?}");
    setup.script(vec![say("Three.")]);
    let run = setup.run(&["--resume"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "Three.\n"), "{run:?}");
    assert!(fs::read_to_string(file).unwrap().contains(&format!("{{\"model\":\"{MODEL}\"}}")));
}
