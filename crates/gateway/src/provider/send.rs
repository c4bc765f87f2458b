//! One request to one upstream.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Limited};
use serde::Deserialize;
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;
use tokio::time::timeout;

use super::failure::Failure;
use super::health::AskedBy;
use super::local::Local;
use super::{CHAT_PATH, LocalAnswer, Owner, Provider, Sender, Slot};
use crate::failure::{ApiError, chain};
use crate::trace::SpanContext;
use crate::upstream_pool::{PooledBody, RequestBody, RequestError};

const MAX_ERROR_BYTES: usize = 64 * 1024;
const ERROR_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum `Retry-After` that is passed on to a client.
const MAX_RETRY_AFTER: Duration = Duration::from_mins(2);

const NO_MODEL: &str = "model_not_found";
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// A successful response whose body is still arriving.
pub(crate) struct Upstream {
    pub(crate) headers: HeaderMap,
    body: Body,
    pub(crate) idle: Duration,
    /// The end of the body, if `ready_piece` found it.
    ended: Option<Result<Option<Bytes>, Failure>>,
    _slot: Slot,
}

#[derive(Debug, Deserialize)]
pub(crate) struct List {
    pub(crate) data: Vec<Listed>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Listed {
    pub(crate) id: String,
    #[serde(default, alias = "max_model_len")]
    pub(crate) context_length: Option<u64>,
}

enum Body {
    Connection(PooledBody),
    Local(BoxStream<'static, Result<Bytes, Failure>>),
}

impl Provider {
    /// Sends a request, with a header that replaces ours of that name, and waits until the upstream
    /// begins to answer with success.
    pub(crate) async fn send(
        &self,
        path: &str,
        body: RequestBody,
        header: Option<(HeaderName, HeaderValue)>,
        sender: Sender,
    ) -> Result<Upstream, Failure> {
        let slot = self.slot()?;
        if let Some(local) = &self.local {
            let (CHAT_PATH, RequestBody::Whole(body)) = (path, body) else {
                return Err(Failure::NotThere);
            };
            return self.answer_locally(local, &body, sender.owner, slot).await;
        }
        let max_time = self.timeouts.first_byte + body.max_time();
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self
            .address(path)
            .ok_or_else(|| Failure::Unreachable { cause: "invalid URL".to_owned() })?;
        *request.headers_mut() = self.headers.clone();
        if let Some((name, value)) = header {
            request.headers_mut().insert(name, value);
        }
        if let Some(header) = sender.span.and_then(SpanContext::header) {
            request.headers_mut().insert("traceparent", header);
        }
        let answer = timeout(max_time, self.pool.request(request))
            .await
            .map_err(|_| Failure::Late)?
            .map_err(|error| not_sent(&error))?;
        let (head, body) = answer.into_parts();
        let upstream = self.upstream(head.headers, Body::Connection(body), slot);
        self.note_status(AskedBy::Request, head.status.as_u16());
        if head.status.is_success() {
            return Ok(upstream);
        }
        Err(self.failure(head.status, upstream).await)
    }

