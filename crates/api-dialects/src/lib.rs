//! Translations between the chat, messages and responses APIs: bytes and JSON in, bytes and JSON out.
//!
//! Nothing here reads a clock, draws a random number or waits: ids and times are parameters. A request
//! that the other API cannot express is [`Untranslatable`], never silently reduced; an answer that
//! violates the contract of its API is [`Malformed`].

pub mod anthropic;
mod fields;
pub mod responses;
mod usage;

use std::borrow::Cow;

use bytes::{BufMut, BytesMut};
use serde::{Deserialize, Serialize};

pub use usage::Usage;

/// The longest message of an upstream in an error.
pub const MAX_PEER_MESSAGE_BYTES: usize = 1024;

/// The request asks for something the other API does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{param}: {message}")]
pub struct Untranslatable {
    /// The field of the request, as in `messages[2].content[0].type`.
    pub param: String,
    /// What is wrong with it, for the member.
    pub message: String,
}

impl Untranslatable {
    pub(crate) fn new(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self { param: param.into(), message: message.into() }
    }
}

/// The upstream answered something its API does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// An event of the stream is not the JSON it should be.
    #[error("an event of the upstream's stream is not readable")]
    Event,
    /// The answer is JSON of another shape.
    #[error("the upstream's answer has no usable {0}")]
    Missing(&'static str),
    /// The answer is longer than what is kept of one.
    #[error("the upstream's answer is too long")]
    TooLong,
}

/// Why a stream cannot be continued.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamFault {
    /// The upstream ended the stream with an error.
    #[error("the upstream ended the stream with {kind}")]
    Upstream {
        /// The upstream's name for the error, as in `overloaded_error`.
        kind: String,
        /// The upstream's message, at most [`MAX_PEER_MESSAGE_BYTES`] of it.
        peer_message: String,
    },
    /// The upstream broke its own contract.
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
