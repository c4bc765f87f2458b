//! Tests of `refusal`.

use super::*;

fn of(status: StatusCode, has_json: bool, body: &'static str) -> (u16, Value) {
    let asked = OriginalRequest { has_json, body: Bytes::from_static(body.as_bytes()) };
    let (status, text) = message(status, "why", &asked);
    (status.as_u16(), serde_json::from_str(&text).unwrap())
}

#[test]
fn unreadable_bodies_get_distinct_errors() {
    for (body, code, reason, id) in [
        ("{", -32700, "the body is not valid JSON", json!(null)),
        ("", -32700, "the body is not valid JSON", json!(null)),
        ("[]", -32600, "there are no batches", json!(null)),
        (r#"{"id":7}"#, -32600, "the body is not a JSON-RPC message", json!(7)),
        (r#"{"id":"a"}"#, -32600, "the body is not a JSON-RPC message", json!("a")),
        (r#"{"id":1.5}"#, -32600, "the body is not a JSON-RPC message", json!(null)),
    ] {
        let (status, told) = of(StatusCode::UNSUPPORTED_MEDIA_TYPE, true, body);
        assert_eq!((status, &told["error"]["code"]), (400, &json!(code)), "{body}");
        assert!(told["error"]["message"].as_str().unwrap().starts_with(reason), "{told}");
        assert_eq!(told.get("id"), Some(&id), "{body}");
    }
}

#[test]
fn other_rejections_keep_status_and_reason() {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for status in [StatusCode::NOT_ACCEPTABLE, StatusCode::UNSUPPORTED_MEDIA_TYPE] {
        let told = json!({"jsonrpc": "2.0", "id": 1,
            "error": {"code": -32600, "message": "why"}});
        assert_eq!(of(status, false, body), (status.as_u16(), told));
    }
}
