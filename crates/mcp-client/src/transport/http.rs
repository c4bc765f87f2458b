//! Streamable HTTP: every message is a POST, answered by JSON or by a stream of events.
//!
//! The caller's own task reads the answer; whatever else arrives on the way goes to the router.
//! In the legacy era the server may give us a session, keep a stream open for what it wants to
//! say by itself, and let a broken stream be resumed.

pub(crate) mod events;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use hyper::body::Incoming as Body;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::events::{Events, Step};
use super::http_client::{HttpClient, MAX_BODY_BYTES, media_type, read_body, refusal};
use super::{Outgoing, in_background};
use crate::error::Error;
use crate::message::{self, Incoming, Payload, RpcError};
use crate::protocol::Era;
use crate::router::{CloseReason, Router, Ticket};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// How often an answer is looked for on a new stream after its stream broke.
const MAX_RESUMES: u32 = 5;
/// The longest message that only says that a session is lost.
const MAX_LOST_SESSION_BYTES: usize = 80;
/// How long to wait before that, unless the server says.
const RESUME_DELAY: Duration = Duration::from_secs(1);
/// The shortest wait a server can ask for.
const MIN_RESUME_DELAY: Duration = Duration::from_millis(100);
/// The longest wait a server can ask for.
const MAX_RESUME_DELAY: Duration = Duration::from_mins(1);
/// How long the end of an answered stream is awaited, so that its connection serves the next call.
const STREAM_END: Duration = Duration::from_millis(5);
/// How long saying goodbye to a session may take.
const GOODBYE: Duration = Duration::from_secs(2);

/// The way to one Streamable HTTP server.
#[derive(Debug, Clone)]
pub(crate) struct HttpLink {
    shared: Arc<Shared>,
    tasks: TaskTracker,
}

#[derive(Debug)]
struct Shared {
    client: HttpClient,
    router: Arc<Router>,
    manner: OnceLock<Manner>,
    session: OnceLock<HeaderValue>,
    closing: CancellationToken,
    /// The server keeps streams open after the answer: no use waiting for their end.
    lingers: AtomicBool,
}

/// What the handshake settled.
#[derive(Debug)]
struct Manner {
    era: Era,
    version: HeaderValue,
}

