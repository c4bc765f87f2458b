//! Tests of `text`.

use super::*;

fn on(text: &str) -> Grown {
    Grown::On(text.to_owned())
}

#[test]
fn characters_are_emitted_completely() {
    let mut text = Text::new(&[]);
    assert_eq!(text.grow("a€".as_bytes().split_last().unwrap().1), on("a"));
    assert_eq!(text.grow(&"€".as_bytes()[2..]), on("€"));
    assert_eq!(text.grow(&[0xF0, 0x9F]), on(""));
    assert_eq!(text.end(), "\u{FFFD}");
}

#[test]
fn invalid_bytes_do_not_delay_later_text() {
    let mut text = Text::new(&[]);
    assert_eq!(text.grow(&[0xFF, b'a']), on("\u{FFFD}a"));
}

#[test]
fn a_stop_sequence_is_detected_across_pieces_and_hidden() {
    let mut text = Text::new(&["END".to_owned(), "\n\n".to_owned()]);
    assert_eq!(text.grow(b"one E"), on("one "));
    assert_eq!(text.grow(b"N"), on(""));
    assert_eq!(text.grow(b"T E"), on("ENT "));
    assert_eq!(text.grow(b"ND more"), Grown::Stopped(String::new()));
    let mut text = Text::new(&["END".to_owned(), "\n\n".to_owned()]);
    assert_eq!(text.grow(b"x\n\nEND"), Grown::Stopped("x".to_owned()));
}

#[test]
fn partial_stop_sequences_are_emitted_at_the_end() {
    let mut text = Text::new(&["END".to_owned()]);
    assert_eq!(text.grow(b"the EN"), on("the "));
    assert_eq!(text.end(), "EN");
}
