//! Rule: size, name and style of Rust source files.

use super::finding::Finding;
use super::tree::{Tree, has_extension};

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
    if is_test_file(path) && line.contains("thread::sleep") && !explains_sleep(line) {
        messages.push("a test sleeps; wait for the event, or say why in `// sleep: …`".to_owned());
    }
    for mark in UNFINISHED_MARKS {
        if has_word(line, mark) {
            messages.push(format!("`{mark}`: do it now or drop it"));
        }
    }
    messages
}

fn is_test_file(path: &str) -> bool {
    let rooted = format!("/{path}");
    rooted.contains("/tests/") || rooted.ends_with("/tests.rs")
}

fn explains_sleep(line: &str) -> bool {
    line.split_once("// sleep:").is_some_and(|(_, reason)| !reason.trim().is_empty())
}

fn has_word(line: &str, word: &str) -> bool {
    let part_of_word = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        !before.is_some_and(part_of_word) && !after.is_some_and(part_of_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::printed;

    fn findings(path: &str, text: &str) -> Vec<String> {
        printed(&check(&Tree::of(&[(path, text)])))
    }

    #[test]
    fn valid_file_has_no_findings() {
        let text =
            "#!/usr/bin/env run\n#![expect(\n    unused,\n)]\n\n//! One idea.\n\nfn a() {}\n";
        assert_eq!(findings("src/idea.rs", text), Vec::<String>::new());
        assert_eq!(findings("notes.txt", "no purpose\t \n"), Vec::<String>::new());
    }

    #[test]
    fn missing_purpose_is_found() {
        for text in ["", "fn a() {}\n", "//!\nfn a() {}\n", "// Plain.\n//! Late.\n"] {
            let found = findings("src/idea.rs", text);
            assert_eq!(
                found,
                ["src/idea.rs:1: the file does not start with its purpose (`//! …`)"],
                "{text:?}"
            );
        }
    }

    #[test]
    fn meaningless_names_are_found() {
        assert!(findings("src/idea/mod.rs", "//! X.\n")[0].contains("not mod.rs"));
        assert!(findings("src/utils.rs", "//! X.\n")[0].contains("`utils` does not say"));
    }

    #[test]
    fn long_files_are_found_with_a_higher_limit_for_tests() {
        let text = |lines: usize| format!("//! X.\n{}", "\n".repeat(lines - 1));
        assert!(findings("src/a.rs", &text(600)).is_empty());
        assert!(findings("src/a.rs", &text(601))[0].starts_with("src/a.rs:601: 601 lines"));
        assert!(findings("src/a/tests.rs", &text(800)).is_empty());
        assert_eq!(findings("tests/it/a.rs", &text(801)).len(), 1);
    }

    #[test]
    fn trailing_whitespace_and_tabs_are_found() {
        let found = findings("src/a.rs", "//! X.\nfn a() {} \n\tfn b() {}\n");
        assert_eq!(
            found,
            ["src/a.rs:2: trailing whitespace", "src/a.rs:3: a tab; indent with spaces"]
        );
    }

    #[test]
    fn ignored_and_panicking_tests_are_found() {
        let text = "//! X.\n    #[ignore = \"slow\"]\n    #[should_panic]\n// #[ignore] in words\n";
        let found = findings("src/a.rs", text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("not ignored") && found[1].contains("panic"), "{found:?}");
    }

    #[test]
    fn unexplained_sleeps_in_tests_are_found() {
        let text = "//! X.\nstd::thread::sleep(d);\nthread::sleep(d); // sleep: the file's time must differ\nthread::sleep(d); // sleep:\n";
        let lines: Vec<String> = findings("crates/a/tests/it/a.rs", text);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].contains(".rs:2: ") && lines[1].contains(".rs:4: "), "{lines:?}");
        assert!(findings("src/a.rs", text).is_empty());
    }

    #[test]
    fn unfinished_marks_are_found_as_whole_words() {
        for mark in UNFINISHED_MARKS {
            let found = findings("src/a.rs", &format!("//! X.\n// {mark}: later\n"));
            assert_eq!(found, [format!("src/a.rs:2: `{mark}`: do it now or drop it")]);
            assert!(findings("src/a.rs", &format!("//! X.\n// {mark}X\n")).is_empty());
        }
    }
}
