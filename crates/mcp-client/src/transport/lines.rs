//! Framing of a stdio server: one message a line.

use bytes::{Buf, Bytes, BytesMut};

use crate::message::answered_id;

/// The longest line that is taken whole.
pub const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;
/// What a fresh buffer holds; it grows with what is sent.
const FIRST_READ_BYTES: usize = 8 * 1024;
/// How much of each end of an overlong line is kept to find what it answers.
const KEPT_END_BYTES: usize = 1024;

/// A line of a server.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// Without its line end.
    Whole(Bytes),
    /// Longer than [`MAX_LINE_BYTES`]; it was thrown away as it came.
    TooLong {
        /// The request it was meant to answer, if that could be read.
        id: Option<u64>,
    },
}

/// Cuts a stream of bytes into lines, however the bytes arrive.
#[derive(Debug)]
pub struct Lines {
    buffer: BytesMut,
    /// How much of the buffer is known to hold no line feed.
    scanned: usize,
    overlong: Option<Overlong>,
    limit: usize,
}

#[derive(Debug)]
struct Overlong {
    first: Bytes,
    last: Vec<u8>,
}

impl Default for Lines {
    fn default() -> Self {
        Self::with_limit(MAX_LINE_BYTES)
    }
}

impl Lines {
    /// Lines of at most `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self { buffer: BytesMut::new(), scanned: 0, overlong: None, limit }
    }

    /// Where to read the next bytes into; there is always room.
    pub fn room(&mut self) -> &mut BytesMut {
        if self.buffer.capacity() - self.buffer.len() < FIRST_READ_BYTES / 2 {
            self.buffer.reserve(FIRST_READ_BYTES.max(self.buffer.len()));
        }
        &mut self.buffer
    }

    /// The next line that is complete.
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

    /// What stands after the last line feed when the stream has ended.
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
            let mut overlong = Overlong { first, last: Vec::new() };
            overlong.push(&gone);
            self.overlong = Some(overlong);
        }
    }
}

impl Overlong {
    fn push(&mut self, more: &[u8]) {
        self.last.extend_from_slice(&more[more.len().saturating_sub(KEPT_END_BYTES)..]);
        let excess = self.last.len().saturating_sub(KEPT_END_BYTES);
        self.last.drain(..excess);
    }

    fn finish(mut self, end: &[u8]) -> Line {
        self.push(end);
        Line::TooLong { id: answered_id(&self.first).or_else(|| answered_id(&self.last)) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(chunks: &[&[u8]], limit: usize) -> Vec<Line> {
        let mut lines = Lines::with_limit(limit);
        let mut found = Vec::new();
        for chunk in chunks {
            lines.room().extend_from_slice(chunk);
            found.extend(std::iter::from_fn(|| lines.next_line()));
        }
        found.extend(lines.finish());
        found
    }

    fn whole(text: &str) -> Line {
        Line::Whole(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn lines_end_with_either_line_end_or_with_the_stream() {
        assert_eq!(cut(&[b"a\r\nb\n\nc"], 100), [whole("a"), whole("b"), whole(""), whole("c")]);
    }

    #[test]
    fn an_overlong_line_is_dropped_and_names_what_it_answers() {
        let long = format!("{{\"id\":3,\"result\":\"{}\"}}\nnext\n", "x".repeat(5000));
        let late = format!("{{\"result\":\"{}\",\"id\":4}}\nnext\n", "x".repeat(5000));
        for (text, id) in [(long, 3), (late, 4)] {
            let chunks: Vec<&[u8]> = text.as_bytes().chunks(700).collect();
            assert_eq!(cut(&chunks, 2000), [Line::TooLong { id: Some(id) }, whole("next")]);
        }
    }

    proptest! {
        #[test]
        fn chunking_changes_nothing(
            text in "[a-c\r\n]{0,200}",
            sizes in prop::collection::vec(1_usize..20, 1..50),
        ) {
            let bytes = text.as_bytes();
            let mut chunks = Vec::new();
            let mut rest = bytes;
            for size in sizes.iter().cycle() {
                if rest.is_empty() { break; }
                let (chunk, after) = rest.split_at((*size).min(rest.len()));
                chunks.push(chunk);
                rest = after;
            }
            prop_assert_eq!(cut(&chunks, 1000), cut(&[bytes], 1000));
        }
    }
}
