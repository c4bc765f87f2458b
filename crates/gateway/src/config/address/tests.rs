//! Addresses that can be used, and the faults of others.

use super::*;

#[test]
fn valid_urls_lose_only_their_trailing_slash() {
    for (written, expected) in [
        ("https://api.example.com/v1", "https://api.example.com/v1"),
        ("https://api.example.com/v1/", "https://api.example.com/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
        ("HTTP://127.0.0.1:11434", "http://127.0.0.1:11434/"),
    ] {
        assert_eq!(parse(written).map(|uri| uri.to_string()), Ok(expected.into()), "{written}");
    }
}

#[test]
fn each_url_fault_has_its_own_error() {
    for (written, fault) in [
        ("", SCHEME),
        ("api.example.com/v1", SCHEME),
        ("ftp://a.b", SCHEME),
        ("https://", HOST),
        ("https:///v1", HOST),
        ("https://a b/v1", FORM),
        ("https://a.b:port/v1", FORM),
        ("https://a.b:99999/v1", FORM),
        ("https://me:s3cret@a.b/v1", CREDENTIALS),
        ("https://a.b/v1?key=s3cret", QUERY),
        ("https://a.b/v1#x", QUERY),
    ] {
        assert_eq!(parse(written).map(|uri| uri.to_string()), Err(fault), "{written}");
    }
}

#[test]
fn loopback_and_unencrypted_urls_are_detected() {
    for (written, loopback, open) in [
        ("http://127.0.0.1:1", true, false),
        ("http://127.9.9.9", true, false),
        ("http://[::1]:1", true, false),
        ("http://LocalHost", true, false),
        ("http://localhost.example.com", false, true),
        ("http://10.0.0.1", false, true),
        ("https://10.0.0.1", false, false),
    ] {
        let uri: Uri = written.parse().unwrap();
        assert_eq!((is_loopback(&uri), is_open(&uri)), (loopback, open), "{written}");
    }
}
