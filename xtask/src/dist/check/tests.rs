//! Tests of `check`.

use super::*;

#[test]
fn check_without_its_program_is_not_run() {
    let outcome = missing(&["sh", "no-such-program"]);
    assert!(matches!(outcome, Some(Outcome::NotRun(reason)) if reason.contains("no-such-program")));
    assert!(missing(&["sh"]).is_none());
}
