//! Tests of `transfer`.

use super::*;

#[test]
fn content_range_is_parsed() {
    assert_eq!(content_range("bytes 5-9/10"), Some((5..10, Some(10))));
    assert_eq!(content_range("bytes 5-9/*"), Some((5..10, None)));
    for wrong in ["", "bytes */10", "bytes 9-5/10", "bytes 5-/10", "items 5-9/10", "bytes 5-9"] {
        assert_eq!(content_range(wrong), None, "{wrong}");
    }
}

#[test]
fn weak_etags_are_ignored() {
    let of = |tag: &'static str| {
        strong_tag(&HeaderMap::from_iter([(ETAG, HeaderValue::from_static(tag))]))
    };
    assert!(of("\"a\"").is_some() && of("W/\"a\"").is_none() && of("a").is_none());
}
