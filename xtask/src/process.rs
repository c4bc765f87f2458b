//! Running other programs: said before it is done, and a failure names the whole command line.

use std::path::Path;
use std::process::{Command, Output};

use crate::failure::Failure;

/// Says the command line, runs it with this terminal, and fails when it does.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let line = line(command);
    eprintln!("$ {line}");
    let status =
        command.status().map_err(|error| Failure::work(format!("cannot run `{line}`: {error}")))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::work(format!("`{line}` failed ({status})")))
    }
}

/// Runs the command silently and hands back its standard output.
pub(crate) fn capture(command: &mut Command) -> Result<String, Failure> {
    let line = line(command);
    let Output { status, stdout, stderr } =
        command.output().map_err(|error| Failure::work(format!("cannot run `{line}`: {error}")))?;
    if status.success() {
        Ok(String::from_utf8_lossy(&stdout).into_owned())
    } else {
        let said = String::from_utf8_lossy(&stderr);
        Err(Failure::work(format!("`{line}` failed ({status})\n{}", said.trim_end())))
    }
}

/// The command as a person would type it: the program without its folder, then the arguments.
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
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_shown_as_it_would_be_typed() {
        let mut command = Command::new("/opt/rust/bin/cargo");
        command.args(["test", "--", "two words"]);
        assert_eq!(line(&command), "cargo test -- 'two words'");
    }

    #[test]
    fn output_is_handed_back_and_a_failure_carries_standard_error() {
        let output = capture(Command::new("sh").args(["-c", "echo made"]));
        assert_eq!(output.unwrap(), "made\n");
        let failure = capture(Command::new("sh").args(["-c", "echo broken >&2; exit 3"]));
        let text = failure.unwrap_err().to_string();
        assert!(text.contains("exit status: 3") && text.ends_with("broken"), "{text}");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let text = run(&mut Command::new("no-such-program")).unwrap_err().to_string();
        assert!(text.contains("cannot run `no-such-program`"), "{text}");
    }
}
