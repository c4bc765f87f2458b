//! The three interfaces: which one a request came by, and the forms each gives to the same things.

use serde_json::{Value, json};

use super::answer::Answer;
use super::ask::Ask;
use super::{anthropic, chat, responses};
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

    /// What is wrong with a request, if a real server would refuse it.
    pub(super) fn complaint(self, body: &Value, request: &Request) -> Option<String> {
        if !body.is_object() {
            return Some("We could not parse the JSON body of your request.".to_owned());
        }
        match self {
            Self::Chat => chat::complaint(body),
            Self::Responses => responses::complaint(body),
            Self::Messages => anthropic::complaint(body, request),
        }
    }

    /// The whole answer to the request of this number.
    pub(super) fn whole(self, number: usize, ask: &Ask, answer: &Answer) -> Value {
        match self {
            Self::Chat => chat::whole(number, ask, answer),
            Self::Responses => responses::whole(number, ask, answer),
            Self::Messages => anthropic::whole(number, ask, answer),
        }
    }

    /// The same as a stream.
    pub(super) fn events(self, number: usize, ask: &Ask, answer: &Answer) -> Vec<Event> {
        match self {
            Self::Chat => chat::events(number, ask, answer),
            Self::Responses => responses::events(number, ask, answer),
            Self::Messages => anthropic::events(number, ask, answer),
        }
    }

    /// An error as the body of an answer.
    pub(super) fn error(self, status: u16, message: &str) -> Value {
        match self {
            Self::Messages => anthropic::error(status, message),
            Self::Chat | Self::Responses => chat::error(status, message),
        }
    }

    /// An error inside a stream.
    pub(super) fn error_event(self, message: &str) -> Event {
        match self {
            Self::Chat => Event::data(Part::Closing, &chat::error(500, message)),
            Self::Responses => Event::named(
                Part::Closing,
                &json!({"type": "error", "code": "server_error", "message": message,
                    "param": null, "sequence_number": 99}),
            ),
            Self::Messages => Event::named(Part::Closing, &anthropic::error(529, message)),
        }
    }

    /// The list of models.
    pub(super) fn models(self, models: &[String]) -> Value {
        if self == Self::Messages {
            return anthropic::models(models);
        }
        let data: Vec<Value> = models
            .iter()
            .map(|id| {
                json!({"id": id, "object": "model", "created": CREATED, "owned_by": "upstream"})
            })
            .collect();
        json!({"object": "list", "data": data})
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
