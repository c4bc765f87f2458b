//! Request fields that a message repeats, and errors of the Messages API.

use serde_json::{Value, json};

use super::super::fields::{Object, object, text};

/// The id and model of a message, and whether to show thinking.
#[derive(Debug, Clone)]
pub struct Shape {
    id: String,
    model: String,
    pub(super) shows_thinking: bool,
}

impl Shape {
    /// The shape of the answer to a messages request.
    ///
    /// Thinking is shown only to clients that requested it: others expect text first.
    pub fn new(body: &Object, id: &str) -> Self {
        let shows_thinking = object(body, "thinking").is_some_and(|thinking| {
            text(thinking, "type") != Some("disabled")
                && text(thinking, "display") != Some("omitted")
        });
        let model = text(body, "model").unwrap_or_default().to_owned();
        Self { id: id.to_owned(), model, shows_thinking }
    }

    pub(super) fn message(&self, content: Vec<Value>, end: Object, usage: Value) -> Value {
        let mut message = Object::new();
        message.insert("id".into(), self.id.as_str().into());
        message.insert("type".into(), "message".into());
        message.insert("role".into(), "assistant".into());
        message.insert("model".into(), self.model.as_str().into());
        message.insert("content".into(), content.into());
        message.insert("usage".into(), usage);
        message.extend(end);
        message.into()
    }
}

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
