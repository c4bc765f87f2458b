//! Tests of `cli`.

use super::*;

#[test]
fn usage_error_names_the_missing_argument_and_the_help_command() {
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

#[test]
fn help_subcommand_becomes_the_help_option() {
    let of = |words: &[&str]| {
        with_help_option(words.iter().map(OsString::from).collect()).join(" ".as_ref())
    };
    assert_eq!(of(&["agent", "help"]), "agent -h");
    assert_eq!(of(&["agent", "help", "mcp", "add"]), "agent mcp add --help");
    assert_eq!(of(&["agent", "run", "help"]), "agent run help");
}

#[test]
fn short_help_fits_24_lines() {
    let help = Cli::command().render_help().to_string();
    assert!(help.lines().count() <= 24, "{help}");
    assert!(!help.contains("\n\n\n") && help.lines().all(|line| line.len() < 80), "{help}");
}

#[test]
fn transposed_letters_in_a_command_get_a_suggestion() {
    let error = <Cli as Parser>::try_parse_from(["agent", "rnu"]).unwrap_err();
    assert_eq!(nearest_command(&error).as_deref(), Some("agent run"));
}
