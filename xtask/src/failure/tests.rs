//! Tests of `failure`.

use super::*;

#[test]
fn failure_is_printed_as_error_and_hint() {
    let failure = Failure::work("the disk is full").with_hint("make room");
    assert_eq!(failure.to_string(), "error: the disk is full\nhint: make room");
    assert_eq!(failure.exit_code(), 1);
}
