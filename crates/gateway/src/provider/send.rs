//! One request to one upstream.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use http::header::RETRY_AFTER;
use http::{HeaderMap, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::Provider;
use crate::trace::Place;

/// The most of an error body that is read.
const MAX_ERROR_BYTES: usize = 64 * 1024;
const ERROR_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest wait that an upstream may ask for on a client's behalf.
const MAX_RETRY_AFTER: Duration = Duration::from_mins(2);

/// An upstream that has begun to answer with success.
pub(crate) struct Upstream {
    pub(crate) headers: HeaderMap,
    body: Incoming,
    idle: Duration,
    /// How the body ended, where that was found out too early.
    ended: Option<Result<Option<Bytes>, Failure>>,
    /// Freed when the answer is over.
    _slot: OwnedSemaphorePermit,
}

/// Why an upstream gave no answer.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// The request itself is wrong, says the upstream; another would say the same.
    Refused { message: Option<String> },
    /// It does not know the path or the model.
    NotThere,
    /// It has too much to do.
    Busy { retry_after: Option<Duration> },
    /// It cannot be reached, broke off, or took too long.
    Gone(&'static str),
    /// It failed, or refused our key.
    Broken { status: u16 },
    /// It answered what is not an answer.
    Malformed(&'static str),
}

impl Failure {
    /// Whether this speaks against the upstream's health.
    pub(crate) fn is_its_fault(&self) -> bool {
        !matches!(self, Self::Refused { .. } | Self::NotThere | Self::Busy { .. })
    }

    /// The status it answered with, for logs.
    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Self::Broken { status } => Some(*status),
            _ => None,
        }
    }

    /// In one word, for logs and figures.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "refused",
            Self::NotThere => "not_there",
            Self::Busy { .. } => "busy",
            Self::Gone(_) => "gone",
            Self::Broken { .. } => "broken",
            Self::Malformed(_) => "malformed",
        }
    }
}

impl Provider {
    /// Sends a request and waits until the upstream begins to answer with success.
    pub(crate) async fn send(
        &self,
        path: &str,
        body: Bytes,
        traced: Option<Place>,
    ) -> Result<Upstream, Failure> {
        let slot = self
            .slots
            .clone()
            .try_acquire_owned()
            .map_err(|_| Failure::Busy { retry_after: None })?;
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.address(path).ok_or(Failure::Gone("its address is wrong"))?;
        *request.headers_mut() = self.headers.clone();
        if let Some(header) = traced.and_then(Place::header) {
            request.headers_mut().insert("traceparent", header);
        }
        let answer = timeout(self.timeouts.first_byte, self.client.request(request))
            .await
            .map_err(|_| Failure::Gone("it did not answer in time"))?
            .map_err(|error| {
                let what = if error.is_connect() { "it cannot be reached" } else { "it broke off" };
                Failure::Gone(what)
            })?;
        let (head, body) = answer.into_parts();
        let upstream = Upstream {
            headers: head.headers,
            body,
            idle: self.timeouts.idle,
            ended: None,
            _slot: slot,
        };
        if head.status.is_success() {
            return Ok(upstream);
        }
        Err(self.failure(head.status, upstream).await)
    }

    fn address(&self, path: &str) -> Option<Uri> {
        self.addresses.iter().find(|(known, _)| *known == path).map(|(_, address)| address.clone())
    }

    async fn failure(&self, status: StatusCode, mut upstream: Upstream) -> Failure {
        let retry_after = retry_after(&upstream.headers);
        let body = timeout(ERROR_TIMEOUT, upstream.read(MAX_ERROR_BYTES)).await;
        let message = body.ok().and_then(Result::ok).and_then(|body| self.cleaner.message(&body));
        match status.as_u16() {
            429 => Failure::Busy { retry_after },
            // Our key or our address is wrong, not what the member asked; a redirect likewise.
            401 | 402 | 403 | 407 | 408 => Failure::Broken { status: status.as_u16() },
            404 | 405 | 410 => Failure::NotThere,
            400..=499 => Failure::Refused { message },
            status => Failure::Broken { status },
        }
    }
}

impl Upstream {
    /// How long it may be silent in the middle of its answer.
    pub(crate) fn idle(&self) -> Duration {
        self.idle
    }

    /// The next piece of the body, however long it takes; `None` at its end.
    pub(crate) async fn any_piece(&mut self) -> Result<Option<Bytes>, Failure> {
        if let Some(ended) = self.ended.take() {
            return ended;
        }
        loop {
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            let frame = frame.map_err(|_| Failure::Gone("it broke off"))?;
            if let Ok(data) = frame.into_data()
                && !data.is_empty()
            {
                return Ok(Some(data));
            }
        }
    }

    /// The next piece of the body, if it is there.
    pub(crate) fn ready_piece(&mut self) -> Option<Bytes> {
        match self.any_piece().now_or_never()? {
            Ok(Some(piece)) => Some(piece),
            ended => {
                self.ended = Some(ended);
                None
            }
        }
    }

    /// The next piece of the body; `None` at its end.
    pub(crate) async fn piece(&mut self) -> Result<Option<Bytes>, Failure> {
        let late = Failure::Gone("it stopped in the middle of its answer");
        timeout(self.idle, self.any_piece()).await.map_err(|_| late)?
    }

    /// Reads what is left, if it comes at once: then the connection can be used again.
    pub(crate) async fn close(mut self) {
        const LAST_BYTES: Duration = Duration::from_millis(50);
        let _ = timeout(LAST_BYTES, self.any_piece()).await;
    }

    /// The whole body, up to a limit.
    pub(crate) async fn read(&mut self, limit: usize) -> Result<Bytes, Failure> {
        let Some(first) = self.piece().await? else { return Ok(Bytes::new()) };
        let Some(second) = self.piece().await? else {
            return if first.len() > limit { Err(too_long()) } else { Ok(first) };
        };
        let mut whole = BytesMut::from(first);
        let mut next = Some(second);
        while let Some(piece) = next {
            if whole.len() + piece.len() > limit {
                return Err(too_long());
            }
            whole.extend_from_slice(&piece);
            next = self.piece().await?;
        }
        Ok(whole.freeze())
    }
}

fn too_long() -> Failure {
    Failure::Malformed("its answer is longer than allowed")
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse::<u64>().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_RETRY_AFTER))
}
