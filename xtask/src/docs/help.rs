//! The page of all commands, made from the help of the program.

use crate::failure::Failure;

/// Deeper commands mean that the help was parsed wrongly.
const MAX_DEPTH: usize = 4;

const OPENING: &str = "\
# Commands

What `agent --help` and the help of every command print. Made from the program by
`cargo xtask docs`; edits here are overwritten.
";

/// Builds the page. `output` runs the program with arguments and returns its output.
pub(super) fn page(output: impl Fn(&[&str]) -> Result<String, Failure>) -> Result<String, Failure> {
    let mut text = OPENING.to_owned();
    // A stack of commands, so that parents come before their children.
    let mut pending: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(command) = pending.pop() {
        let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        arguments.push("--help");
        let help = without_trailing_spaces(&output(&arguments)?);
        let name: String = command.iter().flat_map(|word| [" ", word]).collect();
        text += &format!("\n## agent{name}\n\n```text\n{help}\n```\n");
        let children = subcommands(&help);
        if !children.is_empty() && command.len() == MAX_DEPTH {
            return Err(Failure::work(format!("`agent{name}` has subcommands too deep")));
        }
        let nested =
            children.into_iter().rev().map(|child| [command.as_slice(), &[child]].concat());
        pending.extend(nested);
    }
    Ok(text)
}

/// Names in the "Commands:" section of a help text, without `help` itself.
fn subcommands(help: &str) -> Vec<String> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| line.is_empty() || line.starts_with(' '))
        .filter_map(|line| line.strip_prefix("  "))
        // Continued descriptions are indented further.
        .filter(|entry| !entry.starts_with(' '))
        .filter_map(|entry| entry.split_whitespace().next())
        .map(|name| name.trim_end_matches(',').to_owned())
        .filter(|name| name != "help")
        .collect()
}

fn without_trailing_spaces(text: &str) -> String {
    text.trim_end().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
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
        assert_eq!(
            headings,
            ["## agent", "## agent metrics", "## agent metrics show", "## agent up"]
        );
        assert!(text.contains("\n## agent up\n\n```text\nUsage of up --help\n```\n"), "{text}");
        assert!(text.lines().all(|line| line == line.trim_end()), "{text}");
    }

    #[test]
    fn endlessly_nested_help_is_rejected() {
        let endless = page(|_| Ok("Commands:\n  again  Once more\n".to_owned()));
        assert!(endless.unwrap_err().to_string().contains("too deep"));
    }
}
