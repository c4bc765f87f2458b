//! Bodies of requests: how much of them is read, and how long.

use std::pin::pin;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, EXPECT};
use http::{HeaderMap, HeaderName};
use http_body_util::{BodyExt, Limited};
use hyper::body::Body as _;
use serde::de::{DeserializeOwned, IgnoredAny};
use sha2::{Digest, Sha256};
use tokio::time::timeout;
use wire::error::Code;

use ledger::IdempotencyKey;

use crate::envelope::check_values;
use crate::failure::ApiError;
use crate::service::Service;
use crate::within::within;

/// How much of a body that nobody wants is taken, and for how long.
const MAX_DISCARDED: usize = 64 * 1024 * 1024;
const DISCARD_TIME: Duration = Duration::from_secs(10);
/// By what a client repeats a request.
pub(super) static IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// How much of the name of a field is told.
const MAX_NAME_CHARS: usize = 64;
/// The longest idempotency key.
const MAX_IDEMPOTENCY_KEY: usize = 255;

/// Reads a whole body.
pub(crate) async fn read(
    service: &Service,
    headers: &HeaderMap,
    mut body: Body,
) -> Result<Bytes, ApiError> {
    let limits = &service.config.limits;
    let max = usize::try_from(limits.max_body_bytes).unwrap_or(usize::MAX);
    let encoding = headers.get(CONTENT_ENCODING).map(http::HeaderValue::as_bytes);
    if encoding.is_some_and(|encoding| encoding != b"identity") {
        let message = "compressed bodies are not read; send it without Content-Encoding";
        return Err(ApiError::new(Code::InvalidRequest, message));
    }
    if announced(headers).is_some_and(|length| length > max) {
        discard(headers, body);
        return Err(too_large(max));
    }
    let result = within(limits.body_timeout, collect(&mut body, max)).await;
    if matches!(&result, Ok(Err(error)) if error.code() == Code::BodyTooLarge) {
        discard(headers, body);
    }
    result.map_err(|_| {
        let message = "the body did not arrive in time";
        ApiError::new(Code::BodyTimeout, message)
    })?
}

/// How long a body is, as its client says.
pub(super) fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Takes what a client goes on to send of a body that nobody wants, within limits: most clients
/// read no answer before they have sent everything.
pub(crate) fn discard(headers: &HeaderMap, body: Body) {
    // Who asks before sending it is answered before sending it.
    if headers.contains_key(EXPECT) || body.is_end_stream() {
        return;
    }
    let rest = Limited::new(body, MAX_DISCARDED);
    // Nothing waits for it: not the answer, and not the end of the service.
    tokio::spawn(timeout(DISCARD_TIME, async move {
        let mut rest = pin!(rest);
        while let Some(Ok(_)) = rest.frame().await {}
    }));
}

async fn collect(body: &mut Body, max: usize) -> Result<Bytes, ApiError> {
    let mut first: Option<Bytes> = None;
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| ApiError::new(Code::InvalidRequest, "the body broke off"))?;
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

fn too_large(max: usize) -> ApiError {
    ApiError::new(Code::BodyTooLarge, format!("the body is larger than {max} bytes"))
}

/// Reads a body that must have exactly one shape; `wrong` says what is wrong with another one, by
/// where that stands and what the reader says.
pub(super) fn parse<T: DeserializeOwned>(
    body: &[u8],
    wrong: impl Fn(&str, &str) -> ApiError,
) -> Result<T, ApiError> {
    let no_json = |error: &serde_json::Error| {
        ApiError::new(Code::InvalidJson, format!("the body is not JSON: {error}"))
    };
    if body.trim_ascii_start().first().is_some_and(|&byte| byte != b'{') {
        // Serde would take a list for a struct as well.
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

/// What is wrong where the reader says that a field is unknown.
pub(super) fn unknown(said: &str, known: &[&str]) -> Option<ApiError> {
    said.strip_prefix("unknown field")?;
    let named = said.split('`').nth(1).unwrap_or_default();
    let short: String = named.chars().take(MAX_NAME_CHARS).collect();
    let message = format!("`{short}` is not known here; {}", meant(named, known));
    Some(ApiError::of_param(Code::InvalidRequest, short, message))
}

/// Which field was probably meant, or which there are.
pub(super) fn meant(named: &str, known: &[&str]) -> String {
    match settings::nearest(named, known.iter().copied()) {
        Some((_, meant)) => format!("did you mean `{meant}`?"),
        None => format!("known are `{}`", known.join("`, `")),
    }
}

/// The client's word for this request, with the digest of what it asks.
pub(crate) fn idempotency(
    headers: &HeaderMap,
    path: &str,
    body: &[u8],
) -> Result<Option<IdempotencyKey>, ApiError> {
    let Some(value) = headers.get(&IDEMPOTENCY_KEY) else { return Ok(None) };
    let word = value
        .to_str()
        .ok()
        .map(str::trim)
        .filter(|word| !word.is_empty() && word.len() <= MAX_IDEMPOTENCY_KEY);
    let Some(word) = word else {
        let message =
            format!("`Idempotency-Key` must be 1 to {MAX_IDEMPOTENCY_KEY} visible characters");
        return Err(ApiError::of_param(Code::InvalidRequest, "Idempotency-Key", message));
    };
    let mut digest = Sha256::new();
    digest.update(path.as_bytes());
    digest.update([0]);
    digest.update(body);
    Ok(Some(IdempotencyKey { key: word.to_owned(), body_sha256: digest.finalize().into() }))
}
