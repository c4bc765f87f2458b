//! HTTP client of the member service: one address, one key, JSON responses and event streams.

mod error;

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, Response, Uri};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use ledger::Micros;
use mcp_client::config::Text;
use mcp_client::transport::http_client::HttpClient;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use uuid::Uuid;
use wire::sse::{Event, Splitter};

pub use self::error::{MemberError, RetryAdvice};

const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;
const MAX_REFUSAL_BYTES: usize = 1024 * 1024;
/// Timeout for the first byte of an immediate response.
const SOON: Duration = Duration::from_secs(30);
/// Timeout for the first byte of a response that takes work.
const LATER: Duration = Duration::from_mins(15);
/// Idle timeout within a response.
pub const MAX_SILENCE: Duration = Duration::from_mins(5);
const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// The charged cost of a response.
pub(crate) static CHARGE: HeaderName = HeaderName::from_static("x-charge-micros");
/// The cost of a request that has not ended yet.
pub static PRICE: HeaderName = HeaderName::from_static("x-price-micros");
/// Identifies repeats of one request.
static IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
static RECEIPT: HeaderName = HeaderName::from_static("x-receipt-id");

#[derive(Debug)]
pub struct MemberClient {
    http: HttpClient,
    pub base_url: String,
}

#[derive(Debug, Clone)]
pub struct MemberRequest {
    method: Method,
    path: String,
    body: Bytes,
    headers: HeaderMap,
    within: Duration,
    most_bytes: usize,
    /// Whether it can be sent again without being executed, and charged, twice.
    pub may_repeat: bool,
}

impl MemberRequest {
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path.into(), Bytes::new(), SOON).repeatable()
    }

    pub fn head(path: impl Into<String>) -> Self {
        Self::new(Method::HEAD, path.into(), Bytes::new(), SOON)
    }

    pub fn post(path: impl Into<String>, body: &impl Serialize) -> Self {
        // Our request types always serialize.
        let body = serde_json::to_vec(body).unwrap_or_default();
        let mut ask = Self::new(Method::POST, path.into(), body.into(), LATER);
        ask.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        ask
    }

    fn new(method: Method, path: String, body: Bytes, within: Duration) -> Self {
        let (headers, most_bytes) = (HeaderMap::new(), MAX_ANSWER_BYTES);
        Self { method, path, body, headers, within, most_bytes, may_repeat: false }
    }

    /// Makes it execute, and be charged, once for this key, however often it is sent.
    #[must_use]
    pub fn once(self, key: &str) -> Self {
        self.with(IDEMPOTENCY_KEY.clone(), key).repeatable()
    }

    /// Makes it execute once in this scope, also if a later program sends the same body.
    #[must_use]
    pub(crate) fn once_in(self, scope: Uuid) -> Self {
        let key = format!("task-{}", Uuid::new_v5(&scope, &self.body).simple());
        self.once(&key)
    }

    /// Marks it as idempotent.
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        self.may_repeat = true;
        self
    }

    /// Adds a header. An invalid value is ignored.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    #[must_use]
    pub fn within(mut self, within: Duration) -> Self {
        self.within = within;
        self
    }

    #[must_use]
    pub fn at_most(mut self, bytes: usize) -> Self {
        self.most_bytes = bytes;
        self
    }
}

