//! Tests of `dialog`.

use super::*;

#[test]
fn only_unambiguous_ascii_is_shown_unescaped() {
    for (text, shown) in [
        ("npx -y größe 東京", "npx -y gr\\u00f6\\u00dfe \\u6771\\u4eac"),
        ("p\u{430}ypal.example", "p\\u0430ypal.example"),
        ("a\u{1b}[2Jb\rc\u{9b}d\u{7f}", "a\\u001b[2Jb\\u000dc\\u009bd\\u007f"),
        ("\u{202e}txt\u{2066}\u{200b}\u{feff}", "\\u202etxt\\u2066\\u200b\\ufeff"),
        ("\u{e0041}\u{e007f}", "\\udb40\\udc41\\udb40\\udc7f"),
        ("a\u{a0}b\u{2028}c\u{3164}d\u{2800}e", "a\\u00a0b\\u2028c\\u3164d\\u2800e"),
        ("line\nline", "line\nline"),
    ] {
        assert_eq!(plain(text), shown);
    }
}

#[test]
fn escaped_json_parses_to_the_same_value() {
    let entry = serde_json::json!({"command": "a\u{202e}\u{e0041}\u{1b}\n\"b\"", "\u{200b}": 1});
    let shown = plain(&serde_json::to_string_pretty(&entry).unwrap());
    assert!(shown.is_ascii() && !shown.contains('\u{1b}'));
    assert_eq!(serde_json::from_str::<Json>(&shown).unwrap(), entry);
}

#[test]
fn ambiguous_arguments_are_quoted() {
    for (text, shown) in [
        ("npx", "npx"),
        ("~/x-${A}", "~/x-${A}"),
        ("", "\"\""),
        ("a b", "\"a b\""),
        ("a\nInstall it? [y/N] y", "\"a\\nInstall it? [y/N] y\""),
        ("$(x)", "\"$(x)\""),
        ("\"", "\"\\\"\""),
    ] {
        assert_eq!(quoted_word(text), shown);
    }
}
