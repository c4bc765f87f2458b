//! A stream of events.

use http::{HeaderMap, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;
use wire::sse::{Event, Splitter};

use super::MAX_SILENCE;
use super::error::MemberError;

const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

#[derive(Debug)]
pub struct Events {
    pub headers: HeaderMap,
    body: Incoming,
    splitter: Splitter,
    is_over: bool,
}

impl Events {
    pub(super) fn new(response: Response<Incoming>) -> Self {
        let (parts, body) = response.into_parts();
        let splitter = Splitter::new(MAX_EVENT_BYTES);
        Self { headers: parts.headers, body, splitter, is_over: false }
    }

    /// The next event with data; `None` at the end of the stream. Skips keep-alive comments.
    pub async fn next(&mut self) -> Result<Option<Event>, MemberError> {
        loop {
            match self.splitter.next() {
                Some(Ok(event)) if event.data().is_empty() => continue,
                Some(Ok(event)) => return Ok(Some(event)),
                Some(Err(error)) => return Err(MemberError::Nonsense { what: error.to_string() }),
                None if self.is_over => return Ok(None),
                None => {}
            }
            let frame = tokio::time::timeout(MAX_SILENCE, self.body.frame()).await;
            match frame.map_err(|_| MemberError::Late { after: MAX_SILENCE })? {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.splitter.push(data);
                    }
                }
                Some(Err(error)) => return Err(MemberError::Broken { reason: error.to_string() }),
                None => self.is_over = true,
            }
        }
    }
}

/// The JSON of an event. An error event is an error.
pub fn data(event: &Event) -> Result<Value, MemberError> {
    let value: Value = serde_json::from_slice(&event.data()).map_err(|error| {
        MemberError::Nonsense { what: format!("an event with invalid JSON: {error}") }
    })?;
    match value.get("error") {
        Some(error) if !error.is_null() => Err(MemberError::in_stream(error)),
        _ => Ok(value),
    }
}
