//! Tests of `pip`.

use super::*;

#[test]
fn of_much_that_is_said_the_last_errors_are_told() {
    let said = "WARNING: x\nERROR: a\n\nERROR: b\x1b[2J\nERROR: c\nERROR: d\n";
    assert_eq!(told(said), ["b\\u{1b}[2J", "c", "d"]);
    assert_eq!(told("one\ntwo\n"), ["one", "two"]);
    assert!(told("\n").is_empty());
}
