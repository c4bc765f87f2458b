//! Tests of `line_joiner`.

use super::*;

#[test]
fn a_message_is_complete_when_its_last_bracket_closes() {
    let mut joined = LineJoiner::default();
    assert_eq!(joined.push(b"{"), JoinResult::Incomplete);
    assert_eq!(joined.push(br#"  "a": ["}", "\"]","#), JoinResult::Incomplete);
    assert_eq!(joined.push(b"  1]"), JoinResult::Incomplete);
    let whole = b"{\n  \"a\": [\"}\", \"\\\"]\",\n  1]\n}".to_vec();
    assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&whole).is_ok());
    assert_eq!(joined.push(b"}"), JoinResult::Complete(whole));
    assert!(joined.is_empty());
}

#[test]
fn oversized_or_broken_messages_are_abandoned() {
    let mut joined = LineJoiner::default();
    assert_eq!(joined.push(b"{\"a"), JoinResult::Abandoned(b"{\"a".to_vec()));
    assert_eq!(joined.push(b"["), JoinResult::Incomplete);
    assert!(matches!(joined.push(&vec![b'1'; MAX_JOINED_BYTES]), JoinResult::Abandoned(_)));
    assert!(joined.is_empty());
}
