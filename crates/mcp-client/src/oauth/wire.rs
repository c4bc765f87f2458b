//! Requests that belong to signing in: bounded in time and size, and never carrying what is for
//! the MCP server alone: its token, its headers, a login in its address. What the entry says of
//! certificates is for the MCP server's own origin; whoever else is spoken to is always verified.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Uri};
use serde_json::{Map, Value};

use crate::config::HttpEndpoint;
use crate::error::oauth::Error;
use crate::host::Host;
use crate::message::head;
use crate::transport::http_client::{
    HttpClient, MAX_REDIRECTS, read_body, redirect, too_many_redirects,
};
use crate::url::{is_safe, same_origin};

/// How long one request may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// The largest answer that is read.
const MAX_BODY_BYTES: usize = 1024 * 1024;
/// How much of a peer's words is kept.
const MAX_QUOTED_BYTES: usize = 300;
/// The longest wait a server can ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(1);

/// What sends the requests of signing in to one server.
#[derive(Debug)]
pub(crate) struct Wire {
    /// For the MCP server's own origin.
    own: HttpClient,
    /// For everybody else.
    others: HttpClient,
    /// What the entry wants to be sent to the MCP server.
    configured: HeaderMap,
    user_agent: HeaderValue,
    /// Instead of it, on requests to the token endpoint.
    token_user_agent: Option<HeaderValue>,
}

/// An answer, whatever its status.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) url: String,
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Which endpoint a form goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum To {
    TokenEndpoint,
    Other,
}

/// What a document is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// The MCP server. A gateway before it may want the headers of the entry here as well.
    Resource,
    /// An authorization server, which may be an old MCP server that says its version to it.
    Issuer { version: Option<&'static str> },
}

impl Wire {
    pub(crate) fn new(
        endpoint: &HttpEndpoint,
        host: &Host,
        token_user_agent: Option<&str>,
    ) -> Result<Self, crate::Error> {
        let mut own = HttpClient::new(endpoint, host)?;
        let mut configured = own.take_headers();
        for not_sent in [AUTHORIZATION, USER_AGENT] {
            configured.remove(not_sent);
        }
        let identity = format!("{}/{}", host.identity.name, host.identity.version);
        Ok(Self {
            own,
            others: HttpClient::to_others(endpoint, host)?,
            configured,
            user_agent: HeaderValue::from_str(&identity)
                .unwrap_or_else(|_| HeaderValue::from_static("agent")),
            token_user_agent: token_user_agent
                .filter(|text| !text.trim().is_empty())
                .and_then(|text| HeaderValue::from_str(text).ok()),
        })
    }

    /// The MCP server's own address.
    pub(crate) fn server(&self) -> &Uri {
        self.own.url()
    }

    /// Gets a document. Redirects are followed as far as it is safe, each as if it had been asked
    /// for.
    pub(crate) async fn get(&self, about: About, url: &str) -> Result<Reply, Error> {
        let mut target = address("the address", url)?;
        reply(url, async {
            for _ in 0..=MAX_REDIRECTS {
                let headers = self.headers_of(about, &target);
                let client = self.client(&target);
                let sent = client.send_once(&Method::GET, &target, &headers, Bytes::new());
                let response = sent.await?;
                let Some(next) = redirect(&target, &response)? else { return read(response).await };
                if !is_safe(&next) {
                    let what = "the redirect to";
                    return Err(Error::Insecure { what, url: quoted(&next.to_string()) }.into());
                }
                target = next;
            }
            Err(too_many_redirects(&target))
        })
        .await
    }

    /// Sends a JSON document. A redirect is an answer like any other.
    pub(crate) async fn post_json(&self, url: &str, document: &Value) -> Result<Reply, Error> {
        let target = address("the registration endpoint", url)?;
        let mut headers = self.headers(To::Other);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.post(url, &target, headers, document.to_string()).await
    }

    /// Sends a form. A redirect is an answer like any other: what is in the form is for this
    /// address and no other.
    pub(crate) async fn post_form(
        &self,
        to: To,
        url: &str,
        more: HeaderMap,
        form: &[(&str, Cow<'_, str>)],
    ) -> Result<Reply, Error> {
        let target = address("the token endpoint", url)?;
        let mut headers = self.headers(to);
        let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, form_type);
        headers.extend(more);
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        self.post(url, &target, headers, body).await
    }

    async fn post(
        &self,
        url: &str,
        target: &Uri,
        headers: HeaderMap,
        body: String,
    ) -> Result<Reply, Error> {
        let body = Bytes::from(body);
        let sent = self.client(target).send_once(&Method::POST, target, &headers, body);
        reply(url, async { read(sent.await?).await }).await
    }

    fn client(&self, target: &Uri) -> &HttpClient {
        if self.is_own(target) { &self.own } else { &self.others }
    }

    fn is_own(&self, target: &Uri) -> bool {
        same_origin(target, self.server())
    }

    fn headers_of(&self, about: About, target: &Uri) -> HeaderMap {
        let mut headers = match about {
            About::Resource if self.is_own(target) => self.configured.clone(),
            _ => HeaderMap::new(),
        };
        headers.extend(self.headers(To::Other));
        if let About::Issuer { version: Some(version) } = about {
            headers.insert("mcp-protocol-version", HeaderValue::from_static(version));
        }
        headers
    }

    fn headers(&self, to: To) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let own = self.token_user_agent.as_ref().filter(|_| to == To::TokenEndpoint);
        headers.insert(USER_AGENT, own.unwrap_or(&self.user_agent).clone());
        headers
    }
}

