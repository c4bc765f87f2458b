//! The Anthropic Messages API (version 2023-06-01) over chat completions.
//!
//! A request becomes a chat completion request ([`request`]); the completion becomes, whole or chunk by
//! chunk, the events of a message ([`Stream`]). [`Shape`] holds the
//! request fields that the answer repeats. A web search takes several rounds: see
//! [`ChatTranslator::begin_searches`](crate::ChatTranslator::begin_searches).
//!
//! For an upstream with a native Messages API, [`remove_own_blocks`] prepares the history.

mod conversation;
mod request;
mod stream;

pub use conversation::remove_own_blocks;
pub use request::{estimate_input_tokens, request};
pub use stream::{Shape, Stream, error, error_type};

#[cfg(test)]
mod tests;
