//! Tests of `line_joiner`.

use super::*;

#[test]
fn a_message_is_complete_when_its_last_bracket_closes() {
    let mut joined = LineJoiner::default();
    assert_eq!(joined.push(b"{"), None);
    assert_eq!(joined.push(br#"  "a": ["}", "\"]","#), None);
    assert_eq!(joined.push(b"  1]"), None);
    let whole = b"{\n  \"a\": [\"}\", \"\\\"]\",\n  1]\n}".to_vec();
    assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&whole).is_ok());
    assert_eq!(joined.push(b"}"), Some(whole));
    assert!(joined.is_empty());
}

#[test]
fn oversized_or_broken_messages_are_abandoned() {
    let mut joined = LineJoiner::default();
    assert_eq!(joined.push(b"{\"a"), Some(b"{\"a".to_vec()));
    assert_eq!(joined.push(b"["), None);
    assert!(joined.push(&vec![b'1'; MAX_JOINED_BYTES]).is_some());
    assert!(joined.is_empty());
}
