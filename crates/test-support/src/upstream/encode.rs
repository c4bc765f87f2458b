//! Answers, errors and model lists in the form of each dialect.

use serde_json::{Value, json};

use super::dialect::{CREATED, Dialect, Event, EventPosition};
use super::generated_answer::GeneratedAnswer;
use super::{anthropic, chat, responses};
use crate::http::Request;

impl Dialect {
    /// Why a real server would reject the request, if it would.
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

    pub(super) fn whole(self, answer: &GeneratedAnswer<'_>) -> Value {
        match self {
            Self::Chat => chat::whole(answer),
            Self::Responses => responses::whole(answer),
            Self::Messages => anthropic::whole(answer),
        }
    }

    /// The same as a stream.
    pub(super) fn events(self, answer: &GeneratedAnswer<'_>) -> Vec<Event> {
        match self {
            Self::Chat => chat::events(answer),
            Self::Responses => responses::events(answer),
            Self::Messages => anthropic::events(answer),
        }
    }

    pub(super) fn error(self, status: u16, message: &str) -> Value {
        match self {
            Self::Messages => anthropic::error(status, message),
            Self::Chat | Self::Responses => chat::error(status, message),
        }
    }

    pub(super) fn error_event(self, message: &str) -> Event {
        match self {
            Self::Chat => Event::data(EventPosition::Closing, &chat::error(500, message)),
            Self::Responses => Event::named(
                EventPosition::Closing,
                &json!({"type": "error", "code": "server_error", "message": message,
                    "param": null, "sequence_number": 99}),
            ),
            Self::Messages => Event::named(EventPosition::Closing, &anthropic::error(529, message)),
        }
    }

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
