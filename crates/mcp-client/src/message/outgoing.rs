//! Serialization of our messages, without an intermediate tree of values.

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

use super::RpcError;

/// The `params` of a request: fields in insertion order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Params {
    /// `"key":value` pairs joined by commas.
    fields: String,
}

impl Params {
    /// Adds a field. A value that is not representable in JSON (a map with other keys than strings)
    /// becomes null.
    #[must_use]
    pub(crate) fn with(self, key: &str, value: &(impl Serialize + ?Sized)) -> Self {
        let json = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
        self.with_raw(key, &json)
    }

    #[must_use]
    pub(crate) fn with_raw(mut self, key: &str, json: &str) -> Self {
        if !self.fields.is_empty() {
            self.fields.push(',');
        }
        self.fields.reserve(key.len() + json.len() + 4);
        push_string(&mut self.fields, key);
        self.fields.push(':');
        self.fields.push_str(json);
        self
    }
}

/// The `_meta` of a request: the fields that all requests of a session share, and the progress
/// token.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestMeta<'a> {
    /// `"key":value` pairs joined by commas.
    pub(crate) common: &'a str,
    pub(crate) progress_token: Option<u64>,
}

pub(crate) fn request(id: u64, method: &str, params: &Params, meta: RequestMeta<'_>) -> Bytes {
    message(Some(id), method, params, meta)
}

pub(crate) fn notification(method: &str, params: &Params) -> Bytes {
    message(None, method, params, RequestMeta::default())
}

/// The line feed ends a message on stdio and is white space to the other transports.
fn message(id: Option<u64>, method: &str, params: &Params, meta: RequestMeta<'_>) -> Bytes {
    let mut text =
        String::with_capacity(96 + method.len() + params.fields.len() + meta.common.len());
    text.push_str("{\"jsonrpc\":\"2.0\",");
    if let Some(id) = id {
        text.push_str(&format!("\"id\":{id},"));
    }
    text.push_str("\"method\":");
    push_string(&mut text, method);
    let has_meta = meta.progress_token.is_some() || !meta.common.is_empty();
    if has_meta || !params.fields.is_empty() {
        text.push_str(",\"params\":{");
        text.push_str(&params.fields);
        if has_meta {
            push_meta(&mut text, meta, params.fields.is_empty());
        }
        text.push('}');
    }
    text.push_str("}\n");
    Bytes::from(text)
}

fn push_meta(text: &mut String, meta: RequestMeta<'_>, first: bool) {
    if !first {
        text.push(',');
    }
    text.push_str("\"_meta\":{");
    text.push_str(meta.common);
    if let Some(token) = meta.progress_token {
        if !meta.common.is_empty() {
            text.push(',');
        }
        text.push_str("\"progressToken\":");
        text.push_str(&token.to_string());
    }
    text.push('}');
}

pub(crate) fn reply_result(id: &str, result: &Value) -> Bytes {
    Bytes::from(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n"))
}

pub(crate) fn reply_error(id: &str, error: &RpcError) -> Bytes {
    let body = serde_json::to_value(error).unwrap_or_default();
    Bytes::from(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{body}}}\n"))
}

fn push_string(text: &mut String, value: &str) {
    // A string always serializes.
    text.push_str(&serde_json::to_string(value).unwrap_or_default());
}
