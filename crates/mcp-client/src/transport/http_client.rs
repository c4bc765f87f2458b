//! HTTP requests to one remote server: configured headers, TLS, proxies, and redirects that do not
//! leak credentials.
//!
//! The embedding program also uses it for its own service.

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{
    AUTHORIZATION, CONTENT_ENCODING, LOCATION, PROXY_AUTHORIZATION, WWW_AUTHENTICATE,
};
use http::uri::Scheme;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::connector::{Connector, ProxySettings};
use super::tls::{self, Peer};
use crate::config::{HttpEndpoint, Text};
use crate::error::{Error, Result};
use crate::host::Host;
use crate::message::truncated;
use crate::url::{enters_private_network, resolve_reference, same_origin, without_query};
use percent_encoding::percent_decode_str;

pub(crate) const MAX_REDIRECTS: usize = 5;
pub(crate) const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;
/// Maximum size kept of a refusal, challenge or redirect: more than is shown, so that a secret
/// is not cut before it is redacted.
const MAX_QUOTED_BYTES: usize = 4096;
/// Maximum size of a refusal that is searched for a JSON-RPC error.
const MAX_REFUSAL_BYTES: usize = 1024 * 1024;
/// Many servers close idle connections after five seconds, and a call that is sent meanwhile has an
/// unknown outcome.
const IDLE_CONNECTION_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(4);

/// Headers of the protocol: an entry cannot set them.
#[rustfmt::skip] // a table of words
const RESERVED: &[&str] = &[
    "accept", "accept-encoding", "expect", "keep-alive", "te", "trailer", "upgrade", "content-type",
    "content-length", "transfer-encoding", "connection", "host", "mcp-session-id",
    "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id",
];

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
pub(crate) const JSON_OR_EVENTS: HeaderValue =
    HeaderValue::from_static("application/json, text/event-stream");

pub(crate) type Authorized<'a> =
    Pin<Box<dyn Future<Output = Result<Response<Incoming>>> + Send + 'a>>;

pub(crate) trait Authorizer: fmt::Debug + Send + Sync {
    fn send(self: Arc<Self>, client: &HttpClient, request: Request<Bytes>) -> Authorized<'_>;
}

#[derive(Debug)]
pub struct HttpClient {
    client: Client<Connector, Full<Bytes>>,
    proxies: ProxySettings,
    url: Uri,
    shown: String,
    configured: HeaderMap,
    authorizer: Option<Arc<dyn Authorizer>>,
}

impl HttpClient {
    /// Loads certificates and headers; does not connect.
    pub(crate) fn new(endpoint: &HttpEndpoint, host: &Host) -> Result<Self> {
        Self::with(endpoint, &host.environment, Peer::Server)
    }

    /// A client for one service with these headers, the system's certificate authorities, and the
    /// proxies of the environment.
    pub fn to_service(
        url: &str,
        headers: Vec<(String, Text)>,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self> {
        let endpoint = HttpEndpoint { headers, skip_preflight: true, ..HttpEndpoint::new(url) };
        // Loading the certificate authorities takes longer than many requests.
        let is_plain = url.starts_with("http://");
        let peer = if is_plain { Peer::PlainText } else { Peer::Server };
        Self::with(&endpoint, environment, peer)
    }

    /// A client for other hosts than the server, such as its authorization server: only the
    /// certificate authorities of the entry apply.
    pub(crate) fn to_others(endpoint: &HttpEndpoint, host: &Host) -> Result<Self> {
        let mut client = Self::with(endpoint, &host.environment, Peer::ThirdParty)?;
        client.configured.clear();
        Ok(client)
    }

    fn with(
        endpoint: &HttpEndpoint,
        environment: &BTreeMap<String, String>,
        peer: Peer,
    ) -> Result<Self> {
        let proxies = ProxySettings::from_environment(environment);
        let shown = endpoint.url.shown().to_owned();
        let (url, login) = parse_address(endpoint.url.value())
            .map_err(|reason| Error::BadUrl { url: shown.clone(), reason })?;
        let mut configured = configured_headers(endpoint)?;
        if let (Some(login), false) = (login, configured.contains_key(AUTHORIZATION)) {
            configured.insert(AUTHORIZATION, login);
        }
        let connector = Connector::new(tls::configure(endpoint, peer)?, proxies.clone());
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_CONNECTION_TIMEOUT)
            .build(connector);
        Ok(Self { client, proxies, url, shown, configured, authorizer: None })
    }

