//! The pre-flight probe: the content type of a URL before the first handshake.

use std::time::Duration;

use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderMap, Method, StatusCode};

use super::http_client::{HttpClient, JSON_OR_EVENTS, media_type};
use crate::error::Error;

/// Timeout of the probe; a slower URL is left to the handshake.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of HEAD before GET is tried: some servers never answer HEAD.
const HEAD_TIMEOUT: Duration = Duration::from_secs(1);

/// Fails if HEAD, or else GET, succeeds with a content type that MCP never uses. Everything else is
/// left to the handshake: an error status, no content type, a timeout.
pub(crate) async fn probe(client: &HttpClient, connect_timeout: Duration) -> Result<(), Error> {
    let probing = content_type(client);
    let Ok(found) = tokio::time::timeout(PROBE_TIMEOUT.min(connect_timeout), probing).await else {
        return Ok(());
    };
    match found {
        Some((method, content_type))
            if !matches!(content_type.as_str(), "application/json" | "text/event-stream") =>
        {
            Err(Error::Preflight { method, url: client.shown().to_owned(), content_type })
        }
        _ => Ok(()),
    }
}

/// The content type of the first successful response that has one.
async fn content_type(client: &HttpClient) -> Option<(Method, String)> {
    for (method, most) in [(Method::HEAD, HEAD_TIMEOUT), (Method::GET, PROBE_TIMEOUT)] {
        let headers = HeaderMap::from_iter([(ACCEPT, JSON_OR_EVENTS)]);
        let sent = client.send(method.clone(), client.url(), headers, Bytes::new());
        let Ok(response) = tokio::time::timeout(most, sent).await else { continue };
        let response = response.ok()?;
        match response.status() {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return None,
            status if status.is_success() => {
                let found = media_type(response.headers());
                if !found.is_empty() {
                    return Some((method, found));
                }
            }
            _ => {}
        }
    }
    None
}
