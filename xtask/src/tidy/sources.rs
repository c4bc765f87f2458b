//! Rule: size, name and style of Rust source files.

use super::finding::Finding;
use super::tree::{Tree, has_extension, has_word};

const MAX_LINES: usize = 600;
const MAX_TEST_LINES: usize = 800;

/// Names that do not describe the contents.
const BANNED_STEMS: &[&str] =
    &["util", "utils", "helper", "helpers", "misc", "common", "manager", "core", "types"];

const BANNED_ATTRIBUTES: &[(&str, &str)] = &[
    ("#[ignore", "a test runs or is removed, it is not ignored"),
    ("#[should_panic", "assert on the outcome instead of expecting a panic"),
];

/// Marks of unfinished work, split so that this file does not contain them.
const UNFINISHED_MARKS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.texts()
        .filter(|(path, _)| has_extension(path, "rs"))
        .flat_map(|(path, text)| {
            let mut findings = check_file(path, text);
            findings.extend(text.lines().enumerate().flat_map(|(index, line)| {
                let messages = check_line(path, line);
                messages.into_iter().map(move |message| Finding::new(path, index + 1, message))
            }));
            findings
        })
        .collect()
}

fn check_file(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.trim_end_matches(".rs");
    if name == "mod.rs" {
        findings.push(Finding::new(path, 1, "name the file after its module, not mod.rs"));
    }
    if BANNED_STEMS.contains(&stem) {
        let message = format!("`{stem}` does not say what is inside; name the one idea");
        findings.push(Finding::new(path, 1, message));
    }
    if !opens_with_purpose(text) {
        findings.push(Finding::new(path, 1, "the file does not start with its purpose (`//! …`)"));
    }
    let limit = if is_test_file(path) { MAX_TEST_LINES } else { MAX_LINES };
    let count = text.lines().count();
    if count > limit {
        let message = format!("{count} lines, more than {limit}: look for the second idea");
        findings.push(Finding::new(path, limit + 1, message));
    }
    findings
}

/// Whether the file starts with a `//!` sentence, after a shebang and inner attributes.
fn opens_with_purpose(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    while let Some(line) = lines.next() {
        if let Some(purpose) = line.strip_prefix("//!") {
            return !purpose.trim().is_empty();
        }
        let attribute = line.starts_with("#![");
        if !attribute && !line.starts_with("#!/") {
            return false;
        }
        // An attribute may span several lines.
        if attribute && !line.ends_with(']') {
            let _ = lines.find(|rest| rest.ends_with(']'));
        }
    }
    false
}

fn check_line(path: &str, line: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if line.ends_with(char::is_whitespace) {
        messages.push("trailing whitespace".to_owned());
    }
    if line.contains('\t') {
        messages.push("a tab; indent with spaces".to_owned());
    }
    for (attribute, message) in BANNED_ATTRIBUTES {
        if line.trim_start().starts_with(attribute) {
            messages.push((*message).to_owned());
        }
    }
    let explained = line.split_once("// sleep:").is_some_and(|(_, why)| !why.trim().is_empty());
    if is_test_file(path) && line.contains("thread::sleep") && !explained {
        messages.push("a test sleeps; wait for the event, or say why in `// sleep: …`".to_owned());
    }
    for mark in UNFINISHED_MARKS {
        if has_word(line, mark, &['_']) {
            messages.push(format!("`{mark}`: do it now or drop it"));
        }
    }
    messages
}

pub(super) fn is_test_file(path: &str) -> bool {
    let rooted = format!("/{path}");
    rooted.contains("/tests/") || rooted.ends_with("/tests.rs")
}

#[cfg(test)]
mod tests;
