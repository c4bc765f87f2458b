//! Answers of a language model, computed from a GGUF file on this machine's processor.
//!
//! [`About`] describes a file from its header alone. A [`Host`] answers with one file: it
//! loads it on first use, limits concurrent and queued requests, caches the computed state of
//! a conversation for the next turn, and frees the memory when idle.
//!
//! Whatever the format in the file, weights are kept in memory as blocks of 8 bits, for which
//! there is one fast kernel.

#![expect(missing_docs, reason = "the names of most items explain them")]
#![expect(
    clippy::inline_always,
    reason = "what runs in wide instructions must be inlined into where they are chosen"
)]

mod about;
mod attention;
mod blocks;
mod bpe;
mod file;
mod floats;
mod gguf;
mod host;
mod kv_cache;
mod llama;
mod model;
mod pre_tokenizer;
mod processor;
mod quantisation;
mod request;
mod sampler;
mod template;
mod text;
mod thread_pool;
mod tokenizer;

#[cfg(test)]
mod tests;

pub use about::About;
pub use host::{Generation, Host, Memory, Settings};
pub use request::{Defaults, End, Message, Piece, Refusal, Request, Sampling};

type Result<T, E = Problem> = std::result::Result<T, E>;

/// Why a file cannot be used or a generation failed, for the operator.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    message: String,
}

impl Problem {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}
