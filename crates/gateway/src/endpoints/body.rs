//! Bodies of requests: limits of size and time, and parsing.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, EXPECT};
use http::{HeaderMap, HeaderName};
use http_body_util::{BodyExt, Limited};
use hyper::body::Body as _;
use serde::de::{DeserializeOwned, IgnoredAny};
use sha2::{Digest, Sha256};
use tokio::time::timeout;
use wire::error::Code;

use ledger::IdempotencyKey;

use crate::config::Limits;
use crate::failure::{ApiError, ApiResult};
use crate::parsing::SMALL_BYTES;
use crate::raw_object::check_values;

/// Limits on reading the body of a rejected request.
const MAX_DISCARDED: usize = 64 * 1024 * 1024;
const DISCARD_TIME: Duration = Duration::from_secs(10);
pub(super) static IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const MAX_NAME_CHARS: usize = 64;
const MAX_IDEMPOTENCY_KEY: usize = 255;

pub(super) async fn read(limits: &Limits, headers: &HeaderMap, body: Body) -> ApiResult<Bytes> {
    let (mut body, max) = admitted(limits, headers, body)?;
    let result = timeout(limits.body_timeout, collect(&mut body, max)).await;
    if matches!(&result, Ok(Err(error)) if error.code() == Code::BodyTooLarge) {
        discard(headers, body);
    }
    result.map_err(|_| timed_out())?
}

pub(super) fn timed_out() -> ApiError {
    ApiError::new(Code::BodyTimeout, "timeout while reading the request body")
}

/// A body that its headers do not exclude, and its largest size.
fn admitted(limits: &Limits, headers: &HeaderMap, body: Body) -> ApiResult<(Body, usize)> {
    let max = usize::try_from(limits.max_body_bytes).unwrap_or(usize::MAX);
    let encoding = headers.get(CONTENT_ENCODING).map(http::HeaderValue::as_bytes);
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    let error = if encoding.is_some_and(|encoding| encoding != b"identity") {
        let message = "compressed bodies are not supported; send the body without Content-Encoding";
        ApiError::new(Code::InvalidRequest, message)
    } else if length.is_some_and(|length: usize| length > max) {
        too_large(max)
    } else {
        return Ok((body, max));
    };
    discard(headers, body);
    Err(error)
}

/// Whether a body is known to take little memory.
pub(super) fn is_small(body: &Body) -> bool {
    body.size_hint().upper().is_some_and(|bytes| bytes <= SMALL_BYTES as u64)
}

/// A body as it arrives, within the limit of its size. On drop, the rest is discarded.
pub(super) struct ArrivingBody {
    body: Body,
    left: usize,
    max: usize,
    has_yielded: bool,
}

impl ArrivingBody {
    pub(super) fn new(limits: &Limits, headers: &HeaderMap, body: Body) -> ApiResult<Self> {
        let (body, max) = admitted(limits, headers, body)?;
        Ok(Self { body, left: max, max, has_yielded: false })
    }
}

impl Stream for ArrivingBody {
    type Item = ApiResult<Bytes>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        // The parser of forms buffers everything that is ready: it gets one piece at a time.
        if std::mem::take(&mut this.has_yielded) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        loop {
            let Some(frame) = ready!(Pin::new(&mut this.body).poll_frame(context)) else {
                return Poll::Ready(None);
            };
            let frame = frame.map_err(|_| closed())?;
            let Ok(data) = frame.into_data() else { continue };
            let Some(left) = this.left.checked_sub(data.len()) else {
                return Poll::Ready(Some(Err(too_large(this.max))));
            };
            (this.left, this.has_yielded) = (left, true);
            return Poll::Ready(Some(Ok(data)));
        }
    }
}

impl Drop for ArrivingBody {
    fn drop(&mut self) {
        discard_rest(std::mem::take(&mut self.body));
    }
}

/// Reads and discards the rest of a rejected body, within limits: most clients read no response
/// before they have sent everything.
pub(super) fn discard(headers: &HeaderMap, body: Body) {
    // The client waits for our response before it sends the body.
    if !headers.contains_key(EXPECT) {
        discard_rest(body);
    }
}

