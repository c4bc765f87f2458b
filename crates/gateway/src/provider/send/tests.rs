//! Tests of `send`.

use super::*;

#[test]
fn retry_after_is_parsed_and_bounded() {
    let wait = |text: &str| {
        let value = http::HeaderValue::from_str(text).unwrap();
        retry_after(&HeaderMap::from_iter([(RETRY_AFTER, value)]))
    };
    assert_eq!(wait("7"), Some(Duration::from_secs(7)));
    assert_eq!(wait("86400"), Some(MAX_RETRY_AFTER));
    assert_eq!(wait("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
    assert_eq!(wait("Fri, 31 Dec 9999 23:59:59 GMT"), Some(MAX_RETRY_AFTER));
    let soon = OffsetDateTime::now_utc() + Duration::from_mins(1);
    let soon = wait(&soon.format(&Rfc2822).unwrap().replace("+0000", "GMT")).unwrap();
    assert!((50..=60).contains(&soon.as_secs()), "{soon:?}");
    for nonsense in ["", "-1", "soon", "1.5"] {
        assert_eq!(wait(nonsense), None, "{nonsense}");
    }
}

#[test]
fn unknown_model_differs_from_unknown_path() {
    assert!(is_of_model(br#"{"error":{"message":"x","code":"model_not_found"}}"#));
    for other in [
        "",
        "<html>",
        "[]",
        r#"{"detail":"Not Found"}"#,
        r#"{"error":"model_not_found"}"#,
        r#"{"error":{"message":"Invalid URL","code":null}}"#,
        r#"{"error":{"message":"Invalid URL"}}"#,
        r#"{"error":{"message":"x","code":404}}"#,
    ] {
        assert!(!is_of_model(other.as_bytes()), "{other}");
    }
}
