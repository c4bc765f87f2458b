//! One event: the received bytes and its fields.

use std::borrow::Cow;

use bytes::Bytes;
use memchr::memchr2;

/// A whole event of a stream, with the blank line that ended it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    raw: Bytes,
    /// Start of the lines, after a byte order mark at the start of the stream.
    start: usize,
}

impl Event {
    pub(super) fn new(raw: Bytes, start: usize) -> Self {
        Self { raw, start }
    }

    /// The event exactly as received, to pass it on untouched.
    pub fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// The `data` lines joined by line feeds; borrowed when there is one.
    pub fn data(&self) -> Cow<'_, [u8]> {
        let mut lines = self.values(b"data");
        let mut data = Cow::Borrowed(lines.next().unwrap_or_default());
        for line in lines {
            let owned = data.to_mut();
            owned.push(b'\n');
            owned.extend_from_slice(line);
        }
        data
    }

    /// The last `event` line, unless empty or not UTF-8.
    pub fn name(&self) -> Option<&str> {
        let name = self.values(b"event").last()?;
        std::str::from_utf8(name).ok().filter(|name| !name.is_empty())
    }

    /// The last `id` line; one with a NUL in it does not count.
    pub fn id(&self) -> Option<&str> {
        let id = self.values(b"id").filter(|id| !id.contains(&0)).last()?;
        std::str::from_utf8(id).ok()
    }

    /// The last `retry` line, in milliseconds; one that is no number does not count.
    pub fn retry_ms(&self) -> Option<u64> {
        let number = |text: &[u8]| -> Option<u64> {
            let digits = text.iter().all(u8::is_ascii_digit).then_some(text)?;
            std::str::from_utf8(digits).ok()?.parse().ok()
        };
        self.values(b"retry").filter_map(number).last()
    }

    /// Whether it has no content: only comments and blank lines, no `data` line.
    pub fn is_comment(&self) -> bool {
        self.values(b"data").next().is_none()
    }

    fn values<'a>(&'a self, field: &'static [u8]) -> impl Iterator<Item = &'a [u8]> {
        Lines(&self.raw[self.start..]).filter_map(move |line| {
            let value = line.strip_prefix(field)?;
            match value.split_first() {
                None => Some(value),
                Some((b':', value)) => Some(value.strip_prefix(b" ").unwrap_or(value)),
                Some(_) => None,
            }
        })
    }
}

/// Lines without their ends, which may be LF, CRLF or CR.
pub(super) struct Lines<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.0.is_empty() {
            return None;
        }
        let Some(end) = memchr2(b'\n', b'\r', self.0) else {
            return Some(std::mem::take(&mut self.0));
        };
        let (line, rest) = self.0.split_at(end);
        let end_len = if rest.starts_with(b"\r\n") { 2 } else { 1 };
        self.0 = &rest[end_len..];
        Some(line)
    }
}
