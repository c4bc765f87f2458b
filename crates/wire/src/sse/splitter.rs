//! Splits a byte stream into events, independent of chunk boundaries.

use bytes::{Bytes, BytesMut};
use memchr::memchr2;

use super::Event;

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// An event exceeds the size limit; the stream cannot be read further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is longer than {max_event_bytes} bytes")]
pub struct TooLarge {
    /// The exceeded limit.
    pub max_event_bytes: usize,
}

/// Splits a byte stream into whole events.
///
/// The events do not depend on how the bytes were chunked, and their [`raw`](Event::raw) bytes
/// joined (with [`rest`](Self::rest) at the end) are the stream itself. An event that ends in
/// a lone carriage return is returned once the next byte is known.
#[derive(Debug)]
pub struct Splitter {
    max_event_bytes: usize,
    /// The beginning of the current event, from earlier chunks.
    held: BytesMut,
    /// The last chunk; with `scanned`, all of it belongs to the current event.
    chunk: Bytes,
    scanned: bool,
    scan: Scan,
    /// Whether the first event was read: a byte order mark may precede only that one.
    has_begun: bool,
    failed: bool,
}

impl Splitter {
    /// A splitter for one stream that holds at most `max_event_bytes` of an unfinished event.
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            max_event_bytes,
            held: BytesMut::new(),
            chunk: Bytes::new(),
            scanned: false,
            scan: Scan::Mark(0),
            has_begun: false,
            failed: false,
        }
    }

    /// Takes the next bytes of the stream.
    ///
    /// Call [`next`](Self::next) until it returns `None` before the next push; otherwise pending
    /// bytes are copied.
    pub fn push(&mut self, chunk: Bytes) {
        if self.failed || chunk.is_empty() {
            return;
        }
        if self.chunk.is_empty() {
            self.chunk = chunk;
        } else if self.scanned {
            self.held.extend_from_slice(&self.chunk);
            self.chunk = chunk;
        } else {
            let mut joined = BytesMut::with_capacity(self.chunk.len() + chunk.len());
            joined.extend_from_slice(&self.chunk);
            joined.extend_from_slice(&chunk);
            self.chunk = joined.freeze();
        }
        self.scanned = false;
    }

    /// The next whole event; `None` until more bytes are pushed, and after an error.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator would promise that nothing follows the first None"
    )]
    pub fn next(&mut self) -> Option<Result<Event, TooLarge>> {
        if self.failed || self.scanned {
            return None;
        }
        let end = self.scan.find_end(&self.chunk);
        if self.held.len() + end.unwrap_or(self.chunk.len()) > self.max_event_bytes {
            self.failed = true;
            self.held = BytesMut::new();
            self.chunk = Bytes::new();
            return Some(Err(TooLarge { max_event_bytes: self.max_event_bytes }));
        }
        let Some(end) = end else {
            self.scanned = true;
            return None;
        };
        let tail = self.chunk.split_to(end);
        Some(Ok(self.event(tail)))
    }

    /// Whether the stream could end here without cutting an event in two.
    pub fn is_clean(&self) -> bool {
        let nothing_waits = self.held.is_empty() && self.chunk.is_empty();
        !self.failed && (nothing_waits || (self.scanned && self.scan == Scan::AfterBlankCr))
    }

    /// The rest at the end of the stream: an event without its blank line, or one that waited for
    /// the byte after its last carriage return ([`is_clean`](Self::is_clean) tells which). Call
    /// it after [`next`](Self::next) has returned `None`.
    pub fn rest(&mut self) -> Option<Event> {
        if self.held.is_empty() && self.chunk.is_empty() {
            return None;
        }
        let tail = std::mem::take(&mut self.chunk);
        self.scan = Scan::LineStart;
        Some(self.event(tail))
    }

    /// The current event, which ends with `tail`.
    fn event(&mut self, tail: Bytes) -> Event {
        let raw = if self.held.is_empty() {
            tail
        } else {
            self.held.extend_from_slice(&tail);
            self.held.split().freeze()
        };
        let marked = !self.has_begun && raw.starts_with(BYTE_ORDER_MARK);
        self.has_begun = true;
        Event::new(raw, if marked { BYTE_ORDER_MARK.len() } else { 0 })
    }
}

/// The position of the scan in the current event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scan {
    /// At the start of the stream, this many bytes into a byte order mark.
    Mark(usize),
    LineStart,
    InLine,
    /// After the carriage return of a line with content: a line feed may belong to it.
    AfterCr,
    /// After the carriage return of a blank line: the event ends here or after a line feed.
    AfterBlankCr,
}

impl Scan {
    /// The end of the current event in `bytes`, which follow the scanned bytes.
    fn find_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            let byte = *bytes.get(at)?;
            *self = match *self {
                Self::InLine => {
                    at += memchr2(b'\n', b'\r', &bytes[at..])? + 1;
                    if bytes[at - 1] == b'\n' { Self::LineStart } else { Self::AfterCr }
                }
                Self::LineStart => match byte {
                    b'\n' => return Some(at + 1),
                    b'\r' => {
                        at += 1;
                        Self::AfterBlankCr
                    }
                    _ => Self::InLine,
                },
                Self::AfterCr => {
                    at += usize::from(byte == b'\n');
                    Self::LineStart
                }
                Self::AfterBlankCr => {
                    *self = Self::LineStart;
                    return Some(at + usize::from(byte == b'\n'));
                }
                Self::Mark(seen) if BYTE_ORDER_MARK.get(seen) == Some(&byte) => {
                    at += 1;
                    if seen + 1 == BYTE_ORDER_MARK.len() {
                        Self::LineStart
                    } else {
                        Self::Mark(seen + 1)
                    }
                }
                Self::Mark(0) => Self::LineStart,
                Self::Mark(_) => Self::InLine,
            };
        }
    }
}
