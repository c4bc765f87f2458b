//! Framing of stdio: one message per line, or spread over several lines.

use bytes::{Buf, Bytes, BytesMut};

use crate::message::response_id;

pub const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;
/// Maximum size of a message that spans several lines.
pub(crate) const MAX_JOINED_BYTES: usize = 256 * 1024;
const FIRST_READ_BYTES: usize = 8 * 1024;
/// Bytes kept of both ends of an oversized line, to find its id.
const KEPT_END_BYTES: usize = 1024;

#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// Without its line end.
    Whole(Bytes),
    /// Longer than [`MAX_LINE_BYTES`] and discarded.
    TooLong {
        /// The id of the request that it answers, if it could be read.
        id: Option<u64>,
    },
}

#[derive(Debug)]
pub struct LineDecoder {
    buffer: BytesMut,
    /// The length of the prefix without a line feed.
    scanned: usize,
    overlong: Option<OversizedLine>,
    limit: usize,
}

#[derive(Debug)]
struct OversizedLine {
    first: Bytes,
    last: Vec<u8>,
}

impl Default for LineDecoder {
    fn default() -> Self {
        Self::with_limit(MAX_LINE_BYTES)
    }
}

impl LineDecoder {
    pub fn with_limit(limit: usize) -> Self {
        Self { buffer: BytesMut::new(), scanned: 0, overlong: None, limit }
    }

    /// The buffer to read into; it always has capacity.
    pub fn read_buffer(&mut self) -> &mut BytesMut {
        if self.buffer.capacity() - self.buffer.len() < FIRST_READ_BYTES / 2 {
            self.buffer.reserve(FIRST_READ_BYTES.max(self.buffer.len()));
        }
        &mut self.buffer
    }

    pub fn next_line(&mut self) -> Option<Line> {
        if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.scanned..]) {
            let mut line = self.buffer.split_to(self.scanned + at);
            self.buffer.advance(1);
            self.scanned = 0;
            if let Some(overlong) = self.overlong.take() {
                return Some(overlong.finish(&line));
            }
            if line.last() == Some(&b'\r') {
                line.truncate(line.len() - 1);
            }
            Some(Line::Whole(line.freeze()))
        } else {
            self.scanned = self.buffer.len();
            if self.scanned > self.limit {
                self.discard();
            }
            None
        }
    }

    /// The unterminated last line at the end of the stream.
    pub fn finish(&mut self) -> Option<Line> {
        let rest = self.buffer.split().freeze();
        self.scanned = 0;
        match self.overlong.take() {
            Some(overlong) => Some(overlong.finish(&rest)),
            None if rest.is_empty() => None,
            None => Some(Line::Whole(rest)),
        }
    }

    fn discard(&mut self) {
        let gone = std::mem::take(&mut self.buffer).freeze();
        self.scanned = 0;
        if let Some(overlong) = &mut self.overlong {
            overlong.push(&gone);
        } else {
            let first = Bytes::copy_from_slice(&gone[..KEPT_END_BYTES.min(gone.len())]);
            let mut overlong = OversizedLine { first, last: Vec::new() };
            overlong.push(&gone);
            self.overlong = Some(overlong);
        }
    }
}

impl OversizedLine {
    fn push(&mut self, more: &[u8]) {
        self.last.extend_from_slice(&more[more.len().saturating_sub(KEPT_END_BYTES)..]);
        let excess = self.last.len().saturating_sub(KEPT_END_BYTES);
        self.last.drain(..excess);
    }

    fn finish(mut self, end: &[u8]) -> Line {
        self.push(end);
        Line::TooLong { id: response_id(&self.first).or_else(|| response_id(&self.last)) }
    }
}

/// Joins messages that span several lines: some servers pretty-print their JSON. Each byte is
/// examined once: nesting and quotes determine the end.
#[derive(Debug, Default)]
pub(crate) struct LineJoiner {
    text: Vec<u8>,
    depth: usize,
    quoted: bool,
    escaped: bool,
}

impl LineJoiner {
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Adds a line. Returns the text if it is complete, too long, or no message.
    pub(crate) fn push(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        if !self.text.is_empty() {
            self.text.push(b'\n');
        }
        for byte in line {
            match (*byte, self.quoted) {
                _ if self.escaped => self.escaped = false,
                (b'\\', true) => self.escaped = true,
                (b'"', _) => self.quoted = !self.quoted,
                (b'{' | b'[', false) => self.depth += 1,
                (b'}' | b']', false) => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        self.text.extend_from_slice(line);
        // A JSON string cannot span lines.
        let ends = self.depth == 0 || self.quoted || self.text.len() > MAX_JOINED_BYTES;
        ends.then(|| self.take())
    }

    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(self).text
    }
}

#[cfg(test)]
mod tests;
