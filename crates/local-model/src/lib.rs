//! Answers of a language model, computed from a GGUF file on this machine's processor.
//!
//! [`About`] says what a file is, from its header alone. A [`Host`] answers with one file: it loads
//! it on first use, lets so many requests compute at once and so many wait, keeps what it computed
//! of a conversation for the next turn, and lets go of the memory when nobody asks for a while.
//!
//! Whatever form the weights have in the file, they are held in memory as blocks of 8 bits, for which
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
