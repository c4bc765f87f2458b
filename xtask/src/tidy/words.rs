//! Rule: no phrase that a technical writer would replace.

use super::finding::Finding;
use super::sources::is_test_file;
use super::tree::{Tree, has_extension};

/// Phrases, and their replacements.
const PHRASES: &[(&str, &str)] = &[
    ("whoever", "name the actor"),
    (" of its own", "separate"),
    (" stands ", "is, exists"),
    ("goes on", "continues"),
    ("go on with", "resume"),
    ("gone on", "resumed"),
    (" is told", "name the actor: prints, returns"),
    (" are told", "name the actor: print, return"),
    ("comes to nothing", "fails"),
    ("come to nothing", "fail"),
    ("is not believed", "failed verification"),
    ("are not believed", "failed verification"),
    ("be listened on", "is in use"),
    ("nobody waits", "name the lock order"),
    ("somebody who", "name the actor"),
    ("is not allowed this", "lacks permission"),
    ("does not reach this far", "lacks a scope"),
    ("holds what cannot be", "is corrupt"),
    ("as many requests wait as may", "the queue is full"),
    ("say what to fix", "suggest fixes"),
    ("busy or away", "unavailable"),
    ("may take none of", "write timeout"),
    ("may not run unasked", "needs approval"),
    ("whose turn it is", "timeouts"),
    ("look whether", "check whether"),
    ("looks whether", "checks whether"),
    ("what is there", "name the thing"),
    (" be had", "available"),
    ("is left alone", "stays unchanged"),
    ("the very same", "identical"),
];

const EXTENSIONS: &[&str] = &["rs", "md", "html", "js", "yaml", "sh"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.texts()
        .filter(|(path, _)| is_checked(path))
        .flat_map(|(path, text)| check_text(path, text))
        .collect()
}

/// Tests quote text of peers and people.
fn is_checked(path: &str) -> bool {
    let is_this = path.ends_with("tidy/words.rs");
    !is_test_file(path)
        && !is_this
        && EXTENSIONS.iter().any(|extension| has_extension(path, extension))
}

fn check_text(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.to_lowercase();
        for (phrase, instead) in PHRASES.iter().filter(|(phrase, _)| line.contains(phrase)) {
            let message = format!("`{}`: {instead}", phrase.trim());
            findings.push(Finding::new(path, number, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests;
