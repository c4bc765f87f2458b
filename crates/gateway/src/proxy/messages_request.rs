//! A request of the messages interface, and its form for each kind of upstream.

use std::sync::Arc;

use api_dialects::messages::{self, remove_own_blocks};
use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

use super::chat::ChatWatch;
use super::chat_request::{AnswerReader, UpstreamRequest};
use super::native::MessagesWatch;
use super::rounds::{Bridge, BridgedReader, RoundRequest, Rounds, Searcher, searcher_for};
use super::stage::Stage;
use super::whole::{WholeReader, new_id};
use crate::catalogue::Target;
use crate::config::Kind;
use crate::failure::{ApiError, ApiResult};
use crate::provider::MESSAGES_PATH;
use crate::raw_object::{RawObject, Rest, tree};

pub(crate) const BETA: HeaderName = HeaderName::from_static("anthropic-beta");

pub(crate) struct MessagesRequest {
    pub(crate) body: Bytes,
    /// The body without the fields that we set, if it can be sent unchanged.
    pub(crate) rest: Option<Rest>,
    pub(crate) is_streamed: bool,
    /// The model name for the answer, as JSON.
    pub(crate) model: Arc<str>,
    pub(crate) beta: Option<HeaderValue>,
    pub(crate) searcher: Option<Searcher>,
}

impl MessagesRequest {
    pub(crate) fn for_target(&self, target: &Target) -> ApiResult<UpstreamRequest> {
        match target.provider.kind {
            Kind::Anthropic => self.native(target),
            Kind::OpenAi | Kind::Local => self.bridged(target),
            Kind::Espeak => Err(ApiError::internal()),
        }
    }

    fn native(&self, target: &Target) -> ApiResult<UpstreamRequest> {
        let stream = if self.is_streamed { "true" } else { "false" };
        let model = self.model.clone();
        let reader = if self.is_streamed {
            AnswerReader::Stream(Stage::Messages(Box::new(MessagesWatch::new(model))))
        } else {
            AnswerReader::Whole(WholeReader::NativeMessage { model })
        };
        let header = self.beta.clone().map(|beta| (BETA, beta));
        let own = [("model", Some(&*target.quoted_name)), ("stream", Some(stream))];
        let body = if let Some(rest) = &self.rest {
            rest.with(&own)
        } else {
            let object = RawObject::parse(&self.body)?;
            let messages = self.without_own_blocks(&object)?;
            let messages = messages.as_deref().map(|messages| ("messages", Some(messages)));
            object.rewrite(&own.into_iter().chain(messages).collect::<Vec<_>>())
        };
        Ok(UpstreamRequest { path: MESSAGES_PATH, body: body.into(), reader, header })
    }

    /// The part of a parsed body that can be sent unchanged; `None` if it may have blocks of other
    /// upstreams.
    pub(crate) fn rest_of(object: &RawObject<'_>) -> Option<Rest> {
        let may_send = !object.raw("messages").is_some_and(may_have_own_blocks);
        may_send.then(|| object.without(&["model", "stream"]))
    }

    /// The conversation without blocks of other upstreams, which Anthropic would refuse; `None` if it
    /// has none.
    fn without_own_blocks(&self, object: &RawObject<'_>) -> ApiResult<Option<String>> {
        let messages = object.raw("messages").unwrap_or_default();
        if !may_have_own_blocks(messages) {
            return Ok(None);
        }
        let mut fields = tree(&self.body)?;
        let is_changed = remove_own_blocks(&mut fields);
        Ok(is_changed.then(|| fields.get("messages").map(Value::to_string)).flatten())
    }

    fn bridged(&self, target: &Target) -> ApiResult<UpstreamRequest> {
        let fields: Map<String, Value> = tree(&self.body)?;
        let (searcher, mut translated) =
            searcher_for(self.searcher.as_ref(), messages::request(&fields)?);
        let chat = &mut translated.chat;
        chat.insert("model".to_owned(), target.name.as_str().into());
        chat.insert("stream".to_owned(), self.is_streamed.into());
        chat.remove("stream_options");
        if self.is_streamed && target.provider.stream_usage {
            chat.insert("stream_options".to_owned(), json!({"include_usage": true}));
        }
        let RoundRequest { path, body, reader: from, .. } = RoundRequest::chat(chat);
        let tools = translated.tools.clone();
        let make = |chat: &Map<String, Value>| Ok(RoundRequest::chat(chat));
        let rounds = searcher.map(|it| Rounds::new(it, translated, Box::new(make)));
        let shape = messages::Shape::new(&fields, &new_id("msg"));
        let bridge = Bridge::Messages(messages::Stream::new(shape, tools, new_id));
        let bridged = BridgedReader { from, bridge, rounds };
        let watch = || ChatWatch { wants_usage: true, ..ChatWatch::default() };
        let reader = bridged.reader(None, self.is_streamed.then(watch));
        Ok(UpstreamRequest { path, body, reader, header: None })
    }
}

/// Whether a conversation may have blocks created by another upstream or by us.
fn may_have_own_blocks(messages: &str) -> bool {
    messages.contains("\"signature\"") || messages.contains("\"encrypted_content\"")
}
