//! Inspection of chat completions on their way to the client.

use std::borrow::Cow;
use std::sync::Arc;

use api_dialects::StreamFault;
use bytes::{Bytes, BytesMut};
use ledger::TokenCounts;
use serde::Deserialize;
use serde_json::value::RawValue;
use wire::sse::Event;

const DONE: &[u8] = b"[DONE]";

#[derive(Debug, Default)]
pub(crate) struct ChatWatch {
    /// Whether the client requested usage figures; we always do.
    pub(crate) wants_usage: bool,
    /// The model name for the answer, as JSON; `None` keeps the upstream's name.
    pub(crate) model: Option<Arc<str>>,
    pub(crate) tokens: TokenCounts,
    pub(crate) has_content: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChunkAction {
    Pass(Bytes),
    Skip,
    Done,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An error event of the upstream, not yet sanitized.
    Told(Option<String>),
    Malformed(&'static str),
}

impl From<StreamFault> for Fault {
    fn from(fault: StreamFault) -> Self {
        match fault {
            StreamFault::Upstream { peer_message, .. } => Self::Told(Some(peer_message)),
            StreamFault::Malformed(_) => Self::Malformed("invalid event"),
        }
    }
}

impl ChatWatch {
    pub(crate) fn inspect(&mut self, event: &Event) -> Result<ChunkAction, Fault> {
        let whole = event.data();
        let data = whole.trim_ascii();
        if data.is_empty() {
            return Ok(ChunkAction::Skip);
        }
        if data == DONE {
            return Ok(ChunkAction::Done);
        }
        let chunk: Chunk<'_> = serde_json::from_slice(data)
            .map_err(|_| Fault::Malformed("an event is not valid JSON"))?;
        if let Some(error) = chunk.error {
            return Err(Fault::Told(message_of(error.get())));
        }
        let choices = chunk.choices.as_deref().unwrap_or_default();
        self.has_content |= choices.iter().any(Choice::has_content);
        if let Some(usage) = chunk.usage {
            self.tokens = usage.tokens();
            if choices.is_empty() && !self.wants_usage {
                return Ok(ChunkAction::Skip);
            }
        }
        let Some((found, model)) = chunk.model.zip(self.model.as_deref()) else {
            return Ok(ChunkAction::Pass(event.raw().clone()));
        };
        let is_one_line = matches!(whole, Cow::Borrowed(_));
        let text = if is_one_line { event.raw() } else { data };
        let piece = match renamed(text, found, model) {
            None => event.raw().clone(),
            Some(text) if is_one_line => text.into(),
            Some(data) => {
                let mut out = BytesMut::new();
                wire::sse::write_data(&mut out, &data);
                out.freeze()
            }
        };
        Ok(ChunkAction::Pass(piece))
    }
}

/// A copy of the text with `found`, which is a slice of it, replaced; `None` if nothing changes.
pub(crate) fn renamed(text: &[u8], found: &RawValue, value: &str) -> Option<Vec<u8>> {
    let found = found.get();
    if found == value {
        return None;
    }
    let start = found.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let (before, rest) = text.split_at_checked(start)?;
    let after = rest.get(found.len()..)?;
    let mut out = Vec::with_capacity(before.len() + value.len() + after.len());
    out.extend_from_slice(before);
    out.extend_from_slice(value.as_bytes());
    out.extend_from_slice(after);
    Some(out)
}

#[derive(Debug, Deserialize)]
pub(crate) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(crate) error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) model: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) choices: Option<Vec<Choice<'a>>>,
    pub(crate) usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Choice<'a> {
    #[serde(borrow, default)]
    delta: Option<Content<'a>>,
    #[serde(borrow, default)]
    message: Option<Content<'a>>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
}

/// All fields in which a model can return content.
#[expect(clippy::struct_field_names, reason = "the names of the API")]
#[derive(Debug, Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<&'a RawValue>,
    #[serde(borrow, default)]
    function_call: Option<&'a RawValue>,
    #[serde(borrow, default)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow, default)]
    audio: Option<&'a RawValue>,
}

/// The token counts of an upstream; invalid values are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Usage {
    prompt_tokens: Count,
    completion_tokens: Count,
}

pub(crate) fn token_counts(usage: Option<api_dialects::Usage>) -> TokenCounts {
    let count = |tokens: u64| i64::try_from(tokens).ok();
    TokenCounts {
        input: usage.and_then(|usage| count(usage.prompt_tokens)),
        output: usage.and_then(|usage| count(usage.completion_tokens)),
    }
}

/// A count of any JSON type.
#[derive(Debug, Default)]
struct Count(Option<i64>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(Self(value.as_i64().filter(|count| (0..=MAX_TOKENS).contains(count))))
    }
}

/// Exceeds every model's context.
const MAX_TOKENS: i64 = 1_000_000_000;

impl Usage {
    pub(crate) fn tokens(&self) -> TokenCounts {
        TokenCounts { input: self.prompt_tokens.0, output: self.completion_tokens.0 }
    }
}

impl Choice<'_> {
    pub(crate) fn has_content(&self) -> bool {
        let is_something = |value: &RawValue| !matches!(value.get(), "\"\"" | "[]" | "{}");
        let is_present = |content: &Content<'_>| {
            [
                content.content, content.tool_calls, content.function_call, content.refusal,
                content.reasoning_content, content.reasoning, content.audio,
            ]
            .into_iter()
            .flatten()
            .any(is_something)
        };
        self.delta.as_ref().is_some_and(is_present)
            || self.message.as_ref().is_some_and(is_present)
            || self.text.is_some_and(is_something)
    }
}

pub(crate) fn message_of(error: &str) -> Option<String> {
    let error: serde_json::Value = serde_json::from_str(error).ok()?;
    let message = error.get("message").unwrap_or(&error).as_str()?;
    Some(message.to_owned())
}

#[cfg(test)]
mod tests;
