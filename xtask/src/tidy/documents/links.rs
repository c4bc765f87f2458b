//! Rule: relative links of Markdown files lead to existing files and headings.

use crate::tidy::finding::Finding;
use crate::tidy::markdown::Document;
use crate::tidy::tree::{Tree, has_extension};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| has_extension(path, "md")) {
        for (number, target) in Document::parse(text).links {
            if let Some(message) = broken(tree, path, &target) {
                findings.push(Finding::new(path, number, message));
            }
        }
    }
    findings
}

/// Why a link is broken, if it is.
fn broken(tree: &Tree, document: &str, target: &str) -> Option<String> {
    if is_absolute(target) {
        return None;
    }
    let (file, anchor) = match target.split_once('#') {
        Some((file, anchor)) => (file, Some(anchor)),
        None => (target, None),
    };
    let Some(path) = resolve(document, file) else {
        return Some(format!("link `{target}` leads out of the repository"));
    };
    if !tree.has(&path) {
        return Some(format!("link `{target}`: there is no {path}"));
    }
    let anchor = anchor.filter(|_| has_extension(&path, "md"))?;
    let anchors = Document::parse(tree.text(&path)?).anchors();
    if anchors.iter().any(|known| known == anchor) {
        return None;
    }
    Some(format!("link `{target}`: {path} has no heading with the anchor `{anchor}`"))
}

/// Whether the target names a protocol, such as `https:` or `mailto:`.
fn is_absolute(target: &str) -> bool {
    target.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.chars().all(|letter| letter.is_ascii_alphanumeric())
    })
}

/// The path of a link in the repository; `None` above the root.
fn resolve(document: &str, link: &str) -> Option<String> {
    if link.is_empty() {
        return Some(document.to_owned());
    }
    let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
    let full = match link.strip_prefix('/') {
        Some(from_root) => from_root.to_owned(),
        None => format!("{folder}/{link}"),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in full.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests;
