//! Tests of `token`.

use super::*;
use bytes::Bytes;
use serde_json::json;

fn answer(status: u16, body: &Value) -> HttpReply {
    let body = Bytes::from(body.to_string());
    HttpReply { url: "https://a.example/token".to_owned(), status, headers: HeaderMap::new(), body }
}

#[test]
fn token_lifetimes_are_parsed_in_every_format() {
    let life = |value: Value| lifetime_seconds(json!({ "expires_in": value }).as_object().unwrap());
    assert_eq!(life(json!(3600)), Some(3600));
    assert_eq!(life(json!("3600")), Some(3600));
    assert_eq!(life(json!(59.9)), Some(59));
    assert_eq!(life(json!(1e300)), Some(315_360_000));
    for none in [
        json!(0),
        json!("0"),
        json!(0.3),
        json!(-5),
        json!(null),
        json!("soon"),
        json!([]),
        json!("NaN"),
    ] {
        assert_eq!(life(none), None);
    }
}

#[test]
fn unknown_token_types_are_rejected() {
    let body = json!({ "access_token": "t", "token_type": "mac" });
    let error = parse_token_response(&answer(200, &body)).err().unwrap();
    assert!(error.to_string().contains("token type `mac`"), "{error}");
    for kind in ["Bearer", "bearer", "BEARER"] {
        let body = json!({ "access_token": "t", "token_type": kind });
        assert!(!parse_token_response(&answer(201, &body)).unwrap().bound);
    }
    let body = json!({ "access_token": "t", "token_type": "dpop" });
    assert!(parse_token_response(&answer(200, &body)).unwrap().bound);
}

#[test]
fn oauth_errors_need_their_status_and_exact_code() {
    let refused = |status, code: &str| {
        parse_token_response(&answer(status, &json!({ "error": code })))
            .err()
            .unwrap()
            .is_refusal("invalid_client")
    };
    assert!(refused(400, "invalid_client"));
    assert!(refused(401, "invalid_client"));
    assert!(!refused(400, "invalid_client_metadata"));
    assert!(!refused(403, "invalid_client"));
    assert!(!refused(500, "invalid_client"));
    assert!(!refused(200, "invalid_client"));
}

#[test]
fn both_parts_of_basic_credentials_are_encoded() {
    let header = basic_header("a:b", "p%+ ä").unwrap();
    let login = header.to_str().unwrap().strip_prefix("Basic ").unwrap();
    assert_eq!(STANDARD.decode(login).unwrap(), b"a%3Ab:p%25%2B%20%C3%A4");
}

#[test]
fn html_and_invalid_token_characters_are_malformed() {
    let mut page = answer(200, &json!(null));
    page.body = Bytes::from_static(b"<html>");
    assert!(matches!(parse_token_response(&page), Err(Error::Malformed { .. })));
    let split = answer(200, &json!({ "access_token": "a\r\nb" }));
    assert!(matches!(parse_token_response(&split), Err(Error::Malformed { .. })));
    let page = answer(404, &json!("x"));
    assert!(matches!(parse_token_response(&page), Err(Error::Malformed { .. })));
}
