//! The Responses API over chat completions.
//!
//! A request becomes a chat completion request ([`request`]), together with the items of the
//! responses it continues; the completion becomes a response object ([`answer`]) or, chunk by
//! chunk, the events of one ([`Stream`]). [`Shape`] holds the request fields that answers
//! repeat.
//!
//! A web search takes several rounds: see [`ChatTranslator::begin_searches`](crate::ChatTranslator::begin_searches).

mod compaction;
mod conversation;
mod events;
mod input;
mod output;
mod request;
mod shape;
mod stream;
mod tools;

pub use compaction::{compaction, compaction_request, reveal_summary};
pub use input::{input_items, output_items};
pub use request::request;
pub use shape::{Outcome, Shape, Status};
pub use stream::{Stream, answer};

#[cfg(test)]
mod tests;
