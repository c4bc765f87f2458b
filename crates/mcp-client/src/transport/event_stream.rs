//! `text/event-stream`: its events, and the stream of a response.

use std::borrow::Cow;

use bytes::Bytes;
use http::Response;
use http_body_util::BodyExt;
use hyper::body::Incoming as Body;
use wire::sse::Splitter;

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
    splitter: Splitter,
    last_id: Option<String>,
    retry_ms: Option<u64>,
}

impl Default for EventStream {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT_BYTES)
    }
}

impl EventStream {
    pub fn with_limit(limit: usize) -> Self {
        Self { splitter: Splitter::new(limit), last_id: None, retry_ms: None }
    }

    pub fn push(&mut self, bytes: Bytes) {
        self.splitter.push(bytes);
    }

    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// The next complete event with data. Fails if an event is larger than the limit.
    pub fn next_event(&mut self) -> Result<Option<Event>, Error> {
        while let Some(event) = self.next_raw()? {
            if let Some(id) = event.id() {
                self.last_id = Some(id.to_owned());
            }
            self.retry_ms = event.retry_ms().or(self.retry_ms);
            if event.is_comment() {
                continue;
            }
            let data = match event.data() {
                Cow::Borrowed(line) => event.raw().slice_ref(line),
                Cow::Owned(lines) => Bytes::from(lines),
            };
            let kind = event.name().unwrap_or_default().to_owned();
            return Ok(Some(Event { kind, data }));
        }
        Ok(None)
    }

    fn next_raw(&mut self) -> Result<Option<wire::sse::Event>, Error> {
        match self.splitter.next() {
            Some(event) => {
                event.map(Some).map_err(|error| Error::TooLarge { limit: error.max_event_bytes })
            }
            // A lone carriage return ends an event at once: the next byte may never come, and a
            // line feed would only add an empty event.
            None if self.splitter.is_clean() => Ok(self.splitter.rest()),
            None => Ok(None),
        }
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
                        self.stream.push(data);
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
