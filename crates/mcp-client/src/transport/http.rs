//! Streamable HTTP: every message is a POST, answered by JSON or by an event stream.
//!
//! The caller's task reads the response; other messages go to the router. In the legacy era the
//! server may create a session, keep a stream open for its own messages, and support resuming a
//! broken stream.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use hyper::body::Incoming as Body;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::event_stream::EventReader;
use super::http_client::{
    EVENTS, HttpClient, JSON, JSON_OR_EVENTS, MAX_BODY_BYTES, media_type, read_body, refusal_error,
};
use super::{OutgoingRequest, spawn_detached};
use crate::error::{Error, Result};
use crate::message::{self, Message, RawJson, RpcError};
use crate::protocol::Era;
use crate::router::{CloseReason, ResponseWaiter, Router};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

const MAX_RESUMES: u32 = 5;
/// Maximum length of an error message that can mean a lost session.
const MAX_LOST_SESSION_BYTES: usize = 80;
/// The delay before resuming, unless the server sets one.
const RESUME_DELAY: Duration = Duration::from_secs(1);
const MIN_RESUME_DELAY: Duration = Duration::from_millis(100);
const MAX_RESUME_DELAY: Duration = Duration::from_mins(1);
/// Timeout for the end of an answered stream, which frees its connection for the next call.
const STREAM_END_TIMEOUT: Duration = Duration::from_millis(5);
const DELETE_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) struct HttpConnection {
    client: HttpClient,
    router: Arc<Router>,
    tasks: TaskTracker,
    negotiated: OnceLock<NegotiatedVersion>,
    session: OnceLock<HeaderValue>,
    closing: CancellationToken,
    /// The server keeps streams open after the response, so their end is not awaited.
    lingers: AtomicBool,
}

#[derive(Debug)]
struct NegotiatedVersion {
    era: Era,
    version: HeaderValue,
}

/// Whether to resend a message when the connection broke before a response: the server may just
/// have closed an idle connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Retry {
    Once,
    /// The request may have side effects.
    Never,
}

impl HttpConnection {
    pub(crate) fn new(client: HttpClient, router: Arc<Router>, tasks: TaskTracker) -> Self {
        Self {
            client,
            router,
            tasks,
            negotiated: OnceLock::new(),
            session: OnceLock::new(),
            closing: CancellationToken::new(),
            lingers: AtomicBool::new(false),
        }
    }

    pub(crate) fn settle(&self, era: Era, version: &str) {
        if let Ok(version) = HeaderValue::from_str(version) {
            let _ = self.negotiated.set(NegotiatedVersion { era, version });
        }
    }

    pub(crate) async fn request(
        self: &Arc<Self>,
        outgoing: &OutgoingRequest<'_>,
        waiter: &mut ResponseWaiter,
    ) -> Result<RawJson> {
        let repeat = if outgoing.method == "tools/call" { Retry::Never } else { Retry::Once };
        let sent = self.post(self.headers(Some(outgoing)), &outgoing.body, repeat);
        let response = tokio::select! {
            response = sent => response?,
            // The session may close, or the response arrive on another stream.
            answer = &mut waiter.answer => return answer.unwrap_or(Err(Error::Closed)),
        };
        let status = response.status();
        if outgoing.method == "initialize"
            && let Some(id) = response.headers().get(SESSION_ID)
        {
            let _ = self.session.set(id.clone());
        }
        let kind = media_type(response.headers());
        if status.is_success() && kind == "text/event-stream" {
            return self.follow(response, outgoing, waiter).await;
        }
        tokio::select! {
            answer = self.plain(response, kind, outgoing) => answer,
            answer = &mut waiter.answer => answer.unwrap_or(Err(Error::Closed)),
        }
    }

    pub(crate) async fn send_message(&self, body: Bytes) -> Result<()> {
        let response = self.post(self.headers(None), &body, Retry::Once).await?;
        if response.status().is_success() {
            return Ok(());
        }
        Err(self.refused(response).await)
    }

    /// Reads events until the response; resumes a broken stream if possible.
    async fn follow(
        self: &Arc<Self>,
        response: Response<Body>,
        outgoing: &OutgoingRequest<'_>,
        waiter: &mut ResponseWaiter,
    ) -> Result<RawJson> {
        let mut events = EventReader::new(response, None);
        let mut tries = 0;
        loop {
            let event = tokio::select! {
                event = events.next() => event?,
                answer = &mut waiter.answer => return answer.unwrap_or(Err(Error::Closed)),
            };
            if let Some(event) = event {
                tries = 0;
                if let Some(outcome) = self.take(&event.data, outgoing) {
                    self.finish_stream(events).await;
                    return outcome;
                }
                continue;
            }
            let resumable = events.last_id().is_some() && !self.stateless();
            if !resumable || tries == MAX_RESUMES {
                return Err(Error::broken("the stream ended before the response"));
            }
            tries += 1;
            let resumed = tokio::select! {
                resumed = self.resume(&events) => resumed,
                answer = &mut waiter.answer => return answer.unwrap_or(Err(Error::Closed)),
            };
            match resumed {
                Ok(resumed) => events = resumed,
                // The next iteration retries.
                Err(Error::Unreachable { .. } | Error::Broken { .. }) => {}
                // The server accepted the request before, so the outcome is unknown.
                Err(error) => {
                    let reason = format!("cannot resume the response: {error}");
                    return Err(Error::broken(reason));
                }
            }
        }
    }