impl HttpLink {
    pub(crate) fn new(client: HttpClient, router: Arc<Router>, tasks: TaskTracker) -> Self {
        let shared = Shared {
            client,
            router,
            manner: OnceLock::new(),
            session: OnceLock::new(),
            closing: CancellationToken::new(),
            lingers: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared), tasks }
    }

    /// From now on every request says this version, and is shaped by this era.
    pub(crate) fn settle(&self, era: Era, version: &str) {
        if let Ok(version) = HeaderValue::from_str(version) {
            let _ = self.shared.manner.set(Manner { era, version });
        }
    }

    /// Sends a request and reads until its answer is there.
    pub(crate) async fn request(
        &self,
        outgoing: &Outgoing<'_>,
        ticket: &mut Ticket,
    ) -> Result<Payload, Error> {
        let shared = &self.shared;
        let repeat = if outgoing.method == "tools/call" { Repeat::Never } else { Repeat::Once };
        let sent = shared.post(shared.headers(Some(outgoing)), &outgoing.body, repeat);
        let response = tokio::select! {
            response = sent => response?,
            // The router may know better: the session can end, or the answer come another way.
            answer = &mut ticket.answer => return answer.unwrap_or(Err(Error::Closed)),
        };
        let status = response.status();
        if outgoing.method == "initialize"
            && let Some(id) = response.headers().get(SESSION_ID)
        {
            let _ = shared.session.set(id.clone());
        }
        let kind = media_type(response.headers());
        if status.is_success() && kind == "text/event-stream" {
            return self.follow(response, outgoing, ticket).await;
        }
        tokio::select! {
            answer = shared.plain(response, kind, outgoing) => answer,
            answer = &mut ticket.answer => answer.unwrap_or(Err(Error::Closed)),
        }
    }

    /// Sends a notification or an answer of ours.
    pub(crate) async fn tell(&self, body: Bytes) -> Result<(), Error> {
        let shared = &self.shared;
        let response = shared.post(shared.headers(None), &body, Repeat::Once).await?;
        if response.status().is_success() {
            return Ok(());
        }
        Err(shared.refused(response).await)
    }

    /// Reads events until the answer; a stream that breaks off is resumed where it can be.
    async fn follow(
        &self,
        response: Response<Body>,
        outgoing: &Outgoing<'_>,
        ticket: &mut Ticket,
    ) -> Result<Payload, Error> {
        let shared = &self.shared;
        let mut events = Events::new(response, None);
        let mut tries = 0;
        loop {
            let step = tokio::select! {
                step = events.next() => step?,
                answer = &mut ticket.answer => return answer.unwrap_or(Err(Error::Closed)),
            };
            match step {
                Step::Event(event) => {
                    tries = 0;
                    if let Some(outcome) = shared.take(&event.data, outgoing) {
                        self.let_end(events).await;
                        return outcome;
                    }
                }
                Step::Ended => {
                    let resumable = events.last_id().is_some() && !shared.stateless();
                    if !resumable || tries == MAX_RESUMES {
                        let reason = "the stream of the answer ended without it".to_owned();
                        return Err(Error::Broken { reason });
                    }
                    tries += 1;
                    let resumed = tokio::select! {
                        resumed = shared.resume(&events) => resumed,
                        answer = &mut ticket.answer => return answer.unwrap_or(Err(Error::Closed)),
                    };
                    match resumed {
                        Ok(resumed) => events = resumed,
                        // The next round tries again, as long as there are tries.
                        Err(Error::Unreachable { .. } | Error::Broken { .. }) => {}
                        // Whatever the server says now, the request itself was taken before.
                        Err(error) => {
                            let reason = format!("the answer cannot be resumed: {error}");
                            return Err(Error::Broken { reason });
                        }
                    }
                }
            }
        }
    }

    /// The answer is there; the end of the stream usually follows at once, and then its connection
    /// is free. A stream that stays open is read in the background for a moment, then dropped.
    async fn let_end(&self, mut events: Events) {
        if !self.shared.lingers.load(Ordering::Relaxed)
            && tokio::time::timeout(STREAM_END, events.finish()).await.is_ok()
        {
            return;
        }
        self.shared.lingers.store(true, Ordering::Relaxed);
        let (shared, closing) = (Arc::clone(&self.shared), self.shared.closing.clone());
        self.tasks.spawn(async move {
            tokio::select! {
                () = closing.cancelled() => {}
                () = tokio::time::sleep(Duration::from_secs(1)) => {}
                () = events.finish() => shared.lingers.store(false, Ordering::Relaxed),
            }
        });
    }

    /// Opens the stream on which a legacy server says things by itself, for as long as it lasts.
    pub(crate) fn listen(&self) {
        let shared = Arc::clone(&self.shared);
        self.tasks.spawn(async move {
            let closing = shared.closing.clone();
            tokio::select! {
                () = closing.cancelled() => {}
                () = shared.listen() => {}
            }
        });
    }

    /// Ends our streams and says goodbye to the session.
    pub(crate) fn close(&self) {
        let shared = Arc::clone(&self.shared);
        if shared.closing.is_cancelled() {
            return;
        }
        shared.closing.cancel();
        shared.router.close(CloseReason::Ours);
        if shared.session.get().is_some() {
            in_background(&self.tasks, async move {
                let url = shared.client.url();
                let sent =
                    shared.client.send(Method::DELETE, url, shared.headers(None), Bytes::new());
                let _ = tokio::time::timeout(GOODBYE, sent).await;
            });
        }
    }
}

/// Whether a message may be sent a second time when its connection broke before an answer: a kept
/// connection may have been closed at the other end just then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repeat {
    Once,
    /// It may have changed something.
    Never,
}

impl Shared {
    async fn post(
        &self,
        headers: HeaderMap,
        body: &Bytes,
        repeat: Repeat,
    ) -> Result<Response<Body>, Error> {
        let send =
            |headers| self.client.send(Method::POST, self.client.url(), headers, body.clone());
        if repeat == Repeat::Never {
            return send(headers).await;
        }
        match send(headers.clone()).await {
            Err(Error::Broken { .. }) => send(headers).await,
            other => other,
        }
    }

    fn stateless(&self) -> bool {
        self.manner.get().is_some_and(|manner| manner.era == Era::Stateless)
    }

