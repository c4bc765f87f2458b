//! Tests of `text`.

use super::*;

fn on(text: &str) -> Grown {
    Grown::On(text.to_owned())
}

#[test]
fn characters_come_whole() {
    let mut text = Text::new(&[]);
    assert_eq!(text.grow("a€".as_bytes().split_last().unwrap().1), on("a"));
    assert_eq!(text.grow(&"€".as_bytes()[2..]), on("€"));
    assert_eq!(text.grow(&[0xF0, 0x9F]), on(""));
    assert_eq!(text.end(), "\u{FFFD}");
}

#[test]
fn bytes_that_can_be_no_character_do_not_hold_up_the_rest() {
    let mut text = Text::new(&[]);
    assert_eq!(text.grow(&[0xFF, b'a']), on("\u{FFFD}a"));
}

#[test]
fn a_stop_sequence_is_found_across_pieces_and_never_shown() {
    let mut text = Text::new(&["END".to_owned(), "\n\n".to_owned()]);
    assert_eq!(text.grow(b"one E"), on("one "));
    assert_eq!(text.grow(b"N"), on(""));
    assert_eq!(text.grow(b"T E"), on("ENT "));
    assert_eq!(text.grow(b"ND more"), Grown::Stopped(String::new()));
    let mut text = Text::new(&["END".to_owned(), "\n\n".to_owned()]);
    assert_eq!(text.grow(b"x\n\nEND"), Grown::Stopped("x".to_owned()));
}

#[test]
fn what_only_looked_like_a_stop_sequence_is_shown_in_the_end() {
    let mut text = Text::new(&["END".to_owned()]);
    assert_eq!(text.grow(b"the EN"), on("the "));
    assert_eq!(text.end(), "EN");
}
