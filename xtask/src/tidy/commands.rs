//! Rule: documents show only commands that exist.

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
    path == "README.md" || (page && path != REFERENCE)
}

fn check_document(path: &str, text: &str, known: &BTreeSet<&str>) -> Vec<Finding> {
    let document = Document::parse(text);
    document
        .fences
        .iter()
        .filter(|fence| matches!(fence.language.as_str(), "sh" | "console"))
        .flat_map(|fence| &fence.lines)
        .filter_map(|&(number, line)| {
            let unknown = unknown_command(line, known)?;
            Some(Finding::new(path, number, format!("`{unknown}` is not in {REFERENCE}")))
        })
        .collect()
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