    async fn answer_locally(
        &self,
        local: &Local,
        body: &Bytes,
        owner: Owner,
        slot: Slot,
    ) -> Result<Upstream, Failure> {
        let answer = local.answer(body, owner, self.timeouts).await;
        // The attempt has shown whether the file can be used.
        if matches!(answer, Err(Failure::Unusable { .. })) || self.trouble.load().is_some() {
            self.trouble.store(local.problem().map(Arc::new));
        }
        let LocalAnswer { media_type, pieces } = answer?;
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(media_type))]);
        Ok(self.upstream(headers, Body::Local(pieces), slot))
    }

    pub(crate) async fn fetch(&self, uri: Uri, max_bytes: usize) -> Result<Bytes, Failure> {
        let slot = self.slot()?;
        let mut request = Request::new(Bytes::new().into());
        *request.uri_mut() = uri;
        *request.headers_mut() = self.headers.clone();
        let answer = timeout(self.timeouts.first_byte, self.pool.request(request))
            .await
            .map_err(|_| Failure::Gone("the download timed out"))?
            .map_err(|_| Failure::Gone("the connection was closed before the download"))?;
        let (head, body) = answer.into_parts();
        if head.status != StatusCode::OK {
            return Err(Failure::Gone("the download failed"));
        }
        self.upstream(head.headers, Body::Connection(body), slot).read(max_bytes).await
    }

    /// Sends a request that no member pays for; a body is posted. The error is for operators.
    pub(crate) async fn ask(
        &self,
        path: &str,
        body: Option<String>,
        limit: Duration,
    ) -> Result<(StatusCode, Bytes), String> {
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let mut request = Request::new(body.unwrap_or_default().into());
        *request.method_mut() = method;
        *request.uri_mut() = self.base.join(path).ok_or("invalid URL")?;
        *request.headers_mut() = self.headers.clone();
        let answer = async {
            let answer = self.pool.request(request).await.map_err(|error| chain(&error))?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), MAX_ANSWER_BYTES).collect().await;
            Ok((status, body.map_err(|error| error.to_string())?.to_bytes()))
        };
        let late = |_| format!("timeout after {} seconds", limit.as_secs_f64());
        timeout(limit, answer).await.map_err(late)?
    }

    fn upstream(&self, headers: HeaderMap, body: Body, slot: Slot) -> Upstream {
        Upstream { headers, body, idle: self.timeouts.idle, ended: None, _slot: slot }
    }

    async fn failure(&self, status: StatusCode, mut upstream: Upstream) -> Failure {
        let retry_after = retry_after(&upstream.headers);
        let body = timeout(ERROR_TIMEOUT, upstream.read(MAX_ERROR_BYTES)).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        match status.as_u16() {
            // Several upstreams say so when they are overloaded.
            429 | 503 | 529 => Failure::Busy { retry_after },
            // Our key or address is wrong, not the request of the member.
            401 | 402 | 403 | 407 | 408 => Failure::Broken { status: status.as_u16() },
            404 | 410 if is_of_model(&body) => Failure::NoModel,
            404 | 405 | 410 => Failure::NotThere,
            400..=499 => Failure::Refused { message: self.cleaner.message(&body) },
            status => Failure::Broken { status },
        }
    }
}

impl Upstream {
    pub(crate) fn has_type(&self, media_type: &str) -> bool {
        let found = self.headers.get(CONTENT_TYPE);
        found.is_some_and(|value| value.as_bytes().starts_with(media_type.as_bytes()))
    }

    /// The next piece of the body without a timeout; `None` at its end.
    pub(crate) async fn any_piece(&mut self) -> Result<Option<Bytes>, Failure> {
        if let Some(ended) = self.ended.take() {
            return ended;
        }
        match &mut self.body {
            Body::Connection(body) => next_data(body).await,
            Body::Local(pieces) => pieces.next().await.transpose(),
        }
    }

    /// The next piece of the body, if it has arrived.
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
        let late = Failure::Gone("the response stalled");
        timeout(self.idle, self.any_piece()).await.map_err(|_| late)?
    }

    /// Reads the rest if it arrives at once, so that the connection can be reused.
    pub(crate) async fn close(mut self) {
        const LAST_BYTES: Duration = Duration::from_millis(50);
        let _ = timeout(LAST_BYTES, self.any_piece()).await;
    }

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

fn not_sent(error: &RequestError) -> Failure {
    let RequestError::Broken(broken) = error else {
        return Failure::Unreachable { cause: chain(error) };
    };
    // The client did not send the whole body, which is no failure of the upstream.
    let of_client = broken.source().and_then(|cause| cause.downcast_ref::<ApiError>());
    let gone = Failure::Gone("the connection was closed before the response");
    of_client.map_or(gone, |error| Failure::Unfit(error.clone()))
}

async fn next_data(body: &mut PooledBody) -> Result<Option<Bytes>, Failure> {
    loop {
        let Some(frame) = body.frame().await else { return Ok(None) };
        let frame = frame.map_err(|_| Failure::Gone("the connection was closed"))?;
        if let Ok(data) = frame.into_data()
            && !data.is_empty()
        {
            return Ok(Some(data));
        }
    }
}

fn is_of_model(body: &[u8]) -> bool {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    body["error"]["code"] == NO_MODEL
}

fn too_long() -> Failure {
    Failure::Malformed("the response is too large")
}

/// The `Retry-After` header: seconds or a date, bounded.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = if let Ok(seconds) = text.parse() {
        Duration::from_secs(seconds)
    } else {
        let date = OffsetDateTime::parse(text, &Rfc2822).ok()?;
        (date - OffsetDateTime::now_utc()).try_into().unwrap_or_default()
    };
    Some(wait.min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests;
