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
fn a_word_that_fits_no_line_is_broken_and_an_address_is_not() {
    assert_eq!(plain("a abcdefgh b", 3), ["a", "abc", "def", "gh", "b"]);
    assert_eq!(plain("at https://example.com/x now", 8), ["at", "https://example.com/x", "now"]);
}

#[test]
fn wide_letters_take_two_columns() {
    assert_eq!(plain("漢字漢字", 5), ["漢字", "漢字"]);
    assert_eq!(columns("漢e\u{301}"), 3);
    assert_eq!(plain("漢", 1), ["", "漢"]);
}

#[test]
fn every_line_has_its_styles_to_itself() {
    let bold = Style::new().bold();
    let spans = [Span::new(bold, "one two"), Span::new(Style::new(), ", three")];
    let lines = lines(&spans, 4);
    let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(text, ["\u{1b}[1mone\u{1b}[0m", "\u{1b}[1mtwo\u{1b}[0m,", "thre", "e"]);
    assert_eq!(lines[1].width, 4);
}
