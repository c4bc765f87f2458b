//! JSON-RPC messages over raw values: read leniently, written exactly.
//!
//! A message is only taken apart as far as routing needs: who it answers, or what it asks. What it
//! carries stays raw ([`Payload`]) and is decoded by whoever asked. Nothing a peer sends is an
//! error here: what cannot be understood comes out as [`Incoming::Malformed`] or
//! [`Incoming::Noise`], with the id it answers if that can be read at all.

mod envelope;
mod outgoing;
mod salvage;

use std::fmt;

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;

pub(crate) use outgoing::{Meta, Params, notification, reply_error, reply_result, request};
pub(crate) use salvage::answered_id;

/// The most of a peer's own words that is kept of one error; less is shown.
const MAX_PEER_MESSAGE_BYTES: usize = 64 * 1024;
/// The most messages taken from one batch.
const MAX_BATCH: usize = 1000;

/// Raw JSON text, valid UTF-8, shared with the bytes it arrived in.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload(Bytes);

impl Payload {
    /// The JSON text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("null")
    }

    /// The whole as a value; null if it cannot be one.
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.0).unwrap_or(Value::Null)
    }

    /// Any JSON value as a payload.
    pub fn of(value: &Value) -> Self {
        Self(Bytes::from(value.to_string()))
    }

    fn slice(whole: &Bytes, part: &RawValue) -> Self {
        Self(whole.slice_ref(part.get().as_bytes()))
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({} bytes)", self.0.len())
    }
}

/// An error a peer answered with.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    /// Its code; 0 when the peer gave none that is an integer.
    pub code: i64,
    /// The peer's words, bounded.
    pub peer_message: String,
    /// What else it said.
    pub data: Option<Value>,
}

impl RpcError {
    /// `HeaderMismatch` of the stateless revision.
    pub const HEADER_MISMATCH: i64 = -32020;
    /// `MissingRequiredClientCapability` of the stateless revision.
    pub const MISSING_CAPABILITY: i64 = -32021;
    /// `UnsupportedProtocolVersion` of the stateless revision.
    pub const UNSUPPORTED_VERSION: i64 = -32022;
    /// JSON-RPC: no such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// JSON-RPC: bad parameters.
    pub const INVALID_PARAMS: i64 = -32602;
    /// JSON-RPC: the peer's own failure.
    pub const INTERNAL: i64 = -32603;

    /// An error of ours, to answer a peer with.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, peer_message: message.into(), data: None }
    }

    /// Whether only a server of the stateless revision answers like this.
    pub fn is_modern(&self) -> bool {
        matches!(
            self.code,
            Self::HEADER_MISMATCH | Self::MISSING_CAPABILITY | Self::UNSUPPORTED_VERSION
        )
    }

    /// The protocol versions it says it supports.
    pub fn supported_versions(&self) -> Vec<String> {
        let listed = self.data.as_ref().and_then(|data| data.get("supported"));
        let listed = listed.and_then(Value::as_array);
        let words = listed.into_iter().flatten().filter_map(Value::as_str);
        words.map(str::to_owned).collect()
    }

    fn lenient(error: &RawValue) -> Self {
        let value: Value = serde_json::from_str(error.get()).unwrap_or(Value::Null);
        let (code, message, data) = match &value {
            Value::Object(fields) => {
                let code = fields.get("code");
                let number = code.and_then(|code| {
                    code.as_i64()
                        .or_else(|| code.as_str()?.trim().parse().ok())
                        .or_else(|| whole(code.as_f64()?))
                });
                let message = match fields.get("message") {
                    Some(Value::String(words)) => words.clone(),
                    Some(other) if !other.is_null() => other.to_string(),
                    _ => "the server gave no message".to_owned(),
                };
                (number.unwrap_or(0), message, fields.get("data").cloned())
            }
            Value::String(words) => (0, words.clone(), None),
            other => (0, other.to_string(), None),
        };
        Self { code, peer_message: bounded(&message), data }
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", self.peer_message.trim(), self.code)
    }
}

/// One message of a peer.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    /// The answer to a request of ours.
    Answer { id: u64, outcome: Result<Payload, RpcError> },
    /// A request to us. The id is the peer's, verbatim.
    Request { id: Payload, method: String, params: Option<Payload> },
    /// Something it tells us.
    Notification { method: String, params: Option<Payload> },
    /// An error that does not say what it answers.
    Stray { error: RpcError },
    /// JSON that is no message, or an answer without an outcome.
    Malformed { id: Option<u64>, reason: &'static str },
    /// Not JSON at all: a banner, a log line.
    Noise,
}

