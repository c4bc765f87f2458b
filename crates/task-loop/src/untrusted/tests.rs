//! Tests of `untrusted`.

use super::*;

#[test]
fn every_control_format_and_separator_character_is_escaped() {
    for letter in (char::MIN..=char::MAX).filter(|letter| is_unsafe(*letter)) {
        let shown = escaped(&format!("a{letter}b"));
        assert!(shown.starts_with("a\\") && shown.is_ascii(), "{shown}");
    }
    let named = "\u{1b}\r\u{7f}\u{9b}\u{ad}\u{61c}\u{180e}\u{200b}\u{200d}\u{200f}\u{2028}\
                     \u{2029}\u{202e}\u{2060}\u{2066}\u{feff}\u{fff9}\u{e0001}\u{e0041}";
    assert!(named.chars().all(is_unsafe));
    assert!("aZ 0~ä東é😀\u{301}\u{a0}".chars().all(|letter| !is_unsafe(letter)));
    assert_eq!(escaped("🧑\u{200d}💻 a\u{200d}b"), "🧑\u{200d}💻 a\\u{200d}b");
    assert_eq!(escaped("a\nb\tc\u{202e}"), "a\\nb\\tc\\u{202e}");
    assert_eq!(escaped_lines("a\nb\tc\r\u{2028}"), "a\nb\tc\\r\\u{2028}");
}

#[test]
fn long_runs_of_spaces_are_replaced_by_their_count() {
    let hidden = format!("rm{}-rf", " ".repeat(4000));
    assert_eq!(without_blanks(&hidden), "rm…(4000 spaces)…-rf");
    let wide = format!("a{}b", "\u{3000}\u{a0}\u{3164}".repeat(20));
    assert_eq!(without_blanks(&wide), "a…(60 spaces)…b");
    let lines = format!("a\n{}b", " \n".repeat(900));
    assert_eq!(without_blanks(&lines), "a\n…(900 empty lines)…\nb");
    let usual = format!("a\n\n{}b  c", " ".repeat(MAX_BLANKS));
    assert_eq!(without_blanks(&usual), usual);
}

#[test]
fn an_excerpt_keeps_head_and_tail_within_its_rows() {
    let whole = "one\ntwo\nthree";
    assert_eq!(excerpt(whole, 3), Excerpt { text: whole.to_owned(), is_cut: false });
    let lines: Vec<String> = (0..1000).map(|line| format!("line {line}")).collect();
    let cut = excerpt(&lines.join("\n"), 7);
    let expected = "line 0\nline 1\nline 2\nline 3\n…(994 lines)…\nline 998\nline 999";
    assert_eq!(cut, Excerpt { text: expected.to_owned(), is_cut: true });
    let long = format!("begin{}end", "x".repeat(100_000));
    let cut = excerpt(&long, 5);
    assert!(cut.is_cut && cut.text.starts_with("begin") && cut.text.ends_with("end"));
    assert!(cut.text.contains("characters)…"), "{}", cut.text);
    for text in [long, lines.join("\n"), "東".repeat(5000), "\u{301}\n".repeat(5000)] {
        for rows in 1..20 {
            let shown = excerpt(&text, rows);
            let used: usize = shown.text.lines().map(rows_of).sum();
            assert!(used <= rows.max(1), "{used} of {rows} rows: {}", shown.text);
        }
    }
}
