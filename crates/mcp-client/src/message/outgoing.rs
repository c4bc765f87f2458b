//! Serialization of our messages, without an intermediate tree of values.

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

use super::RpcError;

/// The `params` of a request, or other fields of a message, in insertion order.
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
        self.fields.push_str(&Value::from(key).to_string());
        self.fields.push(':');
        self.fields.push_str(json);
        self
    }

    /// Adds an object with these fields, unless it is empty.
    #[must_use]
    pub(crate) fn with_object(self, key: &str, object: &Self) -> Self {
        match object.fields.as_str() {
            "" => self,
            fields => self.with_raw(key, &format!("{{{fields}}}")),
        }
    }

    /// The line feed ends a message on stdio and is white space to the other transports.
    fn into_bytes(self) -> Bytes {
        Bytes::from(format!("{{{}}}\n", self.fields))
    }
}

/// A request; `meta` are the fields of its `_meta`.
pub(crate) fn request(id: u64, method: &str, params: &Params, meta: &Params) -> Bytes {
    let params = params.clone().with_object("_meta", meta);
    message().with("id", &id).with("method", method).with_object("params", &params).into_bytes()
}

pub(crate) fn notification(method: &str, params: &Params) -> Bytes {
    message().with("method", method).with_object("params", params).into_bytes()
}

pub(crate) fn reply(id: &str, answer: &Result<Value, RpcError>) -> Bytes {
    let message = message().with_raw("id", id);
    let message = match answer {
        Ok(result) => message.with("result", result),
        Err(error) => message.with("error", error),
    };
    message.into_bytes()
}

fn message() -> Params {
    Params::default().with("jsonrpc", "2.0")
}
