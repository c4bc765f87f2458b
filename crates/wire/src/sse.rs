//! Server-sent events: a byte stream cut into whole events, and events written into bytes.
//!
//! A relay runs [`Splitter`] on every upstream chunk, so it finds line ends with memchr, scans
//! each byte once, and returns an event within one chunk without copying. [`Event`] keeps the
//! received bytes and parses its fields lazily.

mod event;
mod splitter;

use bytes::{BufMut, BytesMut};

use self::event::Lines;
pub use event::Event;
pub use splitter::{Splitter, TooLarge};

/// Writes an event without a name; every line of `data` becomes a `data` line.
pub fn write_data(out: &mut BytesMut, data: &[u8]) {
    write_lines(out, b"data: ", data);
    out.put_u8(b'\n');
}

/// Writes an event with a name. A name is cut at its first line end.
pub fn write_event(out: &mut BytesMut, name: &str, data: &[u8]) {
    let name = Lines(name.as_bytes()).next().unwrap_or_default();
    write_lines(out, b"event: ", name);
    write_data(out, data);
}

fn write_lines(out: &mut BytesMut, field: &[u8], text: &[u8]) {
    out.reserve(field.len() + text.len() + 2);
    // After a final line end, and in an empty text, the last line is empty.
    let is_last_empty = text.last().is_none_or(|byte| matches!(byte, b'\n' | b'\r'));
    for line in Lines(text).chain(is_last_empty.then_some(&[][..])) {
        out.put_slice(field);
        out.put_slice(line);
        out.put_u8(b'\n');
    }
}

#[cfg(test)]
mod tests;