fn discard_rest(body: Body) {
    if body.is_end_stream() {
        return;
    }
    // Without a runtime the service is stopping.
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    let rest = Limited::new(body, MAX_DISCARDED);
    // Not tracked: neither the response nor the drain waits for it.
    runtime.spawn(timeout(DISCARD_TIME, async move {
        let mut rest = pin!(rest);
        while let Some(Ok(_)) = rest.frame().await {}
    }));
}

async fn collect(body: &mut Body, max: usize) -> ApiResult<Bytes> {
    let mut first: Option<Bytes> = None;
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| closed())?;
        let Ok(data) = frame.into_data() else { continue };
        let so_far = whole.len() + first.as_ref().map_or(0, Bytes::len);
        if so_far + data.len() > max {
            return Err(too_large(max));
        }
        if first.is_none() && whole.is_empty() {
            first = Some(data);
        } else {
            if let Some(first) = first.take() {
                whole.extend_from_slice(&first);
            }
            whole.extend_from_slice(&data);
        }
    }
    Ok(first.unwrap_or_else(|| whole.freeze()))
}

fn closed() -> ApiError {
    ApiError::new(Code::InvalidRequest, "the connection was closed while the body was sent")
}

fn too_large(max: usize) -> ApiError {
    ApiError::new(Code::BodyTooLarge, format!("the body exceeds {max} bytes"))
}

/// Parses a body into a type. `wrong` makes an error of a path in the body and the message of serde.
pub(super) fn parse<T: DeserializeOwned>(
    body: &[u8],
    wrong: impl Fn(&str, &str) -> ApiError,
) -> ApiResult<T> {
    let no_json = |error: &serde_json::Error| {
        ApiError::new(Code::InvalidJson, format!("the body is not valid JSON: {error}"))
    };
    if body.trim_ascii_start().first().is_some_and(|&byte| byte != b'{') {
        // Serde would accept a list for a struct.
        serde_json::from_slice::<IgnoredAny>(body).map_err(|error| no_json(&error))?;
        return Err(ApiError::new(Code::InvalidRequest, "the body must be a JSON object"));
    }
    check_values(body)?;
    let mut reader = serde_json::Deserializer::from_slice(body);
    let request = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        if error.is_data() { wrong(&path, &error.to_string()) } else { no_json(&error) }
    })?;
    reader.end().map_err(|error| no_json(&error))?;
    Ok(request)
}

/// The error for an unknown field, if the message of serde reports one.
pub(super) fn unknown(message: &str, known: &[&str]) -> Option<ApiError> {
    message.strip_prefix("unknown field")?;
    let named = message.split('`').nth(1).unwrap_or_default();
    let short: String = named.chars().take(MAX_NAME_CHARS).collect();
    let message = format!("unknown field `{short}`; {}", suggestion(named, known));
    Some(ApiError::invalid(short, message))
}

/// A suggestion for an unknown field, or the list of known ones.
pub(super) fn suggestion(named: &str, known: &[&str]) -> String {
    match settings::nearest(named, known.iter().copied()) {
        Some((_, meant)) => format!("did you mean `{meant}`?"),
        None => format!("known fields are `{}`", known.join("`, `")),
    }
}

/// The idempotency key of a request, with the digest of its content.
pub(super) fn idempotency(
    headers: &HeaderMap,
    purpose: &str,
    body: &[u8],
) -> ApiResult<Option<IdempotencyKey>> {
    let word = idempotency_word(headers)?;
    let key = |word: &str| {
        let mut digest = Sha256::new();
        digest.update(purpose.as_bytes());
        digest.update([0]);
        digest.update(body);
        IdempotencyKey { key: word.to_owned(), body_sha256: digest.finalize().into() }
    };
    Ok(word.map(key))
}

pub(super) fn idempotency_word(headers: &HeaderMap) -> ApiResult<Option<&str>> {
    let Some(value) = headers.get(&IDEMPOTENCY_KEY) else { return Ok(None) };
    let word = value
        .to_str()
        .ok()
        .map(str::trim)
        .filter(|word| !word.is_empty() && word.len() <= MAX_IDEMPOTENCY_KEY);
    let Some(word) = word else {
        let message =
            format!("`Idempotency-Key` must be 1 to {MAX_IDEMPOTENCY_KEY} visible characters");
        return Err(ApiError::invalid("Idempotency-Key", message));
    };
    Ok(Some(word))
}
