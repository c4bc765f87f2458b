//! `text/event-stream`: its decoder, and the stream of a response. The decoder is for any
//! chunking and every line end.
//!
//! `wire::sse` is the other decoder of the workspace. It keeps raw bytes for a relay and waits for the
//! byte after a lone carriage return; a client must dispatch the event at once, and track ids and
//! retry times.

use bytes::{Bytes, BytesMut};
use http::Response;
use http_body_util::BodyExt;
use hyper::body::Incoming as Body;

use super::http_client::connection_error;
use crate::error::Error;

pub const MAX_EVENT_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    /// Its type; empty means `message`.
    pub kind: String,
    /// Its data lines, joined by line feeds.
    pub data: Bytes,
}

/// Parses bytes into events. Keeps the resume state of the stream (last event id, retry).
#[derive(Debug)]
pub struct EventStream {
    buffer: BytesMut,
    scanned: usize,
    started: bool,
    /// The last line ended with CR: an LF that follows belongs to it.
    after_cr: bool,
    kind: String,
    data: BytesMut,
    has_data: bool,
    next_id: Option<String>,
    last_id: Option<String>,
    retry_ms: Option<u64>,
    limit: usize,
}

impl Default for EventStream {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT_BYTES)
    }
}

impl EventStream {
    pub fn with_limit(limit: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            scanned: 0,
            started: false,
            after_cr: false,
            kind: String::new(),
            data: BytesMut::new(),
            has_data: false,
            next_id: None,
            last_id: None,
            retry_ms: None,
            limit,
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// The next complete event. Fails if an event is larger than the limit.
    pub fn next_event(&mut self) -> Result<Option<Event>, Error> {
        while let Some(line) = self.next_line() {
            if let Some(event) = self.take_line(line) {
                return Ok(Some(event));
            }
            self.check(self.data.len())?;
        }
        self.check(self.buffer.len() + self.data.len())?;
        Ok(None)
    }

    fn check(&self, size: usize) -> Result<(), Error> {
        if size > self.limit { Err(Error::TooLarge { limit: self.limit }) } else { Ok(()) }
    }

    fn next_line(&mut self) -> Option<BytesMut> {
        if self.after_cr && !self.buffer.is_empty() {
            self.after_cr = false;
            if self.buffer[0] == b'\n' {
                let _ = self.buffer.split_to(1);
            }
        }
        if !self.started {
            // The stream may start with a byte order mark: wait for enough bytes to decide.
            let mark = b"\xEF\xBB\xBF";
            if self.buffer.len() < mark.len() && mark.starts_with(&self.buffer) {
                return None;
            }
            if self.buffer.starts_with(mark) {
                let _ = self.buffer.split_to(mark.len());
            }
            self.started = true;
        }
        let Some(at) = memchr::memchr2(b'\n', b'\r', &self.buffer[self.scanned..]) else {
            self.scanned = self.buffer.len();
            return None;
        };
        let line = self.buffer.split_to(self.scanned + at);
        self.after_cr = self.buffer[0] == b'\r';
        let _ = self.buffer.split_to(1);
        self.scanned = 0;
        Some(line)
    }

    fn take_line(&mut self, mut line: BytesMut) -> Option<Event> {
        if line.is_empty() {
            return self.dispatch();
        }
        let end = memchr::memchr(b':', &line).unwrap_or(line.len());
        let mut start = (end + 1).min(line.len());
        if line.get(start) == Some(&b' ') {
            start += 1;
        }
        let value = &line[start..];
        match &line[..end] {
            // Most events have one line, which need not be copied.
            b"data" if !self.has_data => {
                self.has_data = true;
                self.data = line.split_off(start);
            }
            b"data" => {
                self.data.extend_from_slice(b"\n");
                self.data.extend_from_slice(value);
            }
            b"event" => self.kind = String::from_utf8_lossy(value).into_owned(),
            b"id" if !value.contains(&0) => {
                self.next_id = Some(String::from_utf8_lossy(value).into_owned());
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let digits = std::str::from_utf8(value).ok();
                self.retry_ms = digits.and_then(|digits| digits.parse().ok()).or(self.retry_ms);
            }
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Event> {
        if let Some(id) = self.next_id.take() {
            self.last_id = Some(id);
        }
        let kind = std::mem::take(&mut self.kind);
        let data = self.data.split().freeze();
        std::mem::take(&mut self.has_data).then_some(Event { kind, data })
    }
}

/// The event stream of one response.
#[derive(Debug)]
pub(crate) struct EventReader {
    body: Body,
    stream: EventStream,
    /// The last id of the stream that this one resumes.
    before: Option<String>,
}

impl EventReader {
    pub(crate) fn new(response: Response<Body>, before: Option<&str>) -> Self {
        let before = before.map(str::to_owned);
        Self { body: response.into_body(), stream: EventStream::default(), before }
    }

    /// The next event; `None` at the end. A broken body counts as ended if the stream can be
    /// resumed.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if let Some(event) = self.stream.next_event()? {
                return Ok(Some(event));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.stream.push(&data);
                    }
                }
                Some(Err(error)) if self.last_id().is_none() => {
                    return Err(connection_error(&error));
                }
                Some(Err(_)) | None => return Ok(None),
            }
        }
    }

    /// Reads to the end, so that the connection can be reused.
    pub(crate) async fn finish(&mut self) {
        while let Some(Ok(_)) = self.body.frame().await {}
    }

    pub(crate) fn last_id(&self) -> Option<&str> {
        self.stream.last_id().or(self.before.as_deref()).filter(|id| !id.is_empty())
    }

    pub(crate) fn retry_ms(&self) -> Option<u64> {
        self.stream.retry_ms()
    }
}

#[cfg(test)]
mod tests;
