//! Tests of `sources`.

use super::*;
use crate::tidy::finding::printed;

fn findings(path: &str, text: &str) -> Vec<String> {
    printed(&check(&Tree::of(&[(path, text)])))
}

#[test]
fn valid_file_has_no_findings() {
    let text = "#!/usr/bin/env run\n#![expect(\n    unused,\n)]\n\n//! One idea.\n\nfn a() {}\n";
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
    assert_eq!(found, ["src/a.rs:2: trailing whitespace", "src/a.rs:3: a tab; indent with spaces"]);
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
