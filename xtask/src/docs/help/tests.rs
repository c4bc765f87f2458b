//! Tests of `help`.

use super::*;

const ROOT: &str = "\
One program.

Usage: agent [OPTIONS] <COMMAND>

Commands:
  metrics      Usage metrics, counted
               and packaged
  up           Start
  help         Print this message

Options:
  -h, --help   Print help
";

const METRICS: &str = "Usage: agent metrics <COMMAND>\n\nCommands:\n  show, s  Show   \n";

#[test]
fn names_come_only_from_the_commands_section() {
    assert_eq!(subcommands(ROOT), ["metrics", "up"]);
    assert_eq!(subcommands(METRICS), ["show"]);
    assert!(subcommands("Usage: agent up\n\nOptions:\n  -h  Print help\n").is_empty());
}

#[test]
fn descriptions_below_commands_are_supported() {
    let help = "Commands:\n  show\n          Show it\n\n  off\n          Stop\n\nOptions:\n";
    assert_eq!(subcommands(help), ["show", "off"]);
}

#[test]
fn page_has_every_command_in_order() {
    let text = page(|arguments| {
        Ok(match arguments {
            ["--help"] => ROOT.to_owned(),
            ["metrics", "--help"] => METRICS.to_owned(),
            leaf => format!("Usage of {}\n", leaf.join(" ")),
        })
    })
    .unwrap();
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
    assert_eq!(headings, ["## agent", "## agent metrics", "## agent metrics show", "## agent up"]);
    assert!(text.contains("\n## agent up\n\n```text\nUsage of up --help\n```\n"), "{text}");
    assert!(text.lines().all(|line| line == line.trim_end()), "{text}");
}

#[test]
fn endlessly_nested_help_is_rejected() {
    let endless = page(|_| Ok("Commands:\n  again  Once more\n".to_owned()));
    assert!(endless.unwrap_err().to_string().contains("too deep"));
}
