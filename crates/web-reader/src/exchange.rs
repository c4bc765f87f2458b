//! One request and its response on a separate connection.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use document_parser::media_type;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH,
    CONTENT_TYPE, HOST, LOCATION, USER_AGENT,
};
use http::{HeaderMap, HeaderName, Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::time::timeout;

use super::connect::Connection;
use super::decode::Decoder;
use super::fault::{Fault, Result};
use super::target::Target;

/// Limits of the response head.
pub(crate) const MAX_HEAD_BYTES: usize = 64 * 1024;
const MAX_HEAD_LINES: usize = 200;
/// Timeouts of the head, and of silence after it.
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(10);
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);
const WANTED: &str = "text/html, application/xhtml+xml, text/markdown, text/plain;q=0.9, \
     application/json;q=0.9, application/pdf;q=0.8, */*;q=0.5";

pub(crate) const BROKEN: Fault = Fault::Unreachable("the host did not send a valid HTTP response");

#[derive(Debug)]
pub(crate) enum PageResponse {
    Content(Content),
    /// A redirect to this location.
    Elsewhere(String),
    Failed(u16),
}

/// The decoded body of a page.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) status: u16,
    pub(crate) media: Option<String>,
    pub(crate) may_be_cached: bool,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) struct PageFetch<'a> {
    pub(crate) target: &'a Target,
    pub(crate) user_agent: &'a str,
    pub(crate) limits: Limits,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) max_bytes: u64,
    /// Whether types without text are refused unread.
    pub(crate) readable_only: bool,
}

pub(crate) async fn exchange(
    connection: Connection,
    asked: &PageFetch<'_>,
) -> Result<PageResponse> {
    let request = request(asked).ok_or(Fault::BadUrl("cannot be requested"))?;
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEAD_LINES)
        .handshake(TokioIo::new(connection))
        .await
        .map_err(|_| BROKEN)?;
    let work = async {
        let response = timeout(FIRST_BYTE_TIMEOUT, sender.send_request(request))
            .await
            .map_err(|_| Fault::Late("the host did not start to respond"))?
            .map_err(|_| BROKEN)?;
        read(response, asked).await
    };
    drive(connection, work).await
}

/// Polls a connection together with the work on it.
pub(crate) async fn drive<T>(connection: impl Future, work: impl Future<Output = T>) -> T {
    let (mut work, mut connection) = (pin!(work), pin!(connection));
    let mut is_open = true;
    loop {
        tokio::select! {
            answer = &mut work => return answer,
            _ = &mut connection, if is_open => is_open = false,
        }
    }
}

fn request(asked: &PageFetch<'_>) -> Option<Request<Empty<Bytes>>> {
    Request::get(asked.target.path())
        .header(HOST, asked.target.authority())
        .header(USER_AGENT, asked.user_agent)
        .header(ACCEPT, WANTED)
        .header(ACCEPT_LANGUAGE, "*")
        .header(ACCEPT_ENCODING, "identity, gzip;q=0.5, deflate;q=0.4")
        .header(CONNECTION, "close")
        .body(Empty::new())
        .ok()
}

async fn read(response: http::Response<Incoming>, asked: &PageFetch<'_>) -> Result<PageResponse> {
    let (head, body) = response.into_parts();
    if matches!(head.status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        let location = text(&head.headers, &LOCATION);
        return Ok(
            location.map_or(PageResponse::Failed(head.status.as_u16()), PageResponse::Elsewhere)
        );
    }
    let is_page = head.status.is_success() && head.status != StatusCode::PARTIAL_CONTENT;
    if !is_page {
        return Ok(PageResponse::Failed(head.status.as_u16()));
    }
    let content_type = text(&head.headers, &CONTENT_TYPE);
    if asked.limits.readable_only && !media_type::may_have_text(content_type.as_deref()) {
        return Err(Fault::MediaType(content_type.unwrap_or_default()));
    }
    let encoding = text(&head.headers, &CONTENT_ENCODING).unwrap_or_default();
    let mut decoder = Decoder::new(&encoding, asked.limits.max_bytes)?;
    let announced = text(&head.headers, &CONTENT_LENGTH).and_then(|length| length.parse().ok());
    if announced.is_some_and(|length: u64| length > asked.limits.max_bytes) {
        return Err(Fault::TooLarge(asked.limits.max_bytes));
    }
    let mut body = pin!(body);
    loop {
        let frame = timeout(IDLE_TIMEOUT, body.frame())
            .await
            .map_err(|_| Fault::Late("the host stopped sending"))?;
        let Some(frame) = frame else { break };
        let frame = frame
            .map_err(|_| Fault::Unreachable("the connection closed before the end of the page"))?;
        if let Ok(data) = frame.into_data() {
            decoder.write(&data)?;
        }
    }
    Ok(PageResponse::Content(Content {
        status: head.status.as_u16(),
        media: content_type,
        may_be_cached: may_be_cached(&head.headers),
        bytes: decoder.finish()?,
    }))
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let value = headers.get(name)?;
    // Locations are often raw UTF-8.
    Some(String::from_utf8_lossy(value.as_bytes()).trim().to_owned())
}

fn may_be_cached(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(http::header::CACHE_CONTROL).iter();
    let forbids = |value: &http::HeaderValue| {
        let value = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
        value.split(',').any(|word| matches!(word.trim(), "no-store" | "private"))
    };
    !values.any(forbids)
}
