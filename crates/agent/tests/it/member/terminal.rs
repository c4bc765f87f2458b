//! A terminal of 80 columns as standard output.

use std::process::{Command, Stdio};

use agent_test_support::command::ProgramOutput;

use crate::terminal::{Terminal, text};

/// Runs a command whose standard output is a terminal; standard error is a pipe.
pub(crate) fn on_terminal(command: &mut Command) -> ProgramOutput {
    let terminal = Terminal::open().sized(80, 24);
    if command.get_envs().all(|(name, _)| name != "TERM") {
        command.env("TERM", "xterm");
    }
    let child = command
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(terminal.stdio())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut shown = Vec::new();
    let output = terminal.watch(child, |bytes| shown.extend_from_slice(bytes));
    ProgramOutput {
        code: output.status.code().unwrap_or(-1),
        stdout: text(&shown),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
