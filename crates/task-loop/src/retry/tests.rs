//! Tests of `retry`.

use super::*;

fn told(before: &str, pieces: &[&str]) -> String {
    let patience = RetryBudget { tries: 1, heard: before.to_owned() };
    let mut told = patience.repeated_text();
    pieces.iter().filter_map(|piece| told.push_text(piece)).collect()
}

#[test]
fn after_a_retry_printed_text_is_not_repeated() {
    assert_eq!(told("", &["a", "b"]), "ab");
    assert_eq!(told("ab", &["a", "b", "c"]), "c");
    assert_eq!(told("ab", &["abcd", "e"]), "cde");
    assert_eq!(told("ab", &["a"]), "");
}

#[test]
fn after_a_retry_a_different_answer_is_printed_completely() {
    assert_eq!(told("ab", &["a", "x", "y"]), "\n[retried]\naxy");
    assert_eq!(told("ab", &["x"]), "\n[retried]\nx");
}

#[test]
fn retry_delays_grow_and_are_limited() {
    let mut patience = RetryBudget::default();
    let trouble = MemberError::Unreachable { reason: String::new() };
    let mut waits = Vec::new();
    while let Some(wait) = patience.wait_for(&trouble, patience.repeated_text()) {
        waits.push(wait);
    }
    assert_eq!(waits.len(), MAX_TRIES as usize);
    assert!(waits[0] < waits[2] && waits[5] <= LONGEST_WAIT.mul_f64(1.2), "{waits:?}");
    let nonsense = MemberError::Nonsense { what: String::new() };
    assert_eq!(
        RetryBudget::default().wait_for(&nonsense, RetryBudget::default().repeated_text()),
        None
    );
}
