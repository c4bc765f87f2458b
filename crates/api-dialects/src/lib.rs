//! Translations between the chat, messages and responses APIs: bytes and JSON in, bytes and JSON out.
//!
//! Nothing here reads a clock, draws a random number or waits: ids and times are parameters. A request
//! that the other API cannot express is [`Untranslatable`], never silently reduced; an answer that
//! violates the contract of its API is [`Malformed`].
#![expect(missing_docs, reason = "the names of most items explain them")]

pub mod anthropic;
mod chat_messages;
mod chunk;
mod fields;
pub mod messages;
pub mod opaque;
pub mod responses;
mod round;
mod tool_table;
mod usage;
mod web_search;

use std::borrow::Cow;

use bytes::{BufMut, BytesMut};
use serde::{Deserialize, Serialize};

pub use round::ChatTranslator;
pub use tool_table::{MAX_FUNCTION_NAME_BYTES, ToolTable};
pub use usage::Usage;
pub use web_search::{
    MAX_CITED_CHARS, Search, SearchError, SearchOutcome, SearchResult, WebSearchTool,
};

/// Maximum bytes of text, arguments and reasoning of one answer, which are all buffered.
pub const MAX_OUTPUT_BYTES: usize = 16 << 20;
/// Maximum number of items or content blocks per answer.
pub const MAX_OUTPUT_ITEMS: usize = 1024;
/// Maximum length of an upstream's error message.
pub const MAX_PEER_MESSAGE_BYTES: usize = 1024;

/// The other API does not support a feature of the request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{param}: {message}")]
pub struct Untranslatable {
    /// The path of the field, as in `messages[2].content[0].type`.
    pub param: String,
    /// The problem, for the member.
    pub message: String,
}

impl Untranslatable {
    pub(crate) fn new(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self { param: param.into(), message: message.into() }
    }
}

#[derive(Debug, Clone)]
pub struct Translated {
    pub chat: serde_json::Map<String, serde_json::Value>,
    /// The tool table; needed to translate the answer.
    pub tools: ToolTable,
}

impl Translated {
    /// Appends the messages of a finished round, for the request of the next one.
    ///
    /// A choice that forces a tool counts for the first round only: the model must be free to answer.
    pub fn add_round(&mut self, messages: Vec<serde_json::Value>) {
        if let Some(serde_json::Value::Array(all)) = self.chat.get_mut("messages") {
            all.extend(messages);
        }
        if self.chat.get("tool_choice").is_some_and(|choice| choice != "none") {
            self.chat.insert("tool_choice".into(), "auto".into());
        }
    }

    /// Withdraws the web search, where nothing can execute it.
    #[must_use]
    pub fn without_web_search(mut self) -> Self {
        let Some(name) = self.tools.remove_web_search() else { return self };
        if let Some(serde_json::Value::Array(tools)) = self.chat.get_mut("tools") {
            tools.retain(|tool| tool["function"]["name"] != *name);
            if tools.is_empty() {
                for field in ["tools", "tool_choice", "parallel_tool_calls"] {
                    self.chat.remove(field);
                }
            }
        }
        self
    }

    /// Makes the next round the last one: the model must answer without tools.
    pub fn forbid_tools(&mut self) {
        if self.chat.contains_key("tools") {
            self.chat.insert("tool_choice".into(), "none".into());
        }
    }
}

/// The upstream's answer violates its API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("the upstream sent an invalid stream event")]
    Event,
    #[error("the upstream's response has no valid {0}")]
    Missing(&'static str),
    #[error("the upstream's response is too long")]
    TooLong,
}

/// Why a stream cannot be continued.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamFault {
    #[error("the upstream ended the stream with {kind}")]
    Upstream {
        /// The upstream's name for the error, as in `overloaded_error`.
        kind: String,
        /// The upstream's message, at most [`MAX_PEER_MESSAGE_BYTES`] of it.
        peer_message: String,
    },
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

impl StreamFault {
    pub(crate) fn upstream(kind: &str, message: &str) -> Self {
        Self::Upstream { kind: bounded(kind).to_owned(), peer_message: bounded(message).to_owned() }
    }
}

/// A text of a peer, cut to its limit.
fn bounded(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_PEER_MESSAGE_BYTES)]
}

/// Writes one unnamed event with `value` as JSON data.
fn write_json(out: &mut BytesMut, value: &impl Serialize) {
    out.put_slice(b"data: ");
    let written = serde_json::to_writer(out.writer(), value);
    debug_assert!(written.is_ok(), "memory takes every plain value");
    out.put_slice(b"\n\n");
}

/// Writes one event: its name, and data with the same name as `type`.
fn write_event(
    out: &mut BytesMut,
    kind: &'static str,
    sequence_number: Option<u64>,
    fields: &impl Serialize,
) {
    #[derive(Serialize)]
    struct Data<'a, T> {
        #[serde(rename = "type")]
        kind: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        sequence_number: Option<u64>,
        #[serde(flatten)]
        fields: &'a T,
    }
    out.put_slice(b"event: ");
    out.put_slice(kind.as_bytes());
    out.put_u8(b'\n');
    write_json(out, &Data { kind, sequence_number, fields });
}

/// A text that borrows from its event, unless it has escapes.
#[derive(Debug, Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests;
