//! A terminal with a person who types a yes too early, and then answers each question.

use std::process::{Command, Stdio};

use agent_test_support::command::ProgramOutput;

use crate::terminal::{Terminal, text};

/// How a question ends.
const QUESTIONS: [&str; 3] = ["[y/N] ", "): ", "window. "];

/// Runs a command whose standard input and standard error are a terminal, and types one line at
/// each question. The yes that is typed before the first one must not count. Standard output goes
/// elsewhere.
pub(crate) fn run(command: &mut Command, typed: &str) -> ProgramOutput {
    answering(command, typed, &QUESTIONS)
}

/// The same with other questions.
pub(crate) fn answering(command: &mut Command, typed: &str, questions: &[&str]) -> ProgramOutput {
    // Wide: where lines with paths break depends on the machine.
    let terminal = Terminal::open().sized(500, 24).without_echo();
    terminal.types("y\n");
    let mut answers = typed.split_inclusive('\n');
    let child = command
        .stdin(terminal.stdio())
        .stderr(terminal.stdio())
        .stdout(Stdio::piped())
        .env("NO_COLOR", "1")
        .spawn()
        .unwrap();
    let mut shown = Vec::new();
    let output = terminal.watch(child, |bytes| {
        shown.extend_from_slice(bytes);
        if questions.iter().any(|end| shown.ends_with(end.as_bytes())) {
            terminal.types(answers.next().unwrap_or("\n"));
        }
    });
    ProgramOutput {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: text(&shown),
    }
}
