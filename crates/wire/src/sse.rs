//! Server-sent events: a byte stream cut into whole events, and events written into bytes.
//!
//! [`Splitter`] is what a relay runs on every upstream chunk, so it finds line ends with memchr,
//! never looks at a byte twice, and hands out an event that lies inside one chunk without copying
//! it. [`Event`] keeps the bytes as they came; its fields are read only when somebody asks.

mod encode;
mod event;
mod splitter;

pub use encode::{write_comment, write_data, write_event};
pub use event::Event;
pub use splitter::{Splitter, TooLarge};

#[cfg(test)]
mod tests;
