//! Tests of `error`.

use super::*;

#[test]
fn error_bodies_always_have_four_keys() {
    let body = ErrorBody {
        error: ErrorDetail {
            message: "no".into(),
            kind: Code::NotFound.kind().into(),
            param: None,
            code: None,
            request_id: None,
            needed_micros: None,
            available_micros: None,
            scope: None,
            resets_at: None,
        },
    };
    assert_eq!(
        serde_json::to_string(&body).unwrap(),
        r#"{"error":{"message":"no","type":"invalid_request_error","param":null,"code":null}}"#
    );
}

#[test]
fn error_codes_are_unique() {
    let mut words: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), Code::ALL.len());
}
