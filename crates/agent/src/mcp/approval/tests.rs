//! Tests of `difference`.

use super::*;

#[test]
fn only_changed_lines_are_shown() {
    let got = difference("a\nb\nc\nd", "a\nx\nc\nd\ne");
    assert_eq!(got, "- b\n+ x\n+ e");
    assert_eq!(difference("same", "same"), "");
    assert_eq!(difference("", "new"), "+ new");
}
