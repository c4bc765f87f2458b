//! Rule: documents and pages show only commands that exist.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::markdown::Document;
use super::tree::{Tree, has_extension};

/// The page made from the program's help, with a heading for each command.
const REFERENCE: &str = "docs/cli.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(reference) = tree.text(REFERENCE) else {
        return vec![Finding::new(REFERENCE, 1, "missing; run `cargo xtask docs`")];
    };
    let reference = Document::parse(reference);
    let known: BTreeSet<&str> = reference
        .headings
        .iter()
        .map(|heading| heading.text)
        .filter(|text| *text == "agent" || text.starts_with("agent "))
        .collect();
    tree.texts()
        .filter(|(path, _)| is_checked(path))
        .flat_map(|(path, text)| check_document(path, text, &known))
        .collect()
}

fn is_checked(path: &str) -> bool {
    let page = path.starts_with("docs/") && has_extension(path, "md");
    path == "README.md" || (page && path != REFERENCE) || is_template(path)
}

fn is_template(path: &str) -> bool {
    path.contains("/templates/") && has_extension(path, "html")
}

fn check_document(path: &str, text: &str, known: &BTreeSet<&str>) -> Vec<Finding> {
    let lines = if is_template(path) { code_elements(text) } else { shell_lines(text) };
    let finding = |(number, line)| {
        let unknown = unknown_command(line, known)?;
        Some(Finding::new(path, number, format!("`{unknown}` is not in {REFERENCE}")))
    };
    lines.into_iter().filter_map(finding).collect()
}

/// The lines of the shell blocks of a Markdown document, with their numbers.
fn shell_lines(text: &str) -> Vec<(usize, &str)> {
    let fences = Document::parse(text).fences.into_iter();
    let shell = fences.filter(|fence| matches!(fence.language.as_str(), "sh" | "console"));
    shell.flat_map(|fence| fence.lines).collect()
}

/// The texts of the `code` elements of a template, with their lines.
fn code_elements(text: &str) -> Vec<(usize, &str)> {
    let of_line = |(number, line)| {
        let elements = str::split(line, "<code>").skip(1);
        elements.filter_map(move |rest| Some((number, rest.split('<').next()?)))
    };
    (1..).zip(text.lines()).flat_map(of_line).collect()
}

/// The command of a line, if it does not exist.
fn unknown_command(line: &str, known: &BTreeSet<&str>) -> Option<String> {
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let mut words = line.split_whitespace();
    if words.next() != Some("agent") {
        return None;
    }
    let mut command = "agent".to_owned();
    for word in words.take_while(|word| is_command_word(word)) {
        let longer = format!("{command} {word}");
        if known.contains(longer.as_str()) {
            command = longer;
        } else if has_subcommands(&command, known) && word != "help" {
            return Some(longer);
        } else {
            // An argument of a command without subcommands.
            return None;
        }
    }
    None
}

fn has_subcommands(command: &str, known: &BTreeSet<&str>) -> bool {
    let prefix = format!("{command} ");
    known.iter().any(|name| name.starts_with(&prefix))
}

fn is_command_word(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_lowercase())
        && word
            .chars()
            .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-')
}

#[cfg(test)]
mod tests;
