//! Globs, and the words of operations.

use super::*;

#[test]
fn globs_match_whole_names() {
    for (pattern, name, expected) in [
        ("openai/gpt-5", "openai/gpt-5", true),
        ("openai/gpt-5", "openai/gpt-5-mini", false),
        ("openai/*", "openai/org/x", true),
        ("openai/*", "openai/", true),
        ("openai/*", "openai", false),
        ("*", "", true),
        ("*-mini", "openai/gpt-5-mini", true),
        ("*mini*", "a/mini-mini-x", true),
        ("*a*b", "xxaxxb", true),
        ("*a*b", "xxaxxbc", false),
        ("gpt-?", "gpt-5", true),
        ("gpt-?", "gpt-", false),
        ("", "", true),
        ("", "x", false),
    ] {
        assert_eq!(Pattern::new(pattern).matches(name), expected, "{pattern} {name}");
    }
}

#[test]
fn a_glob_with_many_stars_is_matched_quickly() {
    let pattern = Pattern::new("*a".repeat(60) + "b");
    assert!(!pattern.matches(&"a".repeat(4000)));
}

#[test]
fn every_operation_has_a_unique_name() {
    for (operation, word, ..) in OPERATIONS {
        assert_eq!(operation.as_str(), *word);
        assert_eq!(OPERATIONS.iter().filter(|(_, other, ..)| other == word).count(), 1);
    }
}
