//! Errors in the shape of the Messages API.

use serde_json::{Value, json};

pub fn error(kind: &str, message: &str, request_id: Option<&str>) -> Value {
    let mut body = json!({ "type": "error", "error": { "type": kind, "message": message } });
    if let Some(id) = request_id {
        body["request_id"] = id.into();
    }
    body
}

pub fn error_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        503 | 529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}
