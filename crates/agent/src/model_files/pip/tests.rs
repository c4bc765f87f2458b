//! Tests of `pip`.

use super::*;

#[test]
fn only_the_last_pip_errors_are_reported() {
    let said = "WARNING: x\nERROR: a\n\nERROR: b\x1b[2J\nERROR: c\nERROR: d\n";
    assert_eq!(summary(said), ["b\\u{1b}[2J", "c", "d"]);
    assert_eq!(summary("one\ntwo\n"), ["one", "two"]);
    assert!(summary("\n").is_empty());
}