impl Incoming {
    /// Whether it is a message by all signs, and not a piece of one.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self, Self::Answer { .. } | Self::Request { .. } | Self::Notification { .. })
    }
}

/// Takes one line, body or event apart and hands out its messages in order.
pub(crate) fn read(text: &Bytes, mut each: impl FnMut(Incoming)) {
    let start = text.iter().position(|byte| !byte.is_ascii_whitespace());
    match start.map(|start| text[start]) {
        Some(b'{') => objects(text, &mut each),
        Some(b'[') => batch(text, &mut each),
        // A byte order mark in front of JSON.
        Some(0xEF) if text.starts_with(b"\xEF\xBB\xBF") => read(&text.slice(3..), each),
        Some(_) => each(Incoming::Noise),
        None => {}
    }
}

/// Reads a text that is exactly one message, as nearly all are; otherwise nothing is handed out.
pub(crate) fn read_one(text: &Bytes) -> Option<Incoming> {
    envelope::parse(text).ok().map(|envelope| envelope.classify(text))
}

fn batch(text: &Bytes, each: &mut impl FnMut(Incoming)) {
    match serde_json::from_slice::<Vec<&RawValue>>(text) {
        Ok(parts) => {
            for part in parts.into_iter().take(MAX_BATCH) {
                each(one(&text.slice_ref(part.get().as_bytes())));
            }
        }
        Err(_) if looks_like_messages(text) => {
            each(Incoming::Malformed { id: answered_id(text), reason: "a broken batch" });
        }
        Err(_) => each(Incoming::Noise),
    }
}

/// `[info] listening` is a log line, `[{"jsonrpc"…` was meant to be a batch.
fn looks_like_messages(text: &[u8]) -> bool {
    let mut bytes = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    bytes.next() == Some(&b'[') && bytes.next() == Some(&b'{')
}

fn one(text: &Bytes) -> Incoming {
    match envelope::parse(text) {
        Ok(envelope) => envelope.classify(text),
        Err(_) => repaired(text),
    }
}

/// An object, or several on one line.
fn objects(text: &Bytes, each: &mut impl FnMut(Incoming)) {
    if let Some(message) = read_one(text) {
        return each(message);
    }
    let parts = serde_json::Deserializer::from_slice(text).into_iter::<&RawValue>();
    match parts.take(MAX_BATCH).collect::<Result<Vec<_>, _>>() {
        Ok(parts) if parts.len() > 1 => {
            for part in parts {
                each(one(&text.slice_ref(part.get().as_bytes())));
            }
        }
        _ => each(repaired(text)),
    }
}

/// Whether a text is the beginning of a message that goes on in the next line.
pub(crate) fn is_beginning(text: &[u8]) -> bool {
    let start = text.trim_ascii_start();
    let braces = start.first() == Some(&b'{') || looks_like_messages(start) || start == b"[";
    braces && serde_json::from_slice::<&RawValue>(text).is_err_and(|error| error.is_eof())
}

/// Bytes that are not UTF-8 are replaced; what still is no JSON is told with the id it answers.
fn repaired(text: &Bytes) -> Incoming {
    if std::str::from_utf8(text).is_err() {
        let replaced = Bytes::from(String::from_utf8_lossy(text).into_owned());
        if let Ok(envelope) = envelope::parse(&replaced) {
            return envelope.classify(&replaced);
        }
    }
    match answered_id(text) {
        Some(id) => Incoming::Malformed { id: Some(id), reason: "not valid JSON" },
        None if text.windows(9).any(|part| part == b"\"jsonrpc\"") => {
            Incoming::Malformed { id: None, reason: "not valid JSON" }
        }
        None => Incoming::Noise,
    }
}

/// Our ids are whole numbers; peers send them back as numbers, floats or strings.
fn own_id(id: &RawValue) -> Option<u64> {
    let text = id.get();
    text.parse().ok().or_else(|| match serde_json::from_str(text).ok()? {
        Value::String(digits) => digits.trim().parse().ok(),
        Value::Number(number) => u64::try_from(whole(number.as_f64()?)?).ok(),
        _ => None,
    })
}

#[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 9.0e15).then_some(number as i64)
}

/// The first bytes of a peer's words, cut between characters.
pub(crate) fn bounded(words: &str) -> String {
    head(words, MAX_PEER_MESSAGE_BYTES)
}

/// At most `limit` bytes of `words`, cut between characters, with a mark if something was cut.
pub(crate) fn head(words: &str, limit: usize) -> String {
    if words.len() <= limit {
        return words.to_owned();
    }
    let end = (0..=limit).rev().find(|end| words.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &words[..end])
}

#[cfg(test)]
mod tests;
