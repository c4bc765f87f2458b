//! The event stream of one response.

use http::Response;
use http_body_util::BodyExt;
use hyper::body::Incoming as Body;

use crate::error::Error;
use crate::transport::event_stream::{Event, EventStream};
use crate::transport::http_client::connection_error;

#[derive(Debug)]
pub(crate) enum NextEvent {
    Event(Event),
    Ended,
}

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

    /// The next event. A broken body counts as ended if the stream can be resumed.
    pub(crate) async fn next(&mut self) -> Result<NextEvent, Error> {
        loop {
            if let Some(event) =
                self.stream.next_event().map_err(|error| Error::TooLarge { limit: error.limit })?
            {
                return Ok(NextEvent::Event(event));
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
                Some(Err(_)) | None => return Ok(NextEvent::Ended),
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
