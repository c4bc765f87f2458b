//! A look at an address before the first handshake: a web page is not an MCP server.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use super::http_client::{HttpClient, media_type};
use crate::error::Error;

/// How long the look may take; an address that is slower is left to the handshake.
const LOOK: Duration = Duration::from_secs(5);
/// How long a HEAD may take before GET is tried: some servers never send its headers off.
const HEAD: Duration = Duration::from_secs(1);

/// Fails only if the address answers with success and a content type that MCP never uses, and
/// does not answer an `initialize` either. Everything else is left to the handshake to judge.
/// Neither question takes longer than `connect`, all that the entry allows for connecting.
pub(crate) async fn look(
    client: &HttpClient,
    initialize: Bytes,
    connect: Duration,
) -> Result<(), Error> {
    let within = LOOK.min(connect);
    let Ok(found) = tokio::time::timeout(within, kind_of(client)).await else { return Ok(()) };
    let Some(content_type) = found else { return Ok(()) };
    let rescued = tokio::time::timeout(within, answers(client, initialize)).await;
    if rescued.unwrap_or(false) {
        return Ok(());
    }
    Err(Error::NotMcp { url: client.shown().to_owned(), content_type })
}

/// The content type that speaks against the address, if any does.
async fn kind_of(client: &HttpClient) -> Option<String> {
    for (method, most) in [(Method::HEAD, HEAD), (Method::GET, LOOK)] {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let sent = client.send(method, client.url(), headers, Bytes::new());
        let Ok(response) = tokio::time::timeout(most, sent).await else { continue };
        let response = response.ok()?;
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED => {}
            status if status.is_success() => {
                let kind = media_type(response.headers());
                return (!kind.is_empty() && !is_mcp(&kind)).then_some(kind);
            }
            _ => return None,
        }
    }
    None
}

async fn answers(client: &HttpClient, initialize: Bytes) -> bool {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let sent = client.send(Method::POST, client.url(), headers, initialize).await;
    sent.is_ok_and(|response| {
        response.status().is_success() && is_mcp(&media_type(response.headers()))
    })
}

fn is_mcp(kind: &str) -> bool {
    matches!(kind, "application/json" | "text/event-stream")
}
