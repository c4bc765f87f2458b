//! The page of all commands, made from the help of the program.

use crate::failure::{Failure, Result};

/// Deeper commands mean that the help was parsed wrongly.
const MAX_DEPTH: usize = 4;

const OPENING: &str = "\
# Commands

What `agent --help` and the help of every command print. Made from the program by
`cargo xtask docs`; edits here are overwritten.
";

/// Builds the page. `output` runs the program with arguments and returns its output.
pub(super) fn page(output: impl Fn(&[&str]) -> Result<String>) -> Result<String> {
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

/// Names in the "Commands:" section of a help text, without `help` itself. The page of the program
/// has no heading: its commands follow the usage.
fn subcommands(help: &str) -> Vec<String> {
    let has_heading = help.lines().any(|line| line == "Commands:");
    let heading = if has_heading { "Commands:" } else { "Usage:" };
    let is_before = |line: &&str| !line.starts_with(heading);
    help.lines()
        .skip_while(is_before)
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
mod tests;
