//! Tests of `docs`.

use super::*;

#[test]
fn equal_texts_have_no_difference() {
    assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
}

#[test]
fn first_different_lines_are_shown() {
    let difference = first_difference("a\nold\n", "a\nnew\n1\n2\n3\n4\n").unwrap();
    assert_eq!(difference, "2: differs from the code\n  - old\n  - \n  + new\n  + 1\n  + 2");
}

#[test]
fn missing_newline_and_empty_page_are_differences() {
    assert!(first_difference("a", "a\n").unwrap().starts_with("2: "));
    assert!(first_difference("", "a\n").unwrap().starts_with("1: "));
}
