//! A request of the responses interface, and its form for each kind of upstream.
//!
//! Upstreams store nothing for us: the items before a response are sent along, so that any upstream
//! can continue the answer of another one.

use api_dialects::{messages, responses};
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::chat_request::{AnswerReader, ChatRequest, UpstreamRequest};
use super::native::{NativeWatch, Ours};
use super::rounds::{Bridge, BridgedReader, RoundRequest, Rounds, Searcher, searcher_for};
use super::stage::Stage;
use super::whole::{CompactionReader, WholeReader, new_id};
use crate::catalogue::Target;
use crate::clock;
use crate::config::{Kind, Responses};
use crate::failure::ApiResult;
use crate::provider::{COMPACT_PATH, RESPONSES_PATH};
use crate::raw_object::is_like;

/// Fields that are not passed on: we set them, or they concern only the member and us.
const OURS: [&str; 5] = ["model", "store", "stream", "background", "previous_response_id"];

pub(crate) struct ResponsesRequest {
    pub(crate) chat: ChatRequest,
    pub(crate) fields: Map<String, Value>,
    /// The items of earlier responses, oldest first.
    pub(crate) earlier: Vec<Value>,
    pub(crate) shape: responses::Shape,
    pub(crate) ours: Ours,
    pub(crate) searcher: Option<Searcher>,
}

impl ResponsesRequest {
    pub(crate) fn for_target(&self, target: &Target) -> ApiResult<UpstreamRequest> {
        match target.provider.responses.get() {
            Responses::Auto | Responses::Native => Ok(self.native(target)),
            Responses::Bridged => self.bridged(target),
        }
    }

    fn native_fields(&self, target: &Target) -> Map<String, Value> {
        let mut fields = self.fields.clone();
        fields.retain(|key, _| !OURS.iter().any(|name| is_like(key, name)));
        fields.insert("model".to_owned(), target.name.as_str().into());
        if self.fields.contains_key("previous_response_id") {
            let earlier = self.earlier.iter().filter_map(sendable);
            let input: Vec<Value> = earlier.chain(own_input(&self.fields)).collect();
            fields.insert("input".to_owned(), input.into());
        }
        if let Some(Value::Array(items)) = fields.get_mut("input") {
            items.iter_mut().for_each(responses::reveal_summary);
        }
        fields
    }

    pub(crate) fn compaction_for(&self, target: &Target) -> ApiResult<UpstreamRequest> {
        if target.provider.responses.get() == Responses::Native {
            let body = Value::Object(self.native_fields(target)).to_string().into();
            let model = Value::from(target.name.as_str()).to_string().into();
            let reader = AnswerReader::Whole(WholeReader::Plain { model, content: "output" });
            return Ok(UpstreamRequest { path: COMPACT_PATH, body, reader, header: None });
        }
        let mut chat = responses::compaction_request(&self.fields, &self.earlier)?.chat;
        chat.retain(|key, _| !OURS.iter().any(|name| is_like(key, name)));
        chat.insert("model".to_owned(), target.name.as_str().into());
        let RoundRequest { path, body, reader: from, .. } = round_maker(&self.chat, target)(&chat)?;
        let own = responses::input_items(&self.fields, new_id);
        let input = self.earlier.iter().cloned().chain(own).collect();
        let (id, created) = (new_id("resp"), clock::unix_seconds());
        let reader = CompactionReader { from, input, id, created };
        let reader = AnswerReader::Whole(WholeReader::Compaction(Box::new(reader)));
        Ok(UpstreamRequest { path, body, reader, header: None })
    }

    /// The request to count the tokens of the input, for an upstream that may be able to.
    pub(crate) fn count_for(&self, target: &Target) -> Option<Bytes> {
        let is_native = target.provider.responses.get() == Responses::Native;
        is_native.then(|| Value::Object(self.native_fields(target)).to_string().into())
    }

    pub(crate) fn estimated_tokens(&self) -> ApiResult<u64> {
        let chat = responses::request(&self.fields, &self.earlier)?.chat;
        Ok(messages::estimate_input_tokens(&chat))
    }

    fn native(&self, target: &Target) -> UpstreamRequest {
        let mut fields = self.native_fields(target);
        fields.insert("store".to_owned(), false.into());
        fields.insert("stream".to_owned(), self.chat.is_streamed.into());
        let reader = if self.chat.is_streamed {
            AnswerReader::Stream(Stage::Native(Box::new(NativeWatch::new(self.ours.clone()))))
        } else {
            AnswerReader::Whole(WholeReader::Native(self.ours.clone()))
        };
        let body = Value::Object(fields).to_string().into();
        UpstreamRequest { path: RESPONSES_PATH, body, reader, header: None }
    }

    fn bridged(&self, target: &Target) -> ApiResult<UpstreamRequest> {
        let (searcher, mut translated) =
            searcher_for(self.searcher.as_ref(), responses::request(&self.fields, &self.earlier)?);
        let chat = &mut translated.chat;
        chat.retain(|key, _| !OURS.iter().any(|name| is_like(key, name)));
        chat.insert("model".to_owned(), target.name.as_str().into());
        chat.insert("stream".to_owned(), self.chat.is_streamed.into());
        let is_anthropic = target.provider.kind == Kind::Anthropic;
        if self.chat.is_streamed && target.provider.stream_usage && !is_anthropic {
            chat.insert("stream_options".to_owned(), json!({"include_usage": true}));
        }
        let make = round_maker(&self.chat, target);
        let RoundRequest { path, body, anthropic, reader: from } = make(chat)?;
        let tools = translated.tools.clone();
        let rounds = searcher.map(|it| Rounds::new(it, translated, Box::new(make)));
        let bridge = Bridge::Responses(responses::Stream::new(self.shape.clone(), tools, new_id));
        let watch = self.chat.is_streamed.then(|| self.chat.watch());
        let reader = BridgedReader { from, bridge, rounds }.reader(anthropic, watch);
        Ok(UpstreamRequest { path, body, reader, header: None })
    }
}

fn round_maker(
    own: &ChatRequest,
    target: &Target,
) -> impl Fn(&Map<String, Value>) -> ApiResult<RoundRequest> + Send + Sync + 'static {
    let (own, target) = (own.clone(), target.clone());
    move |chat| {
        if target.provider.kind != Kind::Anthropic {
            return Ok(RoundRequest::chat(chat));
        }
        let UpstreamRequest { path, body, .. } = own.messages(chat, &target)?;
        let (anthropic, reader) = (Some(own.stream()), own.message_reader());
        Ok(RoundRequest { path, body, anthropic, reader })
    }
}

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
