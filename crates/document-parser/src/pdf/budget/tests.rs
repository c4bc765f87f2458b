//! Tests of `budget`.

use super::*;

#[test]
fn only_the_first_object_is_counted() {
    for (text, count) in [
        ("", 0),
        ("12 13", 1),
        ("/Name/Other", 1),
        ("(a (b) \\) c) 1", 1),
        ("<48 65> 1", 1),
        ("[1 2 (x y) /N <00>] 3 4", 6),
        ("<< /A [1 2] /B << /C null >> >> 7", 9),
        ("% note\n[1]", 2),
        ("[1 2", 3),
    ] {
        assert_eq!(count_object(text.as_bytes(), 100), count, "{text}");
    }
    assert_eq!(count_object("[0 0 0 0 0 0".as_bytes(), 4), 4);
}

#[test]
fn operands_in_strings_are_counted() {
    assert_eq!(count_operands(b"BT /F1 12 Tf (two words) Tj ET"), 11);
    assert_eq!(count_operands(b" \n "), 0);
}
