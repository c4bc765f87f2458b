//! Tests of `response`.

use super::*;

#[test]
fn a_failed_body_keeps_its_other_fields() {
    let body = failed_body("resp_1", br#"{"id":"resp_1","status":"queued","model":"m"}"#);
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&body["model"], &body["status"]), (&json!("m"), &json!("failed")));
    assert_eq!(body["error"]["code"], "server_error");
}

#[test]
fn an_invalid_body_is_replaced() {
    for body in [&b""[..], b"[]", b"{"] {
        let body: serde_json::Value = serde_json::from_slice(&failed_body("resp_1", body)).unwrap();
        assert_eq!((&body["id"], &body["status"]), (&json!("resp_1"), &json!("failed")));
    }
}
