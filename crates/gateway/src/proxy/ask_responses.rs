//! What a member asked of the responses interface, and the same in an upstream's words.
//!
//! An upstream never stores anything for us: what a response goes on from is sent along, so that
//! any upstream can go on from what another one said.

use serde_json::{Map, Value, json};

use super::ask::{Ask, CHAT_PATH, Question, RESPONSES_PATH, Reading};
use super::native::{NativeWatch, Ours};
use super::stage::Stage;
use super::whole::{Whole, new_id};
use crate::catalogue::Target;
use crate::config::{Kind, Responses};
use crate::envelope::is_like;
use crate::failure::ApiError;
use crate::translate::{anthropic, responses};

/// What is between the member and us: an upstream is told of it by us, or not at all.
const OURS: [&str; 5] = ["model", "store", "stream", "background", "previous_response_id"];

/// What a member asked of the responses interface.
pub(crate) struct AskResponses {
    pub(crate) ask: Ask,
    pub(crate) fields: Map<String, Value>,
    /// What it goes on from, oldest first.
    pub(crate) earlier: Vec<Value>,
    pub(crate) shape: responses::Shape,
    /// What is ours in the response object.
    pub(crate) ours: Ours,
}

impl AskResponses {
    /// The question for one upstream.
    pub(crate) fn question(&self, target: &Target) -> Result<Question, ApiError> {
        match target.provider.responses.get() {
            Responses::Auto | Responses::Native => Ok(self.native(target)),
            Responses::Bridged => self.bridged(target),
        }
    }

    fn native(&self, target: &Target) -> Question {
        let mut fields = self.fields.clone();
        fields.retain(|key, _| !OURS.iter().any(|name| is_like(key, name)));
        fields.insert("model".to_owned(), target.name.as_str().into());
        fields.insert("store".to_owned(), false.into());
        fields.insert("stream".to_owned(), self.ask.is_streamed.into());
        if self.fields.contains_key("previous_response_id") {
            let earlier = self.earlier.iter().filter_map(sendable);
            let input: Vec<Value> = earlier.chain(own_input(&self.fields)).collect();
            fields.insert("input".to_owned(), input.into());
        }
        let reading = if self.ask.is_streamed {
            Reading::Stream(Stage::Native(Box::new(NativeWatch::new(self.ours.clone()))))
        } else {
            Reading::Whole(Whole::Native(self.ours.clone()))
        };
        let body = Value::Object(fields).to_string().into();
        Question { path: RESPONSES_PATH, body, reading }
    }

    fn bridged(&self, target: &Target) -> Result<Question, ApiError> {
        let mut chat = responses::request(&self.fields, &self.earlier)?;
        chat.retain(|key, _| !OURS.iter().any(|name| is_like(key, name)));
        chat.insert("model".to_owned(), target.name.as_str().into());
        chat.insert("stream".to_owned(), self.ask.is_streamed.into());
        if target.provider.kind == Kind::Anthropic {
            let question = self.ask.messages(&chat, target)?;
            let reading = self.bridge(question.reading, Some(|| self.ask.stream()));
            return Ok(Question { reading, ..question });
        }
        if self.ask.is_streamed && target.provider.stream_usage {
            chat.insert("stream_options".to_owned(), json!({"include_usage": true}));
        }
        let whole = Reading::Whole(Whole::Chat { model: None });
        let reading = self.bridge(whole, None::<fn() -> anthropic::Stream>);
        let body = Value::Object(chat).to_string().into();
        Ok(Question { path: CHAT_PATH, body, reading })
    }

    fn bridge(
        &self,
        reading: Reading,
        anthropic: Option<impl FnOnce() -> anthropic::Stream>,
    ) -> Reading {
        match reading {
            Reading::Whole(from) if !self.ask.is_streamed => {
                let (from, shape) = (Box::new(from), Box::new(self.shape.clone()));
                Reading::Whole(Whole::Bridged { from, shape })
            }
            _ => {
                let bridge = responses::Stream::new(self.shape.clone(), new_id);
                let anthropic = anthropic.map(|stream| stream());
                Reading::Stream(Stage::translated(anthropic, Some(bridge), self.ask.watch()))
            }
        }
    }
}

/// The member's own input as items.
fn own_input(fields: &Map<String, Value>) -> Vec<Value> {
    match fields.get("input") {
        Some(Value::String(text)) => vec![json!({"role": "user", "content": text})],
        Some(Value::Array(items)) => items.clone(),
        _ => Vec::new(),
    }
}

/// An earlier item as an upstream can take it that has not stored it: without its id, and not at
/// all where the id was all that mattered.
fn sendable(item: &Value) -> Option<Value> {
    let mut item = item.as_object()?.clone();
    let is_reasoning = item.get("type").and_then(Value::as_str) == Some("reasoning");
    let is_sealed = item.get("encrypted_content").is_some_and(Value::is_string);
    if is_reasoning && !is_sealed {
        return None;
    }
    item.remove("id");
    item.remove("status");
    Some(Value::Object(item))
}
