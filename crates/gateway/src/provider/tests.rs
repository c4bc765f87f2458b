//! Tests of `provider`.

use super::*;

fn cleaner() -> Cleaner {
    Cleaner::new(["hunter2-hunter2".to_owned(), "inside.example".to_owned()])
}

#[test]
fn an_ordinary_message_is_unchanged() {
    let body = br#"{"error":{"message":"max_tokens is too large: 99. Use 4096."}}"#;
    let message = cleaner().message(body).unwrap();
    assert_eq!(message, "max_tokens is too large: 99. Use 4096.");
}

#[test]
fn other_error_formats_are_parsed_and_pages_are_not() {
    let cleaner = cleaner();
    assert_eq!(cleaner.message(br#"{"error":"no such model"}"#).unwrap(), "no such model");
    assert_eq!(cleaner.message(br#"{"detail":"not here"}"#).unwrap(), "not here");
    assert_eq!(cleaner.message(b"<html>hello</html>"), None);
    assert_eq!(cleaner.message(br#"{"error":{"message":7}}"#), None);
}

#[test]
fn secrets_and_addresses_are_redacted() {
    let text = "Incorrect key hunter2-HUNTER2 at http://10.0.0.7:8000/v1 (10.0.0.7:8000), \
            see Inside.Example, sk-abcdefghijklmnop, 0123456789abcdef0123456789abcdef\nbye";
    assert_eq!(cleaner().clean(text), "Incorrect key *** at *** *** see ***, *** *** bye");
}

#[test]
fn long_messages_are_cut() {
    let text = "word ".repeat(10_000);
    assert_eq!(cleaner().clean(&text).chars().count(), MAX_MESSAGE + 1);
}
