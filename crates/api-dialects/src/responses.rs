//! The Responses API over chat completions.
//!
//! A request becomes a chat completion request ([`request`]), together with the items of the
//! responses it continues; the completion becomes, whole or chunk by chunk, the events of a
//! response ([`Stream`]). [`Shape`] holds the request fields that answers
//! repeat.
//!
//! A web search takes several rounds: see [`ChatTranslator::begin_searches`](crate::ChatTranslator::begin_searches).

mod conversation;
mod output;
mod request;
mod shape;
mod stream;
mod tools;

pub use request::{
    compaction, compaction_request, input_items, output_items, request, reveal_summary,
};
pub use shape::{Outcome, Shape, Status};
pub use stream::Stream;

#[cfg(test)]
mod tests;
