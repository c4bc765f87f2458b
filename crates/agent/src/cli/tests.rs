//! Tests of `cli`.

use clap::CommandFactory;

use super::*;

#[test]
fn a_usage_error_names_what_is_missing_and_the_help_that_explains_it() {
    let of = |words: &[&str]| {
        let error = <Cli as Parser>::try_parse_from(words).unwrap_err();
        in_a_line(&error.to_string())
    };
    let (message, help) = of(&["agent", "mcp", "call"]);
    assert_eq!(message, "the following required arguments were not provided: <TOOL>");
    assert_eq!(help, "agent mcp call");
    let (message, _) = of(&["agent", "mcp", "add", "x", "--trust", "some", "--", "y"]);
    assert!(message.contains("[possible values: full, untrusted]"), "{message}");
}

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}
