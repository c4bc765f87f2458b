//! The three dialects of the model API, and the events of their streams.

use serde_json::Value;

use crate::http::Request;

/// Creation time of all objects, in seconds.
pub(super) const CREATED: u64 = 1_750_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Chat,
    Responses,
    Messages,
}

#[derive(Debug, Clone)]
pub(super) struct Event {
    pub(super) part: EventPosition,
    /// The bytes on the wire, with the empty line at the end.
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventPosition {
    Opening,
    Piece,
    Closing,
    /// The event that marks the stream as complete.
    End,
}

impl Event {
    /// An event with data only.
    pub(super) fn data(part: EventPosition, data: &Value) -> Self {
        Self { part, text: format!("data: {data}\n\n") }
    }

    /// An event whose name is also the type of its data.
    pub(super) fn named(part: EventPosition, data: &Value) -> Self {
        let name = data["type"].as_str().unwrap_or_default();
        Self { part, text: format!("event: {name}\ndata: {data}\n\n") }
    }
}

impl Dialect {
    /// The dialect of a path; `/v1/models` is decided by the header that Anthropic requires.
    pub(super) fn of(path: &str, request: &Request) -> Self {
        match path {
            "/v1/messages" => Self::Messages,
            "/v1/responses" => Self::Responses,
            "/v1/models" if request.header("anthropic-version").is_some() => Self::Messages,
            _ => Self::Chat,
        }
    }
}

/// Arguments come in two pieces, as text does in several.
pub(super) fn halves(text: &str) -> [&str; 2] {
    let mut middle = text.len() / 2;
    while !text.is_char_boundary(middle) {
        middle += 1;
    }
    let (first, second) = text.split_at(middle);
    [first, second]
}
