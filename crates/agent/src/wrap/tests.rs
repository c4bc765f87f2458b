//! Tests of `wrap`.

use super::*;

#[test]
fn lines_are_broken_between_words() {
    assert_eq!(plain("one two  three", 8), ["one two", "three"]);
    assert_eq!(plain("one two", 7), ["one two"]);
    assert_eq!(plain("  one\n\ntwo ", 80), ["one", "", "two"]);
    assert_eq!(plain("", 80), Vec::<String>::new());
}

#[test]
fn long_words_are_broken_and_urls_are_not() {
    assert_eq!(plain("a abcdefgh b", 3), ["a", "abc", "def", "gh", "b"]);
    assert_eq!(plain("at https://example.com/x now", 8), ["at", "https://example.com/x", "now"]);
}

#[test]
fn wide_characters_take_two_columns() {
    assert_eq!(plain("漢字漢字", 5), ["漢字", "漢字"]);
    assert_eq!(columns("漢e\u{301}"), 3);
    assert_eq!(plain("漢", 1), ["", "漢"]);
}

#[test]
fn styles_do_not_span_lines() {
    let bold = Style::new().bold();
    let spans = [Span::new(bold, "one two"), Span::new(Style::new(), ", three")];
    let lines = lines(&spans, 4);
    let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(text, ["\u{1b}[1mone\u{1b}[0m", "\u{1b}[1mtwo\u{1b}[0m,", "thre", "e"]);
    assert_eq!(lines[1].width, 4);
}

#[test]
fn continuation_lines_are_indented() {
    let line = "  hint: choose another name, or replace the server with `--replace`";
    let wrapped = hanging(line, Some(40), 4);
    assert_eq!(wrapped, "  hint: choose another name, or replace\n    the server with `--replace`");
    assert_eq!(hanging(line, None, 4), line);
    // Too little room for the indentation.
    assert_eq!(hanging("one two three four five", Some(10), 8), "one two\n  three\n  four\n  five");
    // A style takes no columns, and a word that fits no line stays whole.
    let styled = "\u{1b}[1mone\u{1b}[0m two";
    assert_eq!(hanging(styled, Some(7), 2), styled);
    assert_eq!(
        hanging("see /a/very/long/path now", Some(10), 2),
        "see\n  /a/very/long/path\n  now"
    );
}

#[test]
fn prose_continues_below_the_last_column() {
    assert_eq!(
        prose("ok  a  one two three four five six\n  see /a/long/path\n", Some(30)),
        "ok  a  one two three four five\n       six\n  see /a/long/path\n"
    );
    assert_eq!(prose("  one two three four", Some(14)), "  one two\n  three four");
    let whole = "  /a/very/long/path";
    assert_eq!(prose(whole, Some(10)), whole);
    assert_eq!(prose("one  two  three", None), "one  two  three");
}