impl Reply {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body, if it is a JSON object.
    pub(crate) fn object(&self) -> Option<Map<String, Value>> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The `error` and `error_description` of a refusal.
    pub(crate) fn refusal(&self) -> (Option<String>, Option<String>) {
        let object = self.object().unwrap_or_default();
        let text = |key: &str| object.get(key).and_then(Value::as_str).map(quoted);
        (text("error"), text("error_description"))
    }

    /// The status of a server that is in trouble, or wants to be left alone.
    pub(crate) fn unavailable(&self) -> Option<Error> {
        (self.status == 429 || self.status >= 500).then(|| Error::Unavailable {
            url: self.url.clone(),
            status: self.status,
            retry_after: self.retry_after(),
        })
    }

    fn retry_after(&self) -> Option<Duration> {
        let seconds = self.headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
        Some(Duration::from_secs(seconds).min(MAX_RETRY_AFTER))
    }
}

/// A peer's words, short and on one line.
pub(crate) fn quoted(text: &str) -> String {
    let line: String =
        text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    head(line.trim(), MAX_QUOTED_BYTES)
}

/// Where secrets or decisions go must be encrypted, or within this machine.
pub(crate) fn address(what: &'static str, url: &str) -> Result<Uri, Error> {
    let parsed = url.parse::<Uri>().ok().filter(|uri| uri.host().is_some());
    let Some(uri) = parsed else {
        let reason = "it is not an address".to_owned();
        return Err(Error::Malformed { url: quoted(url), reason });
    };
    if is_safe(&uri) { Ok(uri) } else { Err(Error::Insecure { what, url: quoted(url) }) }
}

async fn read(
    response: http::Response<hyper::body::Incoming>,
) -> Result<(u16, HeaderMap, Bytes), crate::Error> {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Ok((status, headers, read_body(response, MAX_BODY_BYTES).await?))
}

async fn reply(
    url: &str,
    answer: impl Future<Output = Result<(u16, HeaderMap, Bytes), crate::Error>>,
) -> Result<Reply, Error> {
    let shown = url.split('?').next().unwrap_or_default();
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(Ok((status, headers, body))) => {
            Ok(Reply { url: shown.to_owned(), status, headers, body })
        }
        Ok(Err(crate::Error::OAuth(error))) => Err(*error),
        Ok(Err(crate::Error::Malformed { reason })) => {
            Err(Error::Malformed { url: shown.to_owned(), reason })
        }
        Ok(Err(error @ crate::Error::TooLarge { .. })) => {
            Err(Error::Malformed { url: shown.to_owned(), reason: error.to_string() })
        }
        Ok(Err(error)) => Err(Error::Unreached(Box::new(error))),
        Err(_) => Err(Error::Silent { url: shown.to_owned(), after: PATIENCE }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, retry_after: Option<&str>) -> Reply {
        let mut headers = HeaderMap::new();
        if let Some(wait) = retry_after {
            headers.insert(RETRY_AFTER, wait.parse().unwrap());
        }
        Reply { url: "https://a.example".to_owned(), status, headers, body: Bytes::new() }
    }

    #[test]
    fn a_server_may_ask_to_wait_but_not_for_ever() {
        let wait = |text: &str| match answered(429, Some(text)).unavailable() {
            Some(Error::Unavailable { retry_after, .. }) => retry_after,
            _ => None,
        };
        assert_eq!(wait("7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("999999999"), Some(MAX_RETRY_AFTER));
        assert_eq!(wait("Wed, 21 Oct 2026 07:28:00 GMT"), None);
        assert!(answered(400, Some("7")).unavailable().is_none());
    }

    #[test]
    fn an_address_must_be_safe() {
        assert!(address("the token endpoint", "https://a.example/token").is_ok());
        let error = address("the token endpoint", "http://a.example/token").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the token endpoint http://a.example/token is not encrypted, and secrets would travel to it"
        );
        assert!(matches!(address("x", "/token"), Err(Error::Malformed { .. })));
    }
}
