//! Rule: documents have their required contents, and what they refer to exists.

mod links;
mod paths;

use super::finding::Finding;
use super::markdown::Document;
use super::tree::{Tree, has_word};

/// Commands that the README must show.
const README_COMMANDS: &[&str] = &["cargo run --release -- up", "cargo xtask test"];

pub(super) fn check(tree: &Tree, member_folders: &[String]) -> Vec<Finding> {
    let mut findings = links::check(tree);
    findings.extend(paths::check(tree));
    findings.extend(check_content(tree, "README.md", readme_lacks));
    findings.extend(check_content(tree, "CHANGELOG.md", changelog_lacks));
    findings.extend(check_content(tree, "ARCHITECTURE.md", |text| {
        architecture_lacks(text, member_folders)
    }));
    findings
}

fn check_content(tree: &Tree, path: &str, lacks: impl Fn(&str) -> Vec<String>) -> Vec<Finding> {
    let messages = match tree.text(path) {
        Some(text) => lacks(text),
        None => vec!["missing".to_owned()],
    };
    messages.into_iter().map(|message| Finding::new(path, 1, message)).collect()
}

fn readme_lacks(text: &str) -> Vec<String> {
    README_COMMANDS
        .iter()
        .filter(|command| !text.contains(*command))
        .map(|command| format!("does not show `{command}`"))
        .collect()
}

fn changelog_lacks(text: &str) -> Vec<String> {
    let document = Document::parse(text);
    let unreleased = document
        .headings
        .iter()
        .any(|heading| heading.level == 2 && heading.text == "[Unreleased]");
    if unreleased { Vec::new() } else { vec!["has no heading `## [Unreleased]`".to_owned()] }
}

fn architecture_lacks(text: &str, member_folders: &[String]) -> Vec<String> {
    member_folders
        .iter()
        .filter(|folder| !has_word(text, folder, &['-', '_']))
        .map(|folder| format!("does not mention `{folder}`"))
        .collect()
}

#[cfg(test)]
mod tests;
