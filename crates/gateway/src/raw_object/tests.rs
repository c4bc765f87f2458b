//! Tests of `raw_object`.

use super::*;

fn rewritten(body: &str, changes: &[(&str, Option<&str>)]) -> String {
    String::from_utf8(RawObject::parse(body.as_bytes()).unwrap().rewrite(changes)).unwrap()
}

#[test]
fn unchanged_fields_keep_their_text() {
    let body = r#"{"model":"a","n": 1.10, "x y":[1, {"b":"\u0041"}],"big":12345678901234567890}"#;
    assert_eq!(
        rewritten(body, &[("model", Some("\"b\"")), ("new", Some("true")), ("gone", None)]),
        r#"{"n":1.10,"x y":[1, {"b":"\u0041"}],"big":12345678901234567890,"model":"b","new":true}"#
    );
}

#[test]
fn duplicate_fields_are_replaced_together() {
    let body = r#"{"model":"a","mod\u0065l":"c","x":1}"#;
    let object = RawObject::parse(body.as_bytes()).unwrap();
    assert_eq!(object.read::<String>("model", "a string").unwrap(), Some("c".to_owned()));
    assert_eq!(rewritten(body, &[("model", Some("\"b\""))]), r#"{"x":1,"model":"b"}"#);
}

#[test]
fn case_variants_of_a_changed_field_are_removed() {
    let body = r#"{"Model":"a","STREAM":true,"\u017ftream":true,"streams":1,"upſtream":2}"#;
    assert_eq!(
        rewritten(body, &[("model", Some("\"b\"")), ("stream", Some("false"))]),
        r#"{"streams":1,"upſtream":2,"model":"b","stream":false}"#
    );
}

#[test]
fn too_many_fields_or_values_are_rejected() {
    let many = format!("{{{}\"x\":1}}", "\"\":0,".repeat(MAX_FIELDS));
    let error = RawObject::parse(many.as_bytes()).err().unwrap();
    assert_eq!(error.message(), "the body has more than 1000 fields");
    let list = |count: usize| format!("{{\"a\":[{}0]}}", "0,".repeat(count));
    assert!(tree(list(MAX_VALUES - 10).as_bytes()).is_ok());
    let error = tree(list(MAX_VALUES).as_bytes()).unwrap_err();
    assert_eq!(error.message(), "the body has more than 200000 values");
    // Commas in a text are no values.
    let text = format!("{{\"a\":\"{}\\\",\"}}", ",".repeat(3 * MAX_VALUES));
    assert!(tree(text.as_bytes()).is_ok());
}

#[test]
fn null_equals_a_missing_field() {
    let object = RawObject::parse(br#"{"stream":null}"#).unwrap();
    assert_eq!(object.read::<bool>("stream", "a boolean").unwrap(), None);
}

#[test]
fn invalid_json_differs_from_other_values() {
    let code = |body: &[u8]| RawObject::parse(body).err().unwrap().code();
    assert_eq!(code(b"[]"), Code::InvalidRequest);
    assert_eq!(code(b"\"a\""), Code::InvalidRequest);
    assert_eq!(code(b"{\"a\":"), Code::InvalidJson);
    assert_eq!(code(b""), Code::InvalidJson);
    assert_eq!(code(b"{\"a\":\"\xff\"}"), Code::InvalidJson);
    assert_eq!(code(b"{} x"), Code::InvalidJson);
}

#[test]
fn a_wrong_type_names_the_field() {
    let object = RawObject::parse(br#"{"model":5}"#).unwrap();
    let error = object.read::<String>("model", "a string").unwrap_err();
    assert_eq!(error.message(), "`model` must be a string");
}
