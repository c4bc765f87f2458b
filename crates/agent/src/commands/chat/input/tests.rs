//! Tests of `input`.

use super::*;

#[test]
fn a_backslash_at_the_end_joins_lines() {
    let mut text = String::new();
    assert!(join(&mut text, "one \\\n").unwrap());
    assert!(!join(&mut text, "two\r\n").unwrap());
    assert_eq!(text, "one \ntwo");
    assert!(!is_continued("a path\\\\"));
}

#[test]
fn an_oversized_message_is_rejected() {
    let mut long = io::Cursor::new(vec![b'x'; MAX_MESSAGE_BYTES + 1]);
    assert!(next_line(&mut long).unwrap_err().line().contains("larger than"));
    let mut fits = io::Cursor::new(vec![b'x'; MAX_MESSAGE_BYTES]);
    assert_eq!(next_line(&mut fits).unwrap().unwrap().len(), MAX_MESSAGE_BYTES);
    assert_eq!(next_line(&mut fits).unwrap(), None);
}
