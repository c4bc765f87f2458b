//! What a member asked, and the same in an upstream's words.

use std::sync::Arc;

use bytes::Bytes;
use ledger::HoldId;
use serde_json::{Map, Value};
use wire::error::Code;

use super::chat::ChatWatch;
use super::stage::Stage;
use super::whole::Whole;
use crate::catalogue::Target;
use crate::clock;
use crate::config;
use crate::envelope::{self, Envelope, Rest};
use crate::failure::ApiError;
use crate::translate::{Untranslatable, anthropic};

/// The path of each interface.
pub(crate) const CHAT_PATH: &str = "/chat/completions";
pub(crate) const MESSAGES_PATH: &str = "/messages";
pub(crate) const RESPONSES_PATH: &str = "/responses";

/// How much an answer may be where an upstream must be told and the member did not say.
const DEFAULT_MAX_TOKENS: u32 = 8192;

/// What a member asked.
pub(crate) struct Ask {
    /// The id of the request.
    pub(crate) id: HoldId,
    /// As it was sent.
    pub(crate) body: Bytes,
    /// The same without what an upstream is told by us; of a stream it is found out later.
    pub(crate) rest: Option<Rest>,
    pub(crate) is_streamed: bool,
    /// Whether the usage of a stream was asked for.
    pub(crate) wants_usage: bool,
    /// The name of the model in a chat completion, as JSON; `None` keeps the upstream's name.
    pub(crate) model: Option<Arc<str>>,
    /// The most tokens of the answer, where the member named no limit and the operator did.
    pub(crate) max_tokens: Option<u64>,
}

/// A question in an upstream's words, and how its answer is to be understood.
pub(crate) struct Question {
    pub(crate) path: &'static str,
    pub(crate) body: Bytes,
    pub(crate) reading: Reading,
}

/// How an answer is to be understood.
pub(crate) enum Reading {
    Stream(Stage),
    Whole(Whole),
}

/// What an upstream is told by us in any case.
const OURS: [&str; 2] = ["model", "stream"];

impl Ask {
    /// What can be kept of a body that was read, for a question of the chat interface.
    pub(crate) fn rest_of(envelope: &Envelope<'_>, is_streamed: bool) -> Option<Rest> {
        (!is_streamed).then(|| envelope.without(&OURS))
    }

    /// A question of the chat interface.
    pub(crate) fn chat(&self, target: &Target) -> Result<Question, ApiError> {
        match target.provider.kind {
            config::Kind::OpenAi | config::Kind::Local => self.plain_chat(target),
            config::Kind::Anthropic => {
                let chat = envelope::tree(&self.body)?;
                self.messages(&chat, target)
            }
            config::Kind::Espeak => Err(ApiError::internal()),
        }
    }

    /// The member's own words, but for the name of the model and for what says whether the answer is
    /// to be a stream: that stands there in any case, so that nothing else can be taken for it.
    fn plain_chat(&self, target: &Target) -> Result<Question, ApiError> {
        let model = &target.quoted_name;
        let max_tokens = self.max_tokens.map(|tokens| tokens.to_string());
        // Only added: a member that names a limit has none from us.
        let max_tokens = ("max_tokens", max_tokens.as_deref());
        if let Some(rest) = &self.rest {
            let own = [("model", Some(model.as_str())), ("stream", Some("false")), max_tokens];
            let body = rest.with(&own);
            let reading = Reading::Whole(Whole::Chat { model: self.model.clone() });
            return Ok(Question { path: CHAT_PATH, body: body.into(), reading });
        }
        let envelope = Envelope::parse(&self.body)?;
        let options = (self.is_streamed && target.provider.stream_usage)
            .then(|| stream_options(&envelope))
            .transpose()?;
        let stream = if self.is_streamed { "true" } else { "false" };
        let mut changes = vec![("model", Some(model.as_str())), ("stream", Some(stream))];
        if let Some(options) = &options {
            changes.push(("stream_options", Some(options.as_str())));
        }
        if max_tokens.1.is_some() {
            changes.push(max_tokens);
        }
        let body = envelope.rewrite(&changes).into();
        let reading = if self.is_streamed {
            Reading::Stream(Stage::Chat(self.watch()))
        } else {
            Reading::Whole(Whole::Chat { model: self.model.clone() })
        };
        Ok(Question { path: CHAT_PATH, body, reading })
    }

    /// A question of the chat interface in the words of the messages interface.
    pub(crate) fn messages(
        &self,
        chat: &Map<String, Value>,
        target: &Target,
    ) -> Result<Question, ApiError> {
        let max_tokens = self.max_tokens.and_then(|tokens| u32::try_from(tokens).ok());
        let default = max_tokens.map_or(DEFAULT_MAX_TOKENS, |cap| cap.min(DEFAULT_MAX_TOKENS));
        let body = anthropic::request(chat, &target.name, default)?;
        let reading = if self.is_streamed {
            Reading::Stream(Stage::translated(Some(self.stream()), None, self.watch()))
        } else {
            let (id, created) = (self.answer_id(), clock::unix_seconds());
            Reading::Whole(Whole::Messages { id, created, model: self.model.clone() })
        };
        Ok(Question { path: MESSAGES_PATH, body: body.to_string().into(), reading })
    }
}

impl Ask {
    /// Watches a stream of the chat interface.
    pub(crate) fn watch(&self) -> ChatWatch {
        let model = self.model.clone();
        ChatWatch { wants_usage: self.wants_usage, model, ..ChatWatch::default() }
    }

    /// The events of the messages interface as those of the chat interface.
    pub(crate) fn stream(&self) -> anthropic::Stream {
        anthropic::Stream::new(self.answer_id(), clock::unix_seconds(), true)
    }

    /// What the answer is called, where it is us who call it something.
    fn answer_id(&self) -> String {
        format!("chatcmpl-{}", self.id.digits())
    }
}

/// The member's options of the stream, asking for the usage.
fn stream_options(envelope: &Envelope<'_>) -> Result<String, ApiError> {
    let Some(options) = envelope.raw("stream_options") else {
        return Ok(r#"{"include_usage":true}"#.to_owned());
    };
    let options = Envelope::parse(options.as_bytes()).map_err(|_| {
        let message = "`stream_options` must be an object";
        ApiError::of_param(Code::InvalidRequest, "stream_options", message)
    })?;
    let options = options.rewrite(&[("include_usage", Some("true"))]);
    String::from_utf8(options).map_err(|_| ApiError::internal())
}

impl From<Untranslatable> for ApiError {
    fn from(cause: Untranslatable) -> Self {
        Self::of_param(Code::InvalidRequest, cause.param, cause.message)
    }
}