    /// Sends every request through the authorizer, which replaces a configured `Authorization`
    /// header.
    pub(crate) fn authorized_by(mut self, authorizer: Option<Arc<dyn Authorizer>>) -> Self {
        if authorizer.is_some() {
            self.configured.remove(AUTHORIZATION);
        }
        self.authorizer = authorizer;
        self
    }

    /// Removes the configured headers, including the credentials of the URL.
    pub(crate) fn take_headers(&mut self) -> HeaderMap {
        std::mem::take(&mut self.configured)
    }

    pub fn url(&self) -> &Uri {
        &self.url
    }

    /// The host and port of the proxy for requests to this URL.
    pub fn proxy(&self, target: &Uri) -> Option<String> {
        let proxy = self.proxies.for_url(target)?;
        let place = proxy.uri().authority()?.as_str().rsplit('@').next()?;
        Some(place.to_owned())
    }

    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        target: &Uri,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>> {
        let Some(authorizer) = &self.authorizer else {
            return self.follow(&method, target, &headers, body).await;
        };
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = target.clone();
        *request.headers_mut() = headers;
        Arc::clone(authorizer).send(self, request).await
    }

    /// As [`HttpClient::send`], without the authorizer.
    pub(crate) async fn follow(
        &self,
        method: &Method,
        target: &Uri,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>> {
        let mut target = target.clone();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send_once(method, &target, headers, body.clone()).await?;
            let Some(next) = redirect(&target, &response)? else { return Ok(response) };
            target = next;
        }
        Err(too_many_redirects(&target))
    }

    /// Sends a request without following redirects.
    pub async fn send_once(
        &self,
        method: &Method,
        target: &Uri,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method.clone();
        *request.uri_mut() = target.clone();
        let all = request.headers_mut();
        // Configured headers and tokens are for this origin only.
        let is_ours = same_origin(target, &self.url);
        if is_ours {
            all.clone_from(&self.configured);
        }
        let has_token = self.authorizer.is_some();
        let own = |name: &HeaderName| has_token && (*name == AUTHORIZATION || *name == "dpop");
        let sent = headers.iter().filter(|(name, _)| is_ours || !own(name));
        // Headers of the request replace configured ones.
        for name in headers.keys() {
            all.remove(name);
        }
        all.extend(sent.map(|(name, value)| (name.clone(), value.clone())));
        if let Some(credentials) = self.proxies.credentials(target) {
            all.insert(PROXY_AUTHORIZATION, credentials);
        }
        let sent = self.client.request(request).await;
        let response = sent.map_err(|error| self.failure(target, &error));
        let status = response.as_ref().ok().map(|response| response.status().as_u16());
        tracing::debug!(%method, url = self.loggable(target), status, "HTTP request sent");
        response
    }

    /// The URL without resolved references or a query.
    fn loggable(&self, target: &Uri) -> String {
        if !same_origin(target, &self.url) {
            return without_query(target);
        }
        self.shown.split('?').next().unwrap_or_default().to_owned()
    }

    fn failure(&self, target: &Uri, error: &hyper_util::client::legacy::Error) -> Error {
        let url =
            if same_origin(target, &self.url) { self.shown.clone() } else { without_query(target) };
        let mut reason = root_cause(error);
        if let Some(proxy) = self.proxy(target) {
            reason = format!("via the proxy {proxy}: {reason}");
        }
        if error_chain(error).any(<dyn StdError>::is::<rustls::Error>)
            || error_chain(error)
                .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
                .filter_map(std::io::Error::get_ref)
                .any(<dyn StdError + Send + Sync>::is::<rustls::Error>)
        {
            return Error::Tls { url, reason };
        }
        // A server that rejects our certificate closes the connection after the handshake, possibly
        // before its alert is read.
        if target.scheme() == Some(&Scheme::HTTPS) && reason.ends_with("connection was not ready") {
            let reason = format!("{reason}; the server may require a client certificate");
            return Error::Tls { url, reason };
        }
        if error.is_connect() {
            Error::Unreachable { url, reason }
        } else {
            Error::Broken { reason }
        }
    }
}

pub(crate) fn redirect(from: &Uri, response: &Response<Incoming>) -> Result<Option<Uri>> {
    let status = response.status();
    let followed = [
        StatusCode::MOVED_PERMANENTLY,
        StatusCode::FOUND,
        StatusCode::TEMPORARY_REDIRECT,
        StatusCode::PERMANENT_REDIRECT,
    ];
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let (true, Some(location)) = (followed.contains(&status), location) else { return Ok(None) };
    let refused = |reason| Error::Redirect { to: truncated(location, MAX_QUOTED_BYTES), reason };
    let to = resolve_reference(from, location).ok_or_else(|| refused("not a valid URL"))?;
    if from.scheme() == Some(&Scheme::HTTPS) && to.scheme() != Some(&Scheme::HTTPS) {
        return Err(refused("redirects from https to http are not followed"));
    }
    if enters_private_network(from, &to) {
        return Err(refused("redirects from a public to a private address are not followed"));
    }
    Ok(Some(to))
}

