//! The three dialects of the model API, and the events of their streams.

use serde_json::Value;

use crate::http::Request;

/// When everything here was made, in seconds.
pub(super) const CREATED: u64 = 1_750_000_000;

/// An interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Chat,
    Responses,
    Messages,
}

/// An event of a stream, and where it stands in it.
#[derive(Debug, Clone)]
pub(super) struct Event {
    pub(super) part: Part,
    /// As it goes over the wire, with the empty line at its end.
    pub(super) text: String,
}

/// Where an event stands in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Before there is any content.
    Opening,
    /// A piece of the content.
    Piece,
    /// After the content.
    Closing,
    /// What says that the stream is whole.
    End,
}

impl Event {
    /// An event that is data alone.
    pub(super) fn data(part: Part, data: &Value) -> Self {
        Self { part, text: format!("data: {data}\n\n") }
    }

    /// An event with the name that is also the type of its data.
    pub(super) fn named(part: Part, data: &Value) -> Self {
        let name = data["type"].as_str().unwrap_or_default();
        Self { part, text: format!("event: {name}\ndata: {data}\n\n") }
    }
}

impl Dialect {
    /// The interface of a path; what both have is told apart by the header that one of them demands.
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
