//! JSON-RPC messages over raw values: parsed leniently, written exactly.
//!
//! A message is parsed only as far as routing needs: its id, or its method. Its content stays raw
//! ([`RawJson`]) and is decoded by the caller. Parsing never fails: other text becomes
//! [`Message::Malformed`] or [`Message::Noise`], with the id it answers if that can be read at all.

mod outgoing;

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use memchr::memmem;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

pub(crate) use outgoing::{Params, notification, reply, request};

const MAX_PEER_MESSAGE_BYTES: usize = 64 * 1024;
const MAX_BATCH: usize = 1000;

/// Raw JSON text, valid UTF-8, sharing the buffer it was received in.
#[derive(Clone, PartialEq, Eq)]
pub struct RawJson(Bytes);

impl RawJson {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("null")
    }

    /// The parsed value; null if the text is not valid.
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.0).unwrap_or(Value::Null)
    }

    fn slice(whole: &Bytes, part: &RawValue) -> Self {
        Self(whole.slice_ref(part.get().as_bytes()))
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({} bytes)", self.0.len())
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RpcError {
    /// The code; 0 if the peer sent no integer.
    pub code: i64,
    #[serde(rename = "message")]
    pub peer_message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    pub const HEADER_MISMATCH: i64 = -32020;
    pub const MISSING_CAPABILITY: i64 = -32021;
    pub const UNSUPPORTED_VERSION: i64 = -32022;
    pub const METHOD_NOT_FOUND: i64 = -32601;
    pub const INVALID_PARAMS: i64 = -32602;
    pub const INTERNAL: i64 = -32603;

    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, peer_message: message.into(), data: None }
    }

    /// The response to a request that this client does not support.
    pub fn unsupported(method: &str) -> Self {
        let message = format!("this client does not support {method}");
        Self::new(Self::METHOD_NOT_FOUND, message)
    }

    /// Whether only servers of the stateless revision return this code.
    pub fn is_modern(&self) -> bool {
        matches!(
            self.code,
            Self::HEADER_MISMATCH | Self::MISSING_CAPABILITY | Self::UNSUPPORTED_VERSION
        )
    }

    /// The `supported` versions of an `UnsupportedProtocolVersion` error.
    pub fn supported_versions(&self) -> Vec<String> {
        let listed = self.data.as_ref().and_then(|data| data["supported"].as_array());
        let versions = listed.into_iter().flatten().filter_map(Value::as_str);
        versions.map(str::to_owned).collect()
    }

    pub(crate) fn lenient(error: &str) -> Self {
        let value: Value = serde_json::from_str(error).unwrap_or(Value::Null);
        let (code, message, data) = match &value {
            Value::Object(fields) => {
                let number = fields.get("code").and_then(|code| {
                    code.as_i64()
                        .or_else(|| code.as_str()?.trim().parse().ok())
                        .or_else(|| whole_number(code.as_f64()?))
                });
                let message = fields.get("message").filter(|message| !message.is_null());
                let message =
                    message.map_or_else(|| "the server sent no message".to_owned(), plain_text);
                (number.unwrap_or(0), message, fields.get("data").cloned())
            }
            other => (0, plain_text(other), None),
        };
        Self { code, peer_message: truncated_peer_text(&message), data }
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", self.peer_message.trim(), self.code)
    }
}

/// A peer's message. The id of its request is kept verbatim.
#[derive(Debug, PartialEq)]
pub(crate) enum Message {
    Response { id: u64, outcome: Result<RawJson, RpcError> },
    Request { id: RawJson, method: String, params: Option<RawJson> },
    Notification { method: String, params: Option<RawJson> },
    UnattributedError { error: RpcError },
    Malformed { id: Option<u64>, reason: &'static str },
    Noise,
}

impl Message {
    /// Whether it is certainly a complete message.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self, Self::Response { .. } | Self::Request { .. } | Self::Notification { .. })
    }
}

pub(crate) fn parse(text: &Bytes, mut each: impl FnMut(Message)) {
    let start = text.iter().position(|byte| !byte.is_ascii_whitespace());
    match start.map(|start| text[start]) {
        Some(b'{') => objects(text, &mut each),
        Some(b'[') => batch(text, &mut each),
        // A byte order mark before JSON.
        Some(0xEF) if text.starts_with(b"\xEF\xBB\xBF") => parse(&text.slice(3..), each),
        Some(_) => each(Message::Noise),
        None => {}
    }
}

/// Parses a text that is exactly one message, the usual case.
pub(crate) fn parse_single(text: &Bytes) -> Option<Message> {
    // The last of duplicate keys counts.
    let fields: BTreeMap<String, &RawValue> = serde_json::from_slice(text).ok()?;
    Some(classify(&fields, text))
}

