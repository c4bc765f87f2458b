//! The Anthropic Messages API (version 2023-06-01) over chat completions.
//!
//! A request becomes a chat completion request ([`request`]); the completion becomes a message
//! ([`answer`]) or, chunk by chunk, the events of one ([`Stream`]). [`Shape`] holds the
//! request fields that the answer repeats. A web search takes several rounds: see
//! [`ChatTranslator::begin_searches`](crate::ChatTranslator::begin_searches).
//!
//! For an upstream with a native Messages API, [`remove_own_blocks`] prepares the history.

mod conversation;
mod estimate;
mod native;
mod request;
mod shape;
mod stream;
mod tools;

pub use estimate::estimate_input_tokens;
pub use native::remove_own_blocks;
pub use request::request;
pub use shape::{Shape, error, error_type};
pub use stream::{Stream, answer};

#[cfg(test)]
mod tests;
