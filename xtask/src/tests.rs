//! Tests of `main`.

use super::*;

#[test]
fn unknown_and_missing_commands_are_usage_errors() {
    let unknown = dispatch(&["frobnicate".to_owned()]).unwrap_err();
    assert_eq!(unknown.exit_code(), 2);
    assert!(unknown.to_string().contains("there is no command `frobnicate`"), "{unknown}");
    assert_eq!(dispatch(&[]).unwrap_err().exit_code(), 2);
}

#[test]
fn help_is_printed_before_and_after_a_command() {
    assert!(dispatch(&["--help".to_owned()]).is_ok());
    assert!(dispatch(&["ci".to_owned(), "--help".to_owned()]).is_ok());
}