fn classify(fields: &BTreeMap<String, &RawValue>, whole: &Bytes) -> Message {
    let present = |key: &str| fields.get(key).copied();
    let not_null = |key: &str| present(key).filter(|value| value.get() != "null");
    let (id, error) = (not_null("id"), not_null("error"));
    // Some peers write every key they know: a message with an outcome is a response.
    let answers = id.is_some() && (not_null("result").is_some() || error.is_some());
    if let Some(method) = not_null("method").filter(|_| !answers) {
        let Ok(method) = serde_json::from_str::<String>(method.get()) else {
            return Message::Malformed { id: None, reason: "`method` is not a string" };
        };
        let params = present("params").map(|params| RawJson::slice(whole, params));
        return match id {
            Some(id) => Message::Request { id: RawJson::slice(whole, id), method, params },
            None => Message::Notification { method, params },
        };
    }
    let outcome = match (error, present("result")) {
        (Some(error), _) => Some(Err(RpcError::lenient(error.get()))),
        (None, Some(result)) => Some(Ok(RawJson::slice(whole, result))),
        (None, None) => None,
    };
    match (id.map(request_id), outcome) {
        (Some(Some(id)), Some(outcome)) => Message::Response { id, outcome },
        (None, Some(Err(error))) => Message::UnattributedError { error },
        (Some(id), None) => {
            Message::Malformed { id, reason: "response with neither result nor error" }
        }
        (Some(None), Some(_)) => {
            Message::Malformed { id: None, reason: "response to an unknown id" }
        }
        (None, _) => Message::Malformed { id: None, reason: "neither a method nor an id" },
    }
}

fn batch(text: &Bytes, each: &mut impl FnMut(Message)) {
    match serde_json::from_slice::<Vec<&RawValue>>(text) {
        Ok(parts) => parse_each(text, parts.into_iter().take(MAX_BATCH), each),
        Err(_) if looks_like_messages(text) => {
            each(Message::Malformed { id: response_id(text), reason: "invalid batch" });
        }
        Err(_) => each(Message::Noise),
    }
}

/// `[info] listening` is a log line, `[{"jsonrpc"…` a broken batch.
fn looks_like_messages(text: &[u8]) -> bool {
    let mut bytes = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    bytes.next() == Some(&b'[') && bytes.next() == Some(&b'{')
}

fn parse_each<'a>(
    text: &Bytes,
    parts: impl IntoIterator<Item = &'a RawValue>,
    each: &mut impl FnMut(Message),
) {
    for part in parts {
        let text = text.slice_ref(part.get().as_bytes());
        each(parse_single(&text).unwrap_or_else(|| recover(&text)));
    }
}

/// One object, or several on one line.
fn objects(text: &Bytes, each: &mut impl FnMut(Message)) {
    if let Some(message) = parse_single(text) {
        return each(message);
    }
    let parts = serde_json::Deserializer::from_slice(text).into_iter::<&RawValue>();
    match parts.take(MAX_BATCH).collect::<Result<Vec<_>, _>>() {
        Ok(parts) if parts.len() > 1 => parse_each(text, parts, each),
        _ => each(recover(text)),
    }
}

/// Whether a text is the start of a message that continues on the next line.
pub(crate) fn is_incomplete(text: &[u8]) -> bool {
    let start = text.trim_ascii_start();
    let braces = start.first() == Some(&b'{') || looks_like_messages(start) || start == b"[";
    braces && serde_json::from_slice::<&RawValue>(text).is_err_and(|error| error.is_eof())
}

/// Replaces invalid UTF-8; text that is still not JSON is malformed, with the id it answers.
fn recover(text: &Bytes) -> Message {
    if std::str::from_utf8(text).is_err() {
        let replaced = Bytes::from(String::from_utf8_lossy(text).into_owned());
        if let Some(message) = parse_single(&replaced) {
            return message;
        }
    }
    match response_id(text) {
        Some(id) => Message::Malformed { id: Some(id), reason: "invalid JSON" },
        None if text.windows(9).any(|part| part == b"\"jsonrpc\"") => {
            Message::Malformed { id: None, reason: "invalid JSON" }
        }
        None => Message::Noise,
    }
}

/// The id of a malformed response; `None` for requests and notifications. Of a long text only both
/// ends are searched: servers write the id first or last.
pub(crate) fn response_id(text: &[u8]) -> Option<u64> {
    const END: usize = 1024;
    if text.len() <= 2 * END {
        return find_id(text);
    }
    find_id(&text[..END]).or_else(|| find_id(&text[text.len() - END..]))
}

fn find_id(text: &[u8]) -> Option<u64> {
    if memmem::find(text, b"\"method\"").is_some() {
        return None;
    }
    memmem::find_iter(text, b"\"id\"").find_map(|at| number_after(&text[at + 4..]))
}

fn number_after(rest: &[u8]) -> Option<u64> {
    let rest = rest.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let rest = rest.strip_prefix(b"\"").unwrap_or(rest);
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&rest[..length]).ok()?.parse().ok()
}

/// Our ids are integers; peers return them as numbers, floats or strings.
fn request_id(id: &RawValue) -> Option<u64> {
    let text = id.get();
    text.parse().ok().or_else(|| match serde_json::from_str(text).ok()? {
        Value::String(digits) => digits.trim().parse().ok(),
        Value::Number(number) => u64::try_from(whole_number(number.as_f64()?)?).ok(),
        _ => None,
    })
}

#[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
fn whole_number(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 9.0e15).then_some(number as i64)
}

/// The text of a string, or the JSON of another value.
pub(crate) fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(crate) fn truncated_peer_text(words: &str) -> String {
    truncated(words, MAX_PEER_MESSAGE_BYTES)
}

/// At most `limit` bytes of `words`, cut at a character boundary and marked if cut.
pub(crate) fn truncated(words: &str, limit: usize) -> String {
    if words.len() <= limit {
        return words.to_owned();
    }
    format!("{}…", &words[..words.floor_char_boundary(limit)])
}

#[cfg(test)]
mod tests;
