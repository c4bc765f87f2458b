//! Tests of `frame`.

use super::*;

#[test]
fn messages_are_decoded_as_encoded() {
    let mut bytes = Vec::new();
    write(&mut bytes, &"head", b"body").unwrap();
    write(&mut bytes, &"second", b"").unwrap();
    let mut input = bytes.as_slice();
    let first: Option<(String, _)> = read(&mut input, 4).unwrap();
    assert_eq!(first, Some(("head".to_owned(), b"body".to_vec())));
    let second: Option<(String, _)> = read(&mut input, 4).unwrap();
    assert_eq!(second, Some(("second".to_owned(), Vec::new())));
    assert_eq!(read::<String>(&mut input, 4).unwrap(), None);
}

#[test]
fn lengths_beyond_the_limits_are_rejected() {
    let prefix = |head: u64, body: u64| {
        let mut prefix = [0; PREFIX_BYTES];
        prefix[..8].copy_from_slice(&head.to_le_bytes());
        prefix[8..].copy_from_slice(&body.to_le_bytes());
        prefix
    };
    assert_eq!(lengths(prefix(5, 10), 10).unwrap(), (5, 10));
    assert!(lengths(prefix(5, 11), 10).is_err());
    assert!(lengths(prefix(MAX_HEAD_BYTES as u64 + 1, 0), 10).is_err());
    assert!(lengths(prefix(u64::MAX, u64::MAX), usize::MAX).is_err());
}
