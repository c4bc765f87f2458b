//! Tests of `process`.

use super::*;

#[test]
fn command_line_is_printed_as_typed() {
    let mut command = Command::new("/opt/rust/bin/cargo");
    command.args(["test", "--", "two words"]);
    assert_eq!(line(&command), "cargo test -- 'two words'");
}

#[test]
fn capture_returns_output_and_failure_contains_stderr() {
    let output = capture(Command::new("sh").args(["-c", "echo made"]));
    assert_eq!(output.unwrap(), "made\n");
    let failure = capture(Command::new("sh").args(["-c", "echo broken >&2; exit 3"]));
    let text = failure.unwrap_err().to_string();
    assert!(text.contains("exit status: 3") && text.ends_with("broken"), "{text}");
}

#[test]
fn missing_program_is_named() {
    let text = run(&mut Command::new("no-such-program")).unwrap_err().to_string();
    assert!(text.contains("cannot run `no-such-program`"), "{text}");
}
