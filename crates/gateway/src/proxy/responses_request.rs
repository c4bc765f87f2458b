//! A request of the responses interface, and its form for each kind of upstream.
//!
//! Upstreams store nothing for us: the items before a response are sent along, so that any upstream
//! can continue the answer of another one.

use api_dialects::{ToolTable, Translated, anthropic, responses};
use serde_json::{Map, Value, json};

use super::chat_request::{AnswerReader, ChatRequest, UpstreamRequest};
use super::native::{NativeWatch, Ours};
use super::stage::{Bridge, Stage};
use super::whole::{BridgedReader, Shape, WholeReader, new_id};
use crate::catalogue::Target;
use crate::config::{Kind, Responses};
use crate::failure::ApiError;
use crate::provider::{CHAT_PATH, RESPONSES_PATH};
use crate::raw_object::is_like;

/// Fields that are not passed on: we set them, or they concern only the member and us.
const OURS: [&str; 5] = ["model", "store", "stream", "background", "previous_response_id"];

pub(crate) struct ResponsesRequest {
    pub(crate) chat: ChatRequest,
    pub(crate) fields: Map<String, Value>,
    /// The items of earlier responses, oldest first.
    pub(crate) earlier: Vec<Value>,
    pub(crate) shape: responses::Shape,
    /// Our fields of the response object.
    pub(crate) ours: Ours,
}

impl ResponsesRequest {
    /// The request for a target.
    pub(crate) fn for_target(&self, target: &Target) -> Result<UpstreamRequest, ApiError> {
        match target.provider.responses.get() {
            Responses::Auto | Responses::Native => Ok(self.native(target)),
            Responses::Bridged => self.bridged(target),
        }
    }

    fn native(&self, target: &Target) -> UpstreamRequest {
        let mut fields = self.fields.clone();
        fields.retain(|key, _| !OURS.iter().any(|name| is_like(key, name)));
        fields.insert("model".to_owned(), target.name.as_str().into());
        fields.insert("store".to_owned(), false.into());
        fields.insert("stream".to_owned(), self.chat.is_streamed.into());
        if self.fields.contains_key("previous_response_id") {
            let earlier = self.earlier.iter().filter_map(sendable);
            let input: Vec<Value> = earlier.chain(own_input(&self.fields)).collect();
            fields.insert("input".to_owned(), input.into());
        }
        let reader = if self.chat.is_streamed {
            AnswerReader::Stream(Stage::Native(Box::new(NativeWatch::new(self.ours.clone()))))
        } else {
            AnswerReader::Whole(WholeReader::Native(self.ours.clone()))
        };
        let body = Value::Object(fields).to_string().into();
        UpstreamRequest { path: RESPONSES_PATH, body, reader, header: None }
    }

    fn bridged(&self, target: &Target) -> Result<UpstreamRequest, ApiError> {
        let Translated { chat: mut body, tools } =
            responses::request(&self.fields, &self.earlier)?.without_web_search();
        body.retain(|key, _| !OURS.iter().any(|name| is_like(key, name)));
        body.insert("model".to_owned(), target.name.as_str().into());
        body.insert("stream".to_owned(), self.chat.is_streamed.into());
        if target.provider.kind == Kind::Anthropic {
            let request = self.chat.messages(&body, target)?;
            let reader = self.bridge(request.reader, tools, Some(self.chat.stream()));
            return Ok(UpstreamRequest { reader, ..request });
        }
        if self.chat.is_streamed && target.provider.stream_usage {
            body.insert("stream_options".to_owned(), json!({"include_usage": true}));
        }
        let whole = AnswerReader::Whole(WholeReader::Chat { model: None });
        let reader = self.bridge(whole, tools, None);
        let body = Value::Object(body).to_string().into();
        Ok(UpstreamRequest { path: CHAT_PATH, body, reader, header: None })
    }

    fn bridge(
        &self,
        reader: AnswerReader,
        tools: ToolTable,
        anthropic: Option<anthropic::Stream>,
    ) -> AnswerReader {
        match reader {
            AnswerReader::Whole(from) if !self.chat.is_streamed => {
                let shape = Shape::Response(self.shape.clone());
                let bridged = BridgedReader { from, shape, tools };
                AnswerReader::Whole(WholeReader::Bridged(Box::new(bridged)))
            }
            _ => {
                let bridge = responses::Stream::new(self.shape.clone(), tools, new_id);
                let bridge = Some(Bridge::Responses(bridge));
                AnswerReader::Stream(Stage::translated(anthropic, bridge, self.chat.watch()))
            }
        }
    }
}

/// The input of the request as items.
fn own_input(fields: &Map<String, Value>) -> Vec<Value> {
    match fields.get("input") {
        Some(Value::String(text)) => vec![json!({"role": "user", "content": text})],
        Some(Value::Array(items)) => items.clone(),
        _ => Vec::new(),
    }
}

/// An earlier item for an upstream that has not stored it: without its id, and `None` if it is
/// useless without it.
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
