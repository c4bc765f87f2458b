//! Tests of `oauth_http`.

use super::*;

fn answered(status: u16, retry_after: Option<&str>) -> HttpReply {
    let mut headers = HeaderMap::new();
    if let Some(wait) = retry_after {
        headers.insert(RETRY_AFTER, wait.parse().unwrap());
    }
    HttpReply { url: "https://a.example".to_owned(), status, headers, body: Bytes::new() }
}

#[test]
fn retry_after_is_bounded() {
    let wait = |text: &str| match answered(429, Some(text)).unavailable() {
        Some(Error::Unavailable { retry_after, .. }) => retry_after,
        _ => None,
    };
    assert_eq!(wait("7"), Some(Duration::from_secs(7)));
    assert_eq!(wait("999999999"), Some(MAX_RETRY_AFTER));
    assert_eq!(wait("Wed, 21 Oct 2026 07:28:00 GMT"), None);
    assert!(answered(400, Some("7")).unavailable().is_none());
}

#[test]
fn endpoint_urls_must_be_secure() {
    assert!(secure_address("the token endpoint", "https://a.example/token").is_ok());
    let error = secure_address("the token endpoint", "http://a.example/token").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the token endpoint http://a.example/token does not use https, so secrets would be sent \
         unencrypted"
    );
    assert!(matches!(secure_address("x", "/token"), Err(Error::Malformed { .. })));
}
