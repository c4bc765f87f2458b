//! Tests of `admin`.

use wire::admin::{NewMember, Rotation, TopUp};

use super::*;

fn refused<T: DeserializeOwned>(body: &str) -> (Code, String, Option<String>) {
    let error = parse::<T>(body.as_bytes()).err().unwrap();
    (error.code(), error.message().to_owned(), error.detail(None).param)
}

#[test]
fn an_invalid_body_names_the_field() {
    let param = |body| refused::<TopUp>(body).2;
    assert_eq!(param(r#"{"amount_micros":1,"reason":"a","x":1}"#).as_deref(), Some("x"));
    assert_eq!(param(r#"{"amount_micros":1}"#).as_deref(), Some("reason"));
    let (code, message, param) = refused::<TopUp>(r#"{"amount_micros":1.5,"reason":"a"}"#);
    assert_eq!((code, param.as_deref()), (Code::InvalidRequest, Some("amount_micros")));
    assert!(message.starts_with("`amount_micros`: invalid value"), "{message}");
}

#[test]
fn non_object_values_are_rejected() {
    assert_eq!(refused::<NewMember>(r#"["ada"]"#).0, Code::InvalidRequest);
    assert_eq!(refused::<Rotation>("[]").0, Code::InvalidRequest);
    assert_eq!(refused::<NewMember>("[").0, Code::InvalidJson);
    assert_eq!(refused::<NewMember>("").0, Code::InvalidJson);
    assert_eq!(refused::<NewMember>(r#"{"name":"a"} x"#).0, Code::InvalidJson);
}

#[test]
fn long_values_are_truncated_in_errors() {
    let long = "x".repeat(100_000);
    let (_, message, _) = refused::<TopUp>(&format!(r#"{{"amount_micros":"{long}"}}"#));
    assert_eq!(message.chars().count(), MAX_MESSAGE_CHARS);
    let (_, message, param) = refused::<TopUp>(&format!(r#"{{"{long}":1}}"#));
    assert_eq!(message.chars().count(), MAX_MESSAGE_CHARS);
    assert_eq!(param.unwrap().len(), MAX_NAME_CHARS);
}

#[test]
fn list_limits_are_bounded() {
    let limit = |query| PageQuery::read(Some(query), "after").map(|page| page.limit);
    assert_eq!(limit("").unwrap(), DEFAULT_LIMIT);
    assert_eq!(limit("limit=200").unwrap(), MAX_LIMIT);
    for wrong in ["limit=0", "limit=201", "limit=", "limit=x", "limit=-1", "before=1", "x"] {
        assert_eq!(limit(wrong).unwrap_err().code(), Code::InvalidRequest, "{wrong}");
    }
}

#[test]
fn tokens_are_compared() {
    assert!(is_same("a long token", "a long token"));
    assert!(!is_same("a long token", "a long toke"));
    assert!(!is_same("a long token", ""));
}
