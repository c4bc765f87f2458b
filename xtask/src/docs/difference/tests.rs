//! Tests of `difference`.

use super::*;

#[test]
fn equal_texts_have_no_difference() {
    assert_eq!(first("a\nb\n", "a\nb\n"), None);
}

#[test]
fn first_different_lines_are_shown() {
    let difference = first("a\nold\n", "a\nnew\n1\n2\n3\n4\n").unwrap();
    assert_eq!(difference, "2: differs from the code\n  - old\n  - \n  + new\n  + 1\n  + 2");
}

#[test]
fn missing_newline_and_empty_page_are_differences() {
    assert!(first("a", "a\n").unwrap().starts_with("2: "));
    assert!(first("", "a\n").unwrap().starts_with("1: "));
}
