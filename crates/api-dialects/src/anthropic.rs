//! Chat completions over the Anthropic Messages API (version 2023-06-01).

mod answer;
mod messages;
mod request;
mod stream;

pub use answer::answer;
pub use request::request;
pub use stream::{Stream, UsageReader};

#[cfg(test)]
mod tests;
