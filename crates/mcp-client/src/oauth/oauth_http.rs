//! Requests to authorization servers and metadata documents: bounded in time and size.
//!
//! They never carry what is for the MCP server alone: its token, headers and URL credentials. The
//! certificate settings of the entry apply to the MCP server's origin; all other hosts are
//! verified.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Response, Uri};
use hyper::body::Incoming;
use serde_json::{Map, Value};

use crate::config::HttpEndpoint;
use crate::error::oauth::{Error, Result};
use crate::host::Host;
use crate::message::truncated;
use crate::transport::http_client::{
    HttpClient, JSON, MAX_REDIRECTS, read_body, redirect, too_many_redirects,
};
use crate::url::{is_secure, same_origin};

pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_BODY_BYTES: usize = 1024 * 1024;
const MAX_QUOTED_BYTES: usize = 300;
/// Maximum `Retry-After` that is honored.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(1);

#[derive(Debug)]
pub(crate) struct OAuthHttp {
    own: HttpClient,
    others: HttpClient,
    configured: HeaderMap,
    user_agent: HeaderValue,
    /// Overrides `user_agent` for the token endpoint.
    token_user_agent: Option<HeaderValue>,
}

#[derive(Debug)]
pub(crate) struct HttpReply {
    pub(crate) url: String,
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormTarget {
    TokenEndpoint,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetadataOwner {
    /// The MCP server. A gateway in front of it may require the configured headers.
    Resource,
    /// An authorization server. An old MCP server expects the protocol version.
    Issuer { version: Option<&'static str> },
}

impl OAuthHttp {
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

    pub(crate) fn server(&self) -> &Uri {
        self.own.url()
    }

    /// Gets a document. Each redirect is checked like the original URL.
    pub(crate) async fn get(&self, about: MetadataOwner, url: &str) -> Result<HttpReply> {
        let mut target = secure_address("the URL", url)?;
        reply(url, async {
            for _ in 0..=MAX_REDIRECTS {
                let headers = self.headers_of(about, &target);
                let client = self.client(&target);
                let sent = client.send_once(&Method::GET, &target, &headers, Bytes::new());
                let response = sent.await?;
                let Some(next) = redirect(&target, &response)? else { return Ok(response) };
                if !is_secure(&next) {
                    let what = "the redirect to";
                    return Err(
                        Error::Insecure { what, url: one_line_excerpt(&next.to_string()) }.into()
                    );
                }
                target = next;
            }
            Err(too_many_redirects(&target))
        })
        .await
    }

    /// Posts a JSON document. Redirects are not followed.
    pub(crate) async fn post_json(&self, url: &str, document: &Value) -> Result<HttpReply> {
        let target = secure_address("the registration endpoint", url)?;
        let mut headers = self.headers(FormTarget::Other);
        headers.insert(CONTENT_TYPE, JSON);
        self.post(url, &target, headers, document.to_string()).await
    }

    /// Posts a form. Redirects are not followed: its secrets are for this URL only.
    pub(crate) async fn post_form(
        &self,
        to: FormTarget,
        url: &str,
        more: HeaderMap,
        form: &[(&str, Cow<'_, str>)],
    ) -> Result<HttpReply> {
        let target = secure_address("the token endpoint", url)?;
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
    ) -> Result<HttpReply> {
        let body = Bytes::from(body);
        let sent = self.client(target).send_once(&Method::POST, target, &headers, body);
        reply(url, sent).await
    }

    fn client(&self, target: &Uri) -> &HttpClient {
        if self.is_own(target) { &self.own } else { &self.others }
    }

    fn is_own(&self, target: &Uri) -> bool {
        same_origin(target, self.server())
    }

    fn headers_of(&self, about: MetadataOwner, target: &Uri) -> HeaderMap {
        let mut headers = match about {
            MetadataOwner::Resource if self.is_own(target) => self.configured.clone(),
            _ => HeaderMap::new(),
        };
        headers.extend(self.headers(FormTarget::Other));
        if let MetadataOwner::Issuer { version: Some(version) } = about {
            headers.insert("mcp-protocol-version", HeaderValue::from_static(version));
        }
        headers
    }

    fn headers(&self, to: FormTarget) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, JSON);
        let own = self.token_user_agent.as_ref().filter(|_| to == FormTarget::TokenEndpoint);
        headers.insert(USER_AGENT, own.unwrap_or(&self.user_agent).clone());
        headers
    }
}

impl HttpReply {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub(crate) fn object(&self) -> Option<Map<String, Value>> {
        serde_json::from_slice(&self.body).ok()
    }

    pub(crate) fn refusal(&self) -> (Option<String>, Option<String>) {
        let object = self.object().unwrap_or_default();
        let text = |key: &str| object.get(key).and_then(Value::as_str).map(one_line_excerpt);
        (text("error"), text("error_description"))
    }

    /// The error of a reply that is not a success.
    pub(crate) fn error(&self) -> Error {
        let (code, description) = self.refusal();
        match (self.unavailable(), code) {
            (Some(unavailable), _) => unavailable,
            (None, Some(code)) => Error::Refused { status: self.status, code, description },
            (None, None) => {
                self.malformed(&format!("HTTP status {} without an error code", self.status))
            }
        }
    }

    pub(crate) fn malformed(&self, reason: &str) -> Error {
        Error::Malformed { url: self.url.clone(), reason: reason.to_owned() }
    }

    /// The error for a status that asks to retry later.
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

/// A peer text, bounded and on one line.
pub(crate) fn one_line_excerpt(text: &str) -> String {
    let line: String =
        text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    truncated(line.trim(), MAX_QUOTED_BYTES)
}

/// Parses a URL that receives secrets or decides on them: https, or loopback.
pub(crate) fn secure_address(what: &'static str, url: &str) -> Result<Uri> {
    let parsed = url.parse::<Uri>().ok().filter(|uri| uri.host().is_some());
    let Some(uri) = parsed else {
        let reason = "not a valid URL".to_owned();
        return Err(Error::Malformed { url: one_line_excerpt(url), reason });
    };
    if is_secure(&uri) {
        Ok(uri)
    } else {
        Err(Error::Insecure { what, url: one_line_excerpt(url) })
    }
}

/// Waits for a response and reads it, within the time and size that are allowed.
async fn reply(
    url: &str,
    response: impl Future<Output = Result<Response<Incoming>, crate::Error>>,
) -> Result<HttpReply> {
    let url = url.split('?').next().unwrap_or_default().to_owned();
    let read = async {
        let response = response.await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Ok((status, headers, read_body(response, MAX_BODY_BYTES).await?))
    };
    match tokio::time::timeout(REQUEST_TIMEOUT, read).await {
        Ok(Ok((status, headers, body))) => Ok(HttpReply { url, status, headers, body }),
        Ok(Err(crate::Error::OAuth(error))) => Err(*error),
        Ok(Err(crate::Error::Malformed { reason })) => Err(Error::Malformed { url, reason }),
        Ok(Err(error @ crate::Error::TooLarge { .. })) => {
            Err(Error::Malformed { url, reason: error.to_string() })
        }
        Ok(Err(error)) => Err(Error::Unreached(Box::new(error))),
        Err(_) => Err(Error::Silent { url, after: REQUEST_TIMEOUT }),
    }
}

#[cfg(test)]
mod tests;
