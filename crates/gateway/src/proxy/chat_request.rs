//! A request of the chat interface, and its form for each kind of upstream.

use std::sync::Arc;

use api_dialects::{Untranslatable, anthropic};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderName, HeaderValue};
use ledger::HoldId;
use serde_json::{Map, Value};
use wire::error::Code;

use super::chat::ChatWatch;
use super::rounds::BridgedReader;
use super::stage::Stage;
use super::whole::WholeReader;
use crate::catalogue::Target;
use crate::clock;
use crate::config;
use crate::failure::{ApiError, ApiResult};
use crate::provider::{CHAT_PATH, Failure, MESSAGES_PATH};
use crate::raw_object::{self, RawObject, Rest};
use crate::upstream_pool::RequestBody;

/// The limit for upstreams that require one, if the member set none.
const DEFAULT_MAX_TOKENS: u32 = 8192;

#[derive(Clone)]
pub(crate) struct ChatRequest {
    pub(crate) id: HoldId,
    /// Path at the upstream: chat completions, or the older completions.
    pub(crate) path: &'static str,
    pub(crate) body: Bytes,
    /// The body without the fields that we set; only of a request without a stream.
    pub(crate) rest: Option<Rest>,
    pub(crate) is_streamed: bool,
    pub(crate) wants_usage: bool,
    /// The model name for the answer, as JSON; `None` keeps the upstream's name.
    pub(crate) model: Option<Arc<str>>,
    /// The operator's limit of tokens, if the member set none.
    pub(crate) max_tokens: Option<u64>,
}

/// A request in the form of an upstream, and the reader of its answer.
pub(crate) struct UpstreamRequest {
    pub(crate) path: &'static str,
    pub(crate) body: RequestBody,
    pub(crate) reader: AnswerReader,
    pub(crate) header: Option<(HeaderName, HeaderValue)>,
}

/// Checks the body of an answer before it is charged.
pub(crate) type AnswerCheck =
    Box<dyn FnOnce(Bytes) -> BoxFuture<'static, Result<(), Failure>> + Send>;

pub(crate) enum AnswerReader {
    Stream(Stage),
    Whole(WholeReader),
    Bridged(Box<BridgedReader>),
    Checked(WholeReader, AnswerCheck),
    /// A whole answer if it is JSON; otherwise bytes.
    ByType(WholeReader),
    /// Bytes of any kind, passed on as they arrive.
    Bytes,
}

const OURS: [&str; 2] = ["model", "stream"];

impl ChatRequest {
    /// A chat completion request without a stream.
    pub(crate) fn new(id: HoldId, body: Bytes) -> Self {
        Self {
            id,
            path: CHAT_PATH,
            body,
            rest: None,
            is_streamed: false,
            wants_usage: true,
            model: None,
            max_tokens: None,
        }
    }

    /// The part of a parsed body that can be sent unchanged, of a request without a stream.
    pub(crate) fn rest_of(object: &RawObject<'_>, is_streamed: bool) -> Option<Rest> {
        (!is_streamed).then(|| object.without(&OURS))
    }

    pub(crate) fn for_target(&self, target: &Target) -> ApiResult<UpstreamRequest> {
        match target.provider.kind {
            config::Kind::OpenAi => self.plain_chat(target),
            _ if self.path != CHAT_PATH => Err(unsupported(target, "POST /v1/chat/completions")),
            config::Kind::Local => self.plain_chat(target),
            config::Kind::Anthropic => {
                let chat = raw_object::tree(&self.body)?;
                self.messages(&chat, target)
            }
            config::Kind::Espeak => Err(ApiError::internal()),
        }
    }