    fn headers(&self, outgoing: Option<&Outgoing<'_>>) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(ACCEPT, BOTH);
        headers.insert(CONTENT_TYPE, JSON);
        if let Some(manner) = self.manner.get() {
            headers.insert(PROTOCOL_VERSION, manner.version.clone());
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

    /// A response that is no stream.
    async fn plain(
        &self,
        response: Response<Body>,
        kind: String,
        outgoing: &Outgoing<'_>,
    ) -> Result<Payload, Error> {
        let status = response.status();
        if !status.is_success() {
            return Err(self.refused(response).await);
        }
        if status == StatusCode::ACCEPTED || status == StatusCode::NO_CONTENT {
            let status = status.as_u16();
            let reason = format!("HTTP status {status} to a request that wants an answer");
            return Err(Error::Malformed { reason });
        }
        self.whole(response, kind, outgoing).await
    }

    /// A body that came whole.
    async fn whole(
        &self,
        response: Response<Body>,
        kind: String,
        outgoing: &Outgoing<'_>,
    ) -> Result<Payload, Error> {
        let body = read_body(response, MAX_BODY_BYTES).await?;
        if let Some(outcome) = self.take(&body, outgoing) {
            return outcome;
        }
        let reason = match kind.as_str() {
            "application/json" => "its body holds no answer to the request".to_owned(),
            "" => "its body holds no answer and no content type".to_owned(),
            other => {
                let url = self.client.shown().to_owned();
                return Err(Error::NotMcp { url, content_type: other.to_owned() });
            }
        };
        Err(Error::Malformed { reason })
    }

    /// Finds the answer to a request in a text; everything else is for the router.
    fn take(&self, text: &Bytes, outgoing: &Outgoing<'_>) -> Option<Result<Payload, Error>> {
        let id = outgoing.id;
        let mut found = None;
        message::read(text, |message| match message {
            Incoming::Answer { id: answered, outcome } if answered == id => {
                found = Some(outcome.map_err(|error| self.rpc(error)));
            }
            Incoming::Malformed { id: Some(answered), reason } if answered == id => {
                found = Some(Err(Error::Malformed { reason: reason.to_owned() }));
            }
            // On a stream of its own an error without an id can only mean this request.
            Incoming::Stray { error } => found = Some(Err(self.rpc(error))),
            other => self.router.deliver(other),
        });
        found
    }

    /// Some servers tell of a lost session by an error in a good response. It must say nothing
    /// else: a tool may have failed over a session of its own.
    fn rpc(&self, error: RpcError) -> Error {
        let words = error.peer_message.trim();
        let lost = self.session.get().is_some()
            && words.len() <= MAX_LOST_SESSION_BYTES
            && starts_with_session(words)
            && tells_of_lost_session(words);
        if lost { Error::SessionGone } else { Error::Rpc(error) }
    }

    /// A status that is no success: a lost session, a JSON-RPC error, or plain refusal.
    async fn refused(&self, response: Response<Body>) -> Error {
        let status = response.status();
        let (error, body) = refusal(response).await;
        let has_session = self.session.get().is_some();
        if has_session && status == StatusCode::NOT_FOUND {
            return Error::SessionGone;
        }
        let mut rpc = None;
        message::read(&body, |message| match message {
            Incoming::Answer { outcome: Err(error), .. } | Incoming::Stray { error } => {
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

    /// Continues a stream that broke off, after the wait it asked for.
    async fn resume(&self, broken: &Events) -> Result<Events, Error> {
        let wait = broken.retry_ms().map_or(RESUME_DELAY, Duration::from_millis);
        tokio::time::sleep(wait.clamp(MIN_RESUME_DELAY, MAX_RESUME_DELAY)).await;
        let response = self.open_stream(broken.last_id()).await?;
        Ok(Events::new(response, broken.last_id()))
    }

    async fn open_stream(&self, last_id: Option<&str>) -> Result<Response<Body>, Error> {
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
            return Err(Error::Malformed { reason: "a GET was not answered by events".to_owned() });
        }
        Ok(response)
    }

    /// Reads the server's own stream. A server may have none; one that breaks is opened again,
    /// each time after a longer wait.
    async fn listen(&self) {
        let mut last_id: Option<String> = None;
        let mut wait = RESUME_DELAY;
        loop {
            let opened = self.open_stream(last_id.as_deref()).await;
            match opened {
                Ok(response) => {
                    let mut events = Events::new(response, last_id.as_deref());
                    while let Ok(Step::Event(event)) = events.next().await {
                        wait = RESUME_DELAY;
                        message::read(&event.data, |message| {
                            // An error without an id on this stream is about no call of ours.
                            if !matches!(message, Incoming::Stray { .. }) {
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
                // 405 and its like: the server has no stream of its own.
                Err(_) => return,
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(MAX_RESUME_DELAY);
        }
    }
}

fn starts_with_session(words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    [
        "session",
        "invalid session",
        "unknown session",
        "no valid session",
        "expired session",
        "mcp session",
    ]
    .iter()
    .any(|start| words.starts_with(start))
}

/// Servers tell of a lost session in many words.
fn tells_of_lost_session(words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    words.contains("session")
        && [
            "not found",
            "unknown",
            "invalid",
            "expired",
            "terminated",
            "no valid",
            "does not exist",
        ]
        .iter()
        .any(|sign| words.contains(sign))
}