    /// Waits briefly for the end of the stream, which frees its connection. A stream that stays
    /// open is drained in the background for a second.
    async fn finish_stream(self: &Arc<Self>, mut events: EventReader) {
        if !self.lingers.load(Ordering::Relaxed)
            && tokio::time::timeout(STREAM_END_TIMEOUT, events.finish()).await.is_ok()
        {
            return;
        }
        self.lingers.store(true, Ordering::Relaxed);
        let this = Arc::clone(self);
        self.tasks.spawn(async move {
            tokio::select! {
                () = this.closing.cancelled() => {}
                () = tokio::time::sleep(Duration::from_secs(1)) => {}
                () = events.finish() => this.lingers.store(false, Ordering::Relaxed),
            }
        });
    }

    /// Opens the stream for messages of a legacy server.
    pub(crate) fn listen(self: &Arc<Self>) {
        let this = Arc::clone(self);
        self.tasks.spawn(async move {
            tokio::select! {
                () = this.closing.cancelled() => {}
                () = this.deliver_events() => {}
            }
        });
    }

    pub(crate) fn close(self: &Arc<Self>) {
        if self.closing.is_cancelled() {
            return;
        }
        self.closing.cancel();
        self.router.close(CloseReason::Ours);
        if self.session.get().is_some() {
            let this = Arc::clone(self);
            spawn_detached(&self.tasks, async move {
                let url = this.client.url();
                let sent = this.client.send(Method::DELETE, url, this.headers(None), Bytes::new());
                let _ = tokio::time::timeout(DELETE_TIMEOUT, sent).await;
            });
        }
    }

    async fn post(
        &self,
        headers: HeaderMap,
        body: &Bytes,
        repeat: Retry,
    ) -> Result<Response<Body>> {
        let send =
            |headers| self.client.send(Method::POST, self.client.url(), headers, body.clone());
        if repeat == Retry::Never {
            return send(headers).await;
        }
        match send(headers.clone()).await {
            Err(Error::Broken { .. }) => send(headers).await,
            other => other,
        }
    }

    fn stateless(&self) -> bool {
        self.negotiated.get().is_some_and(|negotiated| negotiated.era == Era::Stateless)
    }

