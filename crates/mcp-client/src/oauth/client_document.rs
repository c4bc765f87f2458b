//! The OAuth client document (client ID metadata document).
//!
//! An authorization server that supports client documents takes its URL as the `client_id` and
//! fetches it. The four rules here cover what it would reject.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName, Method, Uri};
use serde_json::{Value, json};

use super::callback::{CALLBACK_PATH, PINNED_PORTS};
use super::redirect::visible_excerpt;
use crate::config::{HttpEndpoint, fault_of_client_document};
use crate::error::{Error, Result};
use crate::host::Host;
use crate::transport::http_client::{HttpClient, JSON, read_body};

pub const MAX_DOCUMENT_BYTES: usize = 64 * 1024;
pub const MAX_FETCH_WAIT: Duration = Duration::from_secs(10);
const MAX_QUOTED_CHARS: usize = 200;

/// The four rules, in order.
pub const RULES: [&str; 4] = [
    "its URL uses https and has a path, without fragment, user information or dot segments",
    "it returns status 200 with `Content-Type: application/json`, without a redirect",
    "its `redirect_uris` list all ten loopback URLs",
    "its `client_id` is its own URL",
];

/// The document for the URL at which it will be served.
pub fn build(url: &str, client_name: &str, client_uri: Option<&str>) -> Value {
    let mut document = json!({
        "client_id": url,
        "client_name": client_name,
        "application_type": "native",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "redirect_uris": redirect_uris(),
    });
    if let Some(uri) = client_uri {
        document["client_uri"] = uri.into();
    }
    document
}

/// The loopback redirects that a document must declare: two hosts for each of the five ports.
pub fn redirect_uris() -> [String; 10] {
    std::array::from_fn(|index| {
        let host = if index % 2 == 0 { "127.0.0.1" } else { "localhost" };
        format!("http://{host}:{}{CALLBACK_PATH}", PINNED_PORTS[index / 2])
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedDocument {
    pub status: u16,
    pub content_type: Option<String>,
    pub location: Option<String>,
    pub body: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleViolation {
    #[error("invalid URL: {0}")]
    Address(&'static str),
    #[error("it returns status {0} instead of 200")]
    Status(u16),
    #[error("it redirects to {to}")]
    Redirected { to: String },
    #[error("its content type is {} instead of `application/json`", quoted(found.as_deref()))]
    ContentType { found: Option<String> },
    #[error("it is not a JSON object")]
    NotJson,
    #[error("its `redirect_uris` are missing {}", missing.join(", "))]
    MissingRedirects { missing: Vec<String> },
    #[error("its `client_id` is {} instead of the document URL", quoted(found.as_deref()))]
    ClientId { found: Option<String> },
}

impl RuleViolation {
    pub fn rule(&self) -> u8 {
        match self {
            Self::Address(_) => 1,
            Self::Status(_)
            | Self::Redirected { .. }
            | Self::ContentType { .. }
            | Self::NotJson => 2,
            Self::MissingRedirects { .. } => 3,
            Self::ClientId { .. } => 4,
        }
    }
}

fn quoted(found: Option<&str>) -> String {
    found.map_or_else(|| "missing".to_owned(), |found| format!("`{found}`"))
}

/// Checks the URL before anything is fetched.
pub fn check_address(url: &str) -> Option<RuleViolation> {
    fault_of_client_document(url).map(RuleViolation::Address)
}

/// All violations in order. Without a document the last two rules are not checked.
pub fn check(url: &str, fetched: &FetchedDocument) -> Vec<RuleViolation> {
    let excerpt = |text: &str| visible_excerpt(text, MAX_QUOTED_CHARS);
    let mut broken: Vec<RuleViolation> = check_address(url).into_iter().collect();
    if fetched.status != 200 {
        let to = fetched.location.as_deref().filter(|_| (300..400).contains(&fetched.status));
        broken.push(match to {
            Some(to) => RuleViolation::Redirected { to: excerpt(to) },
            None => RuleViolation::Status(fetched.status),
        });
        return broken;
    }
    let content_type = fetched.content_type.as_deref();
    let kind = content_type.unwrap_or_default().split(';').next().unwrap_or_default();
    if !kind.trim().eq_ignore_ascii_case("application/json") {
        broken.push(RuleViolation::ContentType { found: content_type.map(excerpt) });
    }
    let Ok(Value::Object(document)) = serde_json::from_slice(&fetched.body) else {
        broken.push(RuleViolation::NotJson);
        return broken;
    };
    let declared = document.get("redirect_uris").and_then(Value::as_array);
    let is_declared = |uri: &String| declared.is_some_and(|all| all.iter().any(|one| one == uri));
    let mut missing = redirect_uris().to_vec();
    missing.retain(|uri| !is_declared(uri));
    if !missing.is_empty() {
        broken.push(RuleViolation::MissingRedirects { missing });
    }
    let client_id = document.get("client_id").and_then(Value::as_str);
    if client_id != Some(url) {
        broken.push(RuleViolation::ClientId { found: client_id.map(excerpt) });
    }
    broken
}

/// Fetches a document as an authorization server would: without credentials or redirects, but
/// through the proxy and with the certificate authorities of the server `endpoint`.
pub async fn fetch(endpoint: &HttpEndpoint, host: &Host, url: &str) -> Result<FetchedDocument> {
    let anonymous = HttpEndpoint { verify: endpoint.verify.clone(), ..HttpEndpoint::new(url) };
    let client = HttpClient::new(&anonymous, host)?;
    tokio::time::timeout(MAX_FETCH_WAIT, get(&client, client.url()))
        .await
        .unwrap_or_else(|_| Err(Error::connect_timeout("GET", MAX_FETCH_WAIT)))
}

async fn get(client: &HttpClient, url: &Uri) -> Result<FetchedDocument> {
    let headers = HeaderMap::from_iter([(ACCEPT, JSON)]);
    let response = client.send_once(&Method::GET, url, &headers, Bytes::new()).await?;
    let text = |name: HeaderName| {
        let value = response.headers().get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let (content_type, location) = (text(CONTENT_TYPE), text(LOCATION));
    let status = response.status().as_u16();
    let body = read_body(response, MAX_DOCUMENT_BYTES).await?;
    Ok(FetchedDocument { status, content_type, location, body })
}

#[cfg(test)]
mod tests;