    /// The member's body with our `model` and `stream`. `stream` is always written, so that the
    /// upstream cannot take a similar field for it.
    fn plain_chat(&self, target: &Target) -> ApiResult<UpstreamRequest> {
        let max_tokens = self.max_tokens.map(|tokens| tokens.to_string());
        // Only set if the member set no limit.
        let max_tokens = max_tokens.as_deref().map(|tokens| ("max_tokens", Some(tokens)));
        let stream = if self.is_streamed { "true" } else { "false" };
        let own = [("model", Some(target.quoted_name.as_str())), ("stream", Some(stream))];
        let body = if let Some(rest) = &self.rest {
            rest.with(&own.into_iter().chain(max_tokens).collect::<Vec<_>>())
        } else {
            let object = RawObject::parse(&self.body)?;
            let options = (self.is_streamed && target.provider.stream_usage)
                .then(|| stream_options(&object))
                .transpose()?;
            let options = options.as_deref().map(|options| ("stream_options", Some(options)));
            object.rewrite(&own.into_iter().chain(options).chain(max_tokens).collect::<Vec<_>>())
        };
        let reader = if self.is_streamed {
            AnswerReader::Stream(Stage::Chat(self.watch()))
        } else {
            AnswerReader::Whole(WholeReader::Chat { model: self.model.clone() })
        };
        Ok(UpstreamRequest { path: self.path, body: body.into(), reader, header: None })
    }

    pub(crate) fn messages(
        &self,
        chat: &Map<String, Value>,
        target: &Target,
    ) -> ApiResult<UpstreamRequest> {
        let max_tokens = self.max_tokens.and_then(|tokens| u32::try_from(tokens).ok());
        let default = max_tokens.map_or(DEFAULT_MAX_TOKENS, |cap| cap.min(DEFAULT_MAX_TOKENS));
        let body = anthropic::request(chat, &target.name, default)?;
        let reader = if self.is_streamed {
            AnswerReader::Stream(Stage::translated(Some(self.stream()), None, self.watch(), None))
        } else {
            AnswerReader::Whole(self.message_reader())
        };
        let body = body.to_string().into();
        Ok(UpstreamRequest { path: MESSAGES_PATH, body, reader, header: None })
    }

    pub(crate) fn watch(&self) -> ChatWatch {
        let model = self.model.clone();
        ChatWatch { wants_usage: self.wants_usage, model, ..ChatWatch::default() }
    }

    pub(crate) fn stream(&self) -> anthropic::Stream {
        anthropic::Stream::new(self.answer_id(), clock::unix_seconds(), true)
    }

    /// Reads a whole message as a chat completion.
    pub(crate) fn message_reader(&self) -> WholeReader {
        let (id, created) = (self.answer_id(), clock::unix_seconds());
        WholeReader::Messages { id, created, model: self.model.clone() }
    }

    fn answer_id(&self) -> String {
        format!("chatcmpl-{}", self.id.digits())
    }
}

impl BridgedReader {
    /// The reader of an answer; `watch` inspects a stream.
    pub(super) fn reader(
        self,
        anthropic: Option<anthropic::Stream>,
        watch: Option<ChatWatch>,
    ) -> AnswerReader {
        let Some(watch) = watch else { return AnswerReader::Bridged(Box::new(self)) };
        let Self { bridge, rounds, .. } = self;
        AnswerReader::Stream(Stage::translated(anthropic, Some(bridge), watch, rounds))
    }
}

pub(crate) fn unsupported(target: &Target, instead: &str) -> ApiError {
    let message = format!("the provider of `{}` does not support this; use {instead}", target.id);
    ApiError::of_param(Code::ModelNotForCapability, "model", message)
}

fn stream_options(object: &RawObject<'_>) -> ApiResult<String> {
    let Some(options) = object.raw("stream_options") else {
        return Ok(r#"{"include_usage":true}"#.to_owned());
    };
    let options = RawObject::parse(options.as_bytes())
        .map_err(|_| ApiError::invalid("stream_options", "`stream_options` must be an object"))?;
    let options = options.rewrite(&[("include_usage", Some("true"))]);
    String::from_utf8(options).map_err(|_| ApiError::internal())
}

impl From<Untranslatable> for ApiError {
    fn from(cause: Untranslatable) -> Self {
        Self::invalid(cause.param, cause.message)
    }
}