    fn headers(&self, outgoing: Option<&OutgoingRequest<'_>>) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(ACCEPT, JSON_OR_EVENTS);
        headers.insert(CONTENT_TYPE, JSON);
        if let Some(negotiated) = self.negotiated.get() {
            headers.insert(PROTOCOL_VERSION, negotiated.version.clone());
        }
        if let Some(session) = self.session.get() {
            headers.insert(SESSION_ID, session.clone());
        }
        if let (Some(outgoing), true) = (outgoing, self.stateless()) {
            if let Ok(method) = HeaderValue::from_str(outgoing.method) {
                headers.insert(METHOD, method);
            }
            for (name, value) in &outgoing.headers {
                if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse()) {
                    headers.insert(name, value);
                }
            }
        }
        headers
    }

    async fn plain(
        &self,
        response: Response<Body>,
        kind: String,
        outgoing: &OutgoingRequest<'_>,
    ) -> Result<RawJson> {
        let status = response.status();
        if !status.is_success() {
            return Err(self.refused(response).await);
        }
        if status == StatusCode::ACCEPTED || status == StatusCode::NO_CONTENT {
            let status = status.as_u16();
            let reason = format!("HTTP status {status} to a request that expects a response");
            return Err(Error::malformed(reason));
        }
        let body = read_body(response, MAX_BODY_BYTES).await?;
        if let Some(outcome) = self.take(&body, outgoing) {
            return outcome;
        }
        let reason = match kind.as_str() {
            "application/json" => "the body contains no response to the request",
            "" => "the body contains no response and has no content type",
            other => {
                let url = self.client.shown().to_owned();
                return Err(Error::NotMcp { url, content_type: other.to_owned() });
            }
        };
        Err(Error::malformed(reason))
    }

    /// Finds the response to a request in a text and delivers other messages to the router.
    fn take(&self, text: &Bytes, outgoing: &OutgoingRequest<'_>) -> Option<Result<RawJson>> {
        let id = outgoing.id;
        let mut found = None;
        message::parse(text, |message| match message {
            Message::Response { id: answered, outcome } if answered == id => {
                found = Some(outcome.map_err(|error| self.rpc(error)));
            }
            Message::Malformed { id: Some(answered), reason } if answered == id => {
                found = Some(Err(Error::malformed(reason)));
            }
            // On the response stream an error without an id can only concern this request.
            Message::UnattributedError { error } => found = Some(Err(self.rpc(error))),
            other => self.router.deliver(other),
        });
        found
    }

    /// Some servers report a lost session by an error in a successful response. The message must
    /// have no other content: the sessions of a tool are unrelated.
    fn rpc(&self, error: RpcError) -> Error {
        let words = error.peer_message.trim();
        let lost = self.session.get().is_some()
            && words.len() <= MAX_LOST_SESSION_BYTES
            && starts_with_session(words)
            && tells_of_lost_session(words);
        if lost { Error::SessionGone } else { Error::Rpc(error) }
    }

    /// Maps an error status to a lost session, a JSON-RPC error, or a refusal.
    async fn refused(&self, response: Response<Body>) -> Error {
        let status = response.status();
        let (error, body) = refusal_error(response).await;
        let has_session = self.session.get().is_some();
        if has_session && status == StatusCode::NOT_FOUND {
            return Error::SessionGone;
        }
        let mut rpc = None;
        message::parse(&body, |message| match message {
            Message::Response { outcome: Err(error), .. }
            | Message::UnattributedError { error } => {
                rpc = Some(error);
            }
            _ => {}
        });
        let words = rpc.as_ref().map_or_else(
            || String::from_utf8_lossy(&body[..body.len().min(4096)]).into_owned(),
            |error| error.peer_message.clone(),
        );
        if has_session && status == StatusCode::BAD_REQUEST && tells_of_lost_session(&words) {
            return Error::SessionGone;
        }
        match rpc {
            Some(rpc) if status.is_client_error() => Error::Rpc(rpc),
            _ => error,
        }
    }

    async fn resume(&self, broken: &EventReader) -> Result<EventReader> {
        let wait = broken.retry_ms().map_or(RESUME_DELAY, Duration::from_millis);
        tokio::time::sleep(wait.clamp(MIN_RESUME_DELAY, MAX_RESUME_DELAY)).await;
        let response = self.open_stream(broken.last_id()).await?;
        Ok(EventReader::new(response, broken.last_id()))
    }

    async fn open_stream(&self, last_id: Option<&str>) -> Result<Response<Body>> {
        let mut headers = self.headers(None);
        headers.insert(ACCEPT, EVENTS);
        headers.remove(CONTENT_TYPE);
        if let Some(last) = last_id.and_then(|last| HeaderValue::from_str(last).ok()) {
            headers.insert(LAST_EVENT_ID, last);
        }
        let url = self.client.url();
        let response = self.client.send(Method::GET, url, headers, Bytes::new()).await?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        if media_type(response.headers()) != "text/event-stream" {
            return Err(Error::malformed("GET did not return an event stream"));
        }
        Ok(response)
    }

    /// Reads the stream of the server's messages, and reopens it with growing delays. A server may
    /// not have one.
    async fn deliver_events(&self) {
        let mut last_id: Option<String> = None;
        let mut wait = RESUME_DELAY;
        loop {
            match self.open_stream(last_id.as_deref()).await {
                Ok(response) => {
                    let mut events = EventReader::new(response, last_id.as_deref());
                    while let Ok(Some(event)) = events.next().await {
                        wait = RESUME_DELAY;
                        message::parse(&event.data, |message| {
                            // An error without an id concerns no call here.
                            if !matches!(message, Message::UnattributedError { .. }) {
                                self.router.deliver(message);
                            }
                        });
                    }
                    last_id = events.last_id().map(str::to_owned);
                    if let Some(asked) = events.retry_ms() {
                        wait =
                            Duration::from_millis(asked).clamp(MIN_RESUME_DELAY, MAX_RESUME_DELAY);
                    }
                }
                Err(Error::SessionGone) => return self.router.close(CloseReason::SessionGone),
                Err(Error::Unreachable { .. } | Error::Broken { .. }) => {}
                // 405 and the like: the server has no such stream.
                Err(_) => return,
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(MAX_RESUME_DELAY);
        }
    }
}

fn starts_with_session(words: &str) -> bool {
    const STARTS: &str = "session|invalid session|unknown session|no valid session|\
                          expired session|mcp session";
    let words = words.to_ascii_lowercase();
    STARTS.split('|').any(|start| words.starts_with(start))
}

fn tells_of_lost_session(words: &str) -> bool {
    const SIGNS: &str = "not found|unknown|invalid|expired|terminated|no valid|does not exist";
    let words = words.to_ascii_lowercase();
    words.contains("session") && SIGNS.split('|').any(|sign| words.contains(sign))
}
