//! Rule: paths in code spans of documents exist.

use std::collections::BTreeSet;

use crate::tidy::finding::Finding;
use crate::tidy::markdown::Document;
use crate::tidy::tree::{Tree, has_extension};

/// Characters of placeholders, such as `crates/*/src` or `docs/<page>.md`.
const PLACEHOLDERS: &[char] = &['*', '<', '{', '…'];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let top_level: BTreeSet<&str> = tree
        .files()
        .filter_map(|(path, _)| path.split_once('/').map(|(folder, _)| folder))
        .collect();
    // Paths that git ignores by their full name, because a task generates them.
    let ignored = tree.text(".gitignore").unwrap_or_default().lines();
    let generated: Vec<&str> = ignored.filter_map(|line| line.trim().strip_prefix('/')).collect();
    let mut findings = Vec::new();
    for (document, text) in tree.texts().filter(|(path, _)| is_checked(path)) {
        for (number, span) in Document::parse(text).spans {
            let Some(path) = path_of(span, &top_level) else { continue };
            if !tree.has(&path) && !generated.iter().any(|folder| is_within(&path, folder)) {
                findings.push(Finding::new(document, number, format!("`{span}` does not exist")));
            }
        }
    }
    findings
}

fn is_checked(path: &str) -> bool {
    matches!(path, "ARCHITECTURE.md" | "README.md" | "CONTRIBUTING.md")
        || (path.starts_with("docs/") && has_extension(path, "md"))
}

/// The path of a code span up to its first placeholder; only in existing folders of the root.
fn path_of(span: &str, top_level: &BTreeSet<&str>) -> Option<String> {
    let span = span.strip_prefix("./").unwrap_or(span);
    let (folder, _) = span.split_once('/')?;
    if span.contains(char::is_whitespace) || !top_level.contains(folder) {
        return None;
    }
    let path = without_line_number(span);
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !part.is_empty())
        .take_while(|part| !part.contains(PLACEHOLDERS))
        .collect();
    Some(parts.join("/"))
}

/// `file.rs:12` means line 12 of `file.rs`.
fn without_line_number(path: &str) -> &str {
    match path.rsplit_once(':') {
        Some((file, number)) if number.chars().all(|digit| digit.is_ascii_digit()) => file,
        _ => path,
    }
}

fn is_within(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder.trim_end_matches('/'))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests;