pub(crate) fn too_many_redirects(to: &Uri) -> Error {
    Error::Redirect { to: without_query(to), reason: "too many redirects" }
}

fn error_chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error)
    })
}

/// The message of the innermost cause, which is the most specific.
fn root_cause(error: &(dyn StdError + 'static)) -> String {
    error_chain(error).last().map(ToString::to_string).unwrap_or_default()
}

fn configured_headers(endpoint: &HttpEndpoint) -> Result<HeaderMap> {
    let mut map = HeaderMap::new();
    for (name, value) in &endpoint.headers {
        let bad = |reason| Error::BadHeader { name: name.clone(), reason };
        let key: HeaderName = name.parse().map_err(|_| bad("is not a valid header name"))?;
        if RESERVED.contains(&key.as_str()) {
            continue;
        }
        let mut value = HeaderValue::from_bytes(value.value().trim().as_bytes())
            .map_err(|_| bad("has an invalid value"))?;
        value.set_sensitive(true);
        map.append(key, value);
    }
    Ok(map)
}

/// Parses a URL; credentials in it become a header.
fn parse_address(text: &str) -> Result<(Uri, Option<HeaderValue>), String> {
    let text = text.trim().split('#').next().unwrap_or_default();
    let uri: Uri = text.parse().map_err(|error: http::uri::InvalidUri| error.to_string())?;
    match uri.scheme_str() {
        Some("http" | "https") => {}
        _ => return Err("it must start with http:// or https://".to_owned()),
    }
    let host = uri.host().unwrap_or_default();
    if host.is_empty() {
        return Err("it has no host".to_owned());
    }
    let authority = uri.authority().map(http::uri::Authority::as_str).unwrap_or_default();
    let Some((login, place)) = authority.rsplit_once('@') else { return Ok((uri, None)) };
    let login = STANDARD.encode(percent_decode_str(login).collect::<Vec<u8>>());
    let mut header =
        HeaderValue::from_str(&format!("Basic {login}")).map_err(|error| error.to_string())?;
    header.set_sensitive(true);
    let mut parts = uri.clone().into_parts();
    parts.authority = Some(place.parse().map_err(|_| "invalid host".to_owned())?);
    let uri = Uri::from_parts(parts).map_err(|error| error.to_string())?;
    Ok((uri, Some(header)))
}

/// The media type in lower case, without parameters.
pub(crate) fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let value = value.unwrap_or_default().split(';').next().unwrap_or_default();
    value.trim().to_ascii_lowercase()
}

pub(crate) async fn read_body(response: Response<Incoming>, limit: usize) -> Result<Bytes> {
    if let Some(coding) = response.headers().get(CONTENT_ENCODING)
        && coding != "identity"
    {
        let coding = String::from_utf8_lossy(coding.as_bytes()).into_owned();
        let reason = format!("unexpected compression ({coding})");
        return Err(Error::Malformed { reason });
    }
    // A body that arrives in one piece is not copied.
    match Limited::new(response.into_body(), limit).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Error::TooLarge { limit }),
        Err(error) => Err(Error::Broken { reason: root_cause(&*error) }),
    }
}

pub(crate) fn connection_error(error: &hyper::Error) -> Error {
    Error::Broken { reason: root_cause(error) }
}

pub(crate) fn challenges(headers: &HeaderMap) -> Option<String> {
    let values = headers.get_all(WWW_AUTHENTICATE).iter();
    let texts: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

pub(crate) async fn refusal_error(response: Response<Incoming>) -> (Error, Bytes) {
    let status = response.status();
    let challenge = challenges(response.headers());
    let challenge = challenge.map(|challenge| truncated(&challenge, MAX_QUOTED_BYTES));
    if status == StatusCode::UNAUTHORIZED {
        return (Error::SignIn { challenge }, Bytes::new());
    }
    let body = read_body(response, MAX_REFUSAL_BYTES).await.unwrap_or_default();
    let words = String::from_utf8_lossy(&body);
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let quoted = truncated(&words, MAX_QUOTED_BYTES);
    if status == StatusCode::FORBIDDEN {
        return (Error::Forbidden { challenge, body: quoted }, Bytes::new());
    }
    (Error::Http { status: status.as_u16(), body: quoted }, body)
}