#[derive(Debug)]
pub struct MemberResponse {
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl MemberResponse {
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, MemberError> {
        serde_json::from_slice(&self.body).map_err(|error| MemberError::nonsense(&error))
    }

    pub fn charge_micros(&self) -> Option<i64> {
        number(&self.headers, &CHARGE)
    }

    pub fn price_micros(&self) -> Option<i64> {
        number(&self.headers, &PRICE)
    }

    pub fn cost(&self) -> Option<String> {
        self.charge_micros().map(|micros| format!("{} credits", credits(micros)))
    }

    /// The JSON with lines and indentation; fields keep their order, and numbers their digits.
    pub fn document(&self) -> Result<String, MemberError> {
        let pretty = wire::json::pretty(&String::from_utf8_lossy(&self.body));
        pretty.map(|text| text + "\n").map_err(|error| MemberError::nonsense(&error))
    }

    pub fn receipt(&self) -> Option<&str> {
        self.headers.get(&RECEIPT).and_then(|value| value.to_str().ok())
    }
}

impl MemberClient {
    /// A client that sends `key` as its bearer token. `environment` may name a proxy.
    pub fn new(
        base_url: &str,
        key: Option<&str>,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self, mcp_client::Error> {
        let mut headers = Vec::new();
        if let Some(key) = key {
            headers.push(("authorization".to_owned(), Text::literal(format!("Bearer {key}"))));
        }
        let agent = concat!("agent/", env!("CARGO_PKG_VERSION"));
        headers.push(("user-agent".to_owned(), Text::literal(agent)));
        let http = HttpClient::to_service(base_url, headers, environment)?;
        Ok(Self { http, base_url: base_url.to_owned() })
    }

    /// The host and port of the proxy for the service.
    pub fn proxy(&self) -> Option<String> {
        self.http.proxy(self.http.url())
    }

    pub async fn ask(&self, ask: MemberRequest) -> Result<MemberResponse, MemberError> {
        let target = self.address(&ask.path)?;
        self.ask_at(&target, ask).await
    }

    pub async fn ask_at(
        &self,
        target: &Uri,
        ask: MemberRequest,
    ) -> Result<MemberResponse, MemberError> {
        let most_bytes = ask.most_bytes;
        let response = self.send_to(target, ask).await?;
        let (parts, body) = response.into_parts();
        let body = read(body, most_bytes).await?;
        Ok(MemberResponse { headers: parts.headers, body })
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, MemberError> {
        self.ask(MemberRequest::get(path)).await?.json()
    }

    pub async fn events(&self, mut ask: MemberRequest) -> Result<Events, MemberError> {
        ask.headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let target = self.address(&ask.path)?;
        let response = self.send_to(&target, ask).await?;
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().to_owned();
        if !kind.starts_with("text/event-stream") {
            let what = format!("a response of type `{kind}` instead of an event stream");
            return Err(MemberError::Nonsense { what });
        }
        Ok(Events::new(response))
    }

    /// Sends a request, and returns a successful response with its body unread. The service may
    /// have supplied the address; the key is sent to the service alone.
    pub async fn send_to(
        &self,
        target: &Uri,
        ask: MemberRequest,
    ) -> Result<Response<Incoming>, MemberError> {
        let MemberRequest { method, body, headers, within, .. } = ask;
        let answer = self.http.send_once(&method, target, &headers, body);
        let response = match tokio::time::timeout(within, answer).await {
            Ok(response) => response.map_err(|error| MemberError::of_connection(&error))?,
            Err(_) => return Err(MemberError::Late { after: within }),
        };
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let (parts, body) = response.into_parts();
        // An error response whose body breaks off is still an error response.
        let body = read(body, MAX_REFUSAL_BYTES).await.unwrap_or_default();
        Err(MemberError::refused(status, &parts.headers, &body))
    }

    /// An address beside the base address, such as `/readyz`.
    pub fn beside(&self, path: &str) -> Result<Uri, MemberError> {
        let base = self.http.url().path().trim_end_matches('/');
        self.at(format!("{}{path}", base.strip_suffix("/v1").unwrap_or(base)))
    }

    pub fn address(&self, path: &str) -> Result<Uri, MemberError> {
        let base = self.http.url().path().trim_end_matches('/');
        self.at(format!("{base}{path}"))
    }

    fn at(&self, path: String) -> Result<Uri, MemberError> {
        let mut parts = self.http.url().clone().into_parts();
        let path = PathAndQuery::try_from(path);
        parts.path_and_query = path.ok();
        Uri::from_parts(parts)
            .map_err(|_| MemberError::Nonsense { what: "an invalid URL".to_owned() })
    }
}

async fn read(body: Incoming, most: usize) -> Result<Bytes, MemberError> {
    let whole = Limited::new(body, most).collect();
    match tokio::time::timeout(MAX_SILENCE, whole).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) => Err(MemberError::Broken { reason: error.to_string() }),
        Err(_) => Err(MemberError::Late { after: MAX_SILENCE }),
    }
}

/// A stream of events.
#[derive(Debug)]
pub struct Events {
    pub headers: HeaderMap,
    body: Incoming,
    splitter: Splitter,
    is_over: bool,
}

impl Events {
    fn new(response: Response<Incoming>) -> Self {
        let (parts, body) = response.into_parts();
        let splitter = Splitter::new(MAX_EVENT_BYTES);
        Self { headers: parts.headers, body, splitter, is_over: false }
    }

    /// The next event with data; `None` at the end of the stream. Skips keep-alive comments.
    pub async fn next(&mut self) -> Result<Option<Event>, MemberError> {
        loop {
            match self.splitter.next() {
                Some(Ok(event)) if event.data().is_empty() => continue,
                Some(Ok(event)) => return Ok(Some(event)),
                Some(Err(error)) => return Err(MemberError::Nonsense { what: error.to_string() }),
                None if self.is_over => return Ok(None),
                None => {}
            }
            let frame = tokio::time::timeout(MAX_SILENCE, self.body.frame()).await;
            match frame.map_err(|_| MemberError::Late { after: MAX_SILENCE })? {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.splitter.push(data);
                    }
                }
                Some(Err(error)) => return Err(MemberError::Broken { reason: error.to_string() }),
                None => self.is_over = true,
            }
        }
    }
}

/// The JSON of an event. An error event is an error.
pub fn data(event: &Event) -> Result<Value, MemberError> {
    let value: Value = serde_json::from_slice(&event.data()).map_err(|error| {
        MemberError::Nonsense { what: format!("an event with invalid JSON: {error}") }
    })?;
    match value.get("error") {
        Some(error) if !error.is_null() => Err(MemberError::in_stream(error)),
        _ => Ok(value),
    }
}

pub fn number(headers: &HeaderMap, name: &HeaderName) -> Option<i64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// An amount in credits for a person, without trailing zeros.
pub fn credits(micros: i64) -> String {
    let text = Micros::new(micros).to_string();
    let short = text.trim_end_matches('0');
    short.strip_suffix('.').unwrap_or(short).to_owned()
}

#[cfg(test)]
mod tests;
