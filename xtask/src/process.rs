//! Runs programs; errors contain the whole command line.

use std::env;
use std::path::Path;
use std::process::{Child, Command, Output};

use crate::failure::{Failure, OrFail, Result};

/// A process that is killed on drop.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Removes the settings of the program that the caller of the task has.
pub(crate) fn remove_agent_settings(command: &mut Command) {
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("AGENT_") {
            command.env_remove(name);
        }
    }
}

/// Prints the command line and runs it with this terminal.
pub(crate) fn run(command: &mut Command) -> Result {
    let line = line(command);
    eprintln!("$ {line}");
    let status = command.status().or_fail(format!("cannot run `{line}`"))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::work(format!("`{line}` failed ({status})")))
    }
}

/// Runs the command silently and returns its standard output.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let line = line(command);
    let output = command.output().or_fail(format!("cannot run `{line}`"))?;
    let Output { status, stdout, stderr } = output;
    if status.success() {
        Ok(String::from_utf8_lossy(&stdout).into_owned())
    } else {
        let stderr = String::from_utf8_lossy(&stderr);
        Err(Failure::work(format!("`{line}` failed ({status})\n{}", stderr.trim_end())))
    }
}

/// The command as it would be typed: the program without its folder, then the arguments.
fn line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    std::iter::once(name)
        .chain(command.get_args())
        .map(|word| quoted(&word.to_string_lossy()))
        .collect::<Vec<_>>()
        .join(" ")
}

fn quoted(word: &str) -> String {
    if word.is_empty() || word.contains(char::is_whitespace) {
        format!("'{word}'")
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
mod tests;
