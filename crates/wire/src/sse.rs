//! Server-sent events: a byte stream cut into whole events, and events written into bytes.
//!
//! A relay runs [`Splitter`] on every upstream chunk, so it finds line ends with memchr, scans
//! each byte once, and returns an event within one chunk without copying. [`Event`] keeps the
//! received bytes and parses its fields lazily.

mod encode;
mod event;
mod splitter;

pub use encode::{write_comment, write_data, write_event};
pub use event::Event;
pub use splitter::{Splitter, TooLarge};

#[cfg(test)]
mod tests;
