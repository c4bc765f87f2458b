//! The events of one response.

use http::Response;
use http_body_util::BodyExt;
use hyper::body::Incoming as Body;

use crate::error::Error;
use crate::transport::event_stream::{Event, EventStream};
use crate::transport::http_client::broken;

/// What came next on a stream.
#[derive(Debug)]
pub(crate) enum Step {
    Event(Event),
    Ended,
}

/// A response that is a stream of events.
#[derive(Debug)]
pub(crate) struct Events {
    body: Body,
    stream: EventStream,
    /// The last id of the stream this one continues.
    before: Option<String>,
}

impl Events {
    pub(crate) fn new(response: Response<Body>, before: Option<&str>) -> Self {
        let before = before.map(str::to_owned);
        Self { body: response.into_body(), stream: EventStream::default(), before }
    }

    /// The next event. A body that breaks off has ended: whoever waits decides what that means.
    pub(crate) async fn next(&mut self) -> Result<Step, Error> {
        loop {
            if let Some(event) =
                self.stream.next_event().map_err(|error| Error::TooLarge { limit: error.limit })?
            {
                return Ok(Step::Event(event));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.stream.push(&data);
                    }
                }
                Some(Err(error)) if self.last_id().is_none() => return Err(broken(&error)),
                Some(Err(_)) | None => return Ok(Step::Ended),
            }
        }
    }

    /// Reads to the end, for the sake of the connection.
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
