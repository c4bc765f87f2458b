//! One connection to one server, in either era of the protocol.
//!
//! Every request has an idle timeout that progress extends, a total timeout, and a cancellation
//! that reaches the server when the caller drops it.

mod call;
mod connect;
mod handshake;
mod input_rounds;
mod listing;
mod response_cache;
mod server_requests;
mod subscription;
mod task;

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::TaskTracker;

pub use self::call::CallReply;
pub use self::connect::{ConnectStep, StepObserver};
pub(crate) use self::connect::{ReconnectState, SessionConnector};
use self::response_cache::ResponseCache;
pub(crate) use self::task::PolledTask;
pub use self::task::{StartedTask, TaskState, TaskStatus};
use crate::config::ServerEntry;
use crate::error::Error;
use crate::host::Host;
use crate::message::{self, Params, RawJson};
use crate::oauth::credentials::Credentials;
use crate::oauth::login::InteractiveSignIn;
use crate::protocol::Era;
use crate::redact::Redactor;
use crate::router::{CloseReason, ProgressSink, RequestKind, Router};
use crate::server_log::ServerLog;
use crate::transport::{Connection, OutgoingRequest, spawn_detached};

/// The total timeout of a call as a multiple of its idle timeout.
pub const MAX_CALL_FACTOR: u32 = 12;
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Default)]
pub struct HandshakeResult {
    pub era: Era,
    pub version: String,
    pub capabilities: Value,
    pub server_info: Value,
    pub instructions: Option<String>,
}

impl HandshakeResult {
    /// Whether the server declares `tools`, `resources` or `prompts`.
    pub fn offers(&self, capability: &str) -> bool {
        match &self.capabilities {
            Value::Object(all) => all.get(capability).is_some_and(|value| !value.is_null()),
            // A server that declares nothing at all may still have tools.
            _ => capability == "tools",
        }
    }

    /// Whether the server declares this about a capability: `listChanged` or `subscribe`.
    fn declares(&self, capability: &str, about: &str) -> bool {
        self.capabilities[capability][about] == true
    }

    /// Whether a call may ask for a task. A stateless server starts one without being asked.
    fn runs_tasks(&self) -> bool {
        self.era == Era::Legacy
            && !self.capabilities["tasks"]["requests"]["tools"]["call"].is_null()
    }
}

/// One connection to one server. Cheap to clone; closed explicitly or with the last clone.
#[derive(Debug, Clone)]
pub struct Session {
    inner: Arc<Inner>,
}

struct Inner {
    entry: Arc<ServerEntry>,
    host: Arc<Host>,
    connection: Connection,
    router: Arc<Router>,
    credentials: Option<Arc<Credentials>>,
    tasks: TaskTracker,
    handshake: OnceLock<HandshakeResult>,
    /// The `_meta` fields of every request.
    common_meta: OnceLock<Params>,
    next_id: AtomicU64,
    active_calls: AtomicUsize,
    /// Requests to cancel tasks, which the session finishes before it closes.
    cancellations: TaskTracker,
    cache: ResponseCache,
    /// Opened with the first log message of the server.
    log: Mutex<Option<ServerLog>>,
    began: Instant,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("server", &self.entry.name)
            .field("handshake", &self.handshake)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeouts {
    /// Without activity.
    pub(crate) idle: Duration,
    pub(crate) total: Duration,
}

impl Timeouts {
    pub(crate) fn total(all: Duration) -> Self {
        Self { idle: all, total: all }
    }

    pub(crate) fn call(idle: Duration) -> Self {
        Self { idle, total: idle.saturating_mul(MAX_CALL_FACTOR) }
    }
}

#[derive(Clone)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: Params,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) progress: Option<ProgressSink>,
    /// The token of progress that outlives the request; otherwise its id.
    pub(crate) progress_token: Option<u64>,
    pub(crate) timeouts: Timeouts,
}

impl<'a> Request<'a> {
    pub(crate) fn new(method: &'a str, params: Params, timeouts: Timeouts) -> Self {
        let (headers, progress, progress_token) = (Vec::new(), None, None);
        Self { method, params, headers, progress, progress_token, timeouts }
    }
}

impl Session {
    pub fn handshake(&self) -> &HandshakeResult {
        // Unreachable: every session in use has completed its handshake.
        static NOTHING: OnceLock<HandshakeResult> = OnceLock::new();
        self.inner.handshake.get().unwrap_or_else(|| NOTHING.get_or_init(Default::default))
    }

    /// Checks that the server responds, by the method of its era. Never cached.
    pub async fn ping(&self, within: Duration) -> Result<(), Error> {
        let method = match self.handshake().era {
            Era::Legacy => "ping",
            Era::Stateless => "server/discover",
        };
        self.check(method, within).await
    }

    async fn check(&self, method: &str, within: Duration) -> Result<(), Error> {
        let request = Request::new(method, Params::default(), Timeouts::total(within));
        self.inner.request_without_sign_in(&request).await.map(drop)
    }

    /// Checks that the server responds to a listing, for servers that ignore pings.
    pub(crate) async fn probe(&self, within: Duration) -> Result<(), Error> {
        let handshake = self.handshake();
        let offered =
            [("tools", "tools/list"), ("resources", "resources/list"), ("prompts", "prompts/list")];
        match offered.iter().find(|(capability, _)| handshake.offers(capability)) {
            Some((_, method)) => self.check(method, within).await,
            None => self.ping(within).await,
        }
    }

    pub(crate) fn clear_cache(&self) {
        self.inner.cache.clear();
    }

    pub fn active_calls(&self) -> usize {
        self.inner.active_calls.load(Ordering::Acquire)
    }

    pub fn age(&self) -> Duration {
        self.inner.began.elapsed()
    }

    /// Waits until the session is closed and returns the reason.
    pub async fn closed(&self) -> Error {
        self.inner.router.closed().await.error().redacted(&self.inner.host.redactor)
    }

    pub fn is_closed(&self) -> bool {
        self.inner.router.close_reason().is_some()
    }

    /// Closes the session; calls in flight fail at once. Returns after the processes have ended.
    pub async fn close(&self) {
        self.inner.cancellations.close();
        let _ = tokio::time::timeout(CANCEL_TIMEOUT, self.inner.cancellations.wait()).await;
        self.inner.router.close(CloseReason::Ours);
        self.inner.connection.close();
        if let Connection::Stdio(connection) = &self.inner.connection {
            connection.ended().await;
        }
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// `stdio`, `http` or `sse`.
    pub fn transport(&self) -> &'static str {
        match &self.inner.connection {
            Connection::Stdio(_) => "stdio",
            Connection::Http(_) => "http",
            Connection::Sse(_) => "sse",
        }
    }

    /// Closes a session that the server has forgotten; the next call opens a new one.
    pub(crate) fn mark_lost(&self) {
        self.inner.router.close(CloseReason::SessionGone);
    }

    /// Waits for a changed list. Whether the tools changed.
    pub(crate) async fn changed(&self) -> bool {
        self.inner.router.changed().await
    }

    pub(crate) async fn request(&self, request: Request<'_>) -> Result<RawJson, Error> {
        self.inner.request(request).await
    }
}

impl Inner {
    /// Sends a request and waits for the response. Timeouts do not run while a person signs in.
    /// Dropping the future cancels the request.
    async fn request(self: &Arc<Self>, request: Request<'_>) -> Result<RawJson, Error> {
        let mut sign_in = InteractiveSignIn::new(self.credentials.as_ref(), &self.host);
        loop {
            match self.request_without_sign_in(&request).await {
                Ok(answer) => return Ok(answer),
                Err(error) => sign_in.resolve(error).await?,
            }
        }
    }

    /// As `request`, but never signs in. A token renewal happens before the timeouts start, so that
    /// a timeout in it leaves no doubt that nothing was sent.
    async fn request_without_sign_in(
        self: &Arc<Self>,
        request: &Request<'_>,
    ) -> Result<RawJson, Error> {
        if let Some(credentials) = &self.credentials {
            let after = request.timeouts.idle;
            match tokio::time::timeout(after, credentials.present()).await {
                Ok(present) => drop(present?),
                Err(_) => return Err(Error::StillRenewing { after }),
            }
        }
        self.request_once(request).await
    }

    async fn request_once(self: &Arc<Self>, request: &Request<'_>) -> Result<RawJson, Error> {
        let Request { method, params, headers, progress, progress_token, timeouts } = request;
        let (method, timeouts) = (*method, *timeouts);
        if self.router.close_reason().is_some() && self.handshake.get().is_some() {
            return Err(Error::Unsent);
        }
        let progress = redacting(progress.as_ref(), &self.host.redactor);
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let began = Instant::now();
        let mut waiter = self.router.register(id, progress, RequestKind::Call);
        let mut meta = self.common_meta.get().cloned().unwrap_or_default();
        if matches!(method, "tools/call" | "resources/read" | "prompts/get") {
            meta = meta.with("progressToken", &progress_token.unwrap_or(id));
        }
        let body = message::request(id, method, params, &meta);
        let outgoing = OutgoingRequest { id, method, body, headers: headers.clone() };
        let mut cancellation = CancelOnDrop {
            inner: Arc::clone(self),
            id,
            notify: !matches!(method, "initialize" | "server/discover"),
        };
        let activity = Arc::clone(&waiter.activity);
        let answer = self.connection.request(&outgoing, &mut waiter);
        tokio::pin!(answer);
        let end = deadline_after(began, timeouts.total);
        let mut deadline = deadline_after(began, timeouts.idle).min(end);
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut answer => {
                    cancellation.notify = false;
                    break outcome;
                }
                () = sleep_until(deadline) => {
                    let alive_until = if self.router.is_answering() {
                        deadline_in(timeouts.idle)
                    } else {
                        deadline_after(activity.time(), timeouts.idle)
                    };
                    if deadline >= end {
                        break Err(self.too_late(method, timeouts.total, timeouts));
                    }
                    if alive_until <= deadline {
                        break Err(self.too_late(method, timeouts.idle, timeouts));
                    }
                    deadline = alive_until.min(end);
                }
            }
        };
        let outcome = outcome.map_err(|error| error.redacted(&self.host.redactor));
        let (server, took) = (&self.entry.name, began.elapsed());
        match &outcome {
            Ok(_) => tracing::debug!(%server, id, method, ?took, "request answered"),
            Err(error) => tracing::debug!(%server, id, method, %error, ?took, "request failed"),
        }
        outcome
    }

    fn too_late(&self, method: &str, after: Duration, timeouts: Timeouts) -> Error {
        if self.handshake.get().is_none() {
            let output = self.connection.output_tail();
            return Error::ConnectTimeout { method: method.to_owned(), after, output };
        }
        if timeouts.total > timeouts.idle && after == timeouts.total {
            return Error::CallTooLong { method: method.to_owned(), cap: after };
        }
        Error::CallTimeout { method: method.to_owned(), idle: after }
    }

    fn stateless_http(&self) -> bool {
        matches!(self.connection, Connection::Http(_))
            && self.handshake.get().is_some_and(|handshake| handshake.era == Era::Stateless)
    }

    fn cancel(self: &Arc<Self>, id: u64) {
        // Closing the response stream cancels it already.
        if self.stateless_http() || self.router.close_reason().is_some() {
            return;
        }
        let params =
            Params::default().with("requestId", &id).with("reason", "the client stopped waiting");
        let body = message::notification("notifications/cancelled", &params);
        if let Connection::Stdio(connection) = &self.connection {
            let _ = connection.send(&body);
            return;
        }
        let inner = Arc::clone(self);
        spawn_detached(&self.tasks, async move {
            let _ = tokio::time::timeout(CANCEL_TIMEOUT, inner.connection.send_message(body)).await;
        });
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.router.close(CloseReason::Ours);
        self.connection.close();
    }
}

fn redacting(sink: Option<&ProgressSink>, redactor: &Arc<Redactor>) -> Option<ProgressSink> {
    let (sink, redactor) = (Arc::clone(sink?), Arc::clone(redactor));
    Some(Arc::new(move |mut progress| {
        if let Some(message) = &mut progress.message {
            *message = redactor.redact(message).into_owned();
        }
        sink(progress);
    }))
}

/// A deadline from now. Very long waits are capped at a year to avoid an overflow.
pub(crate) fn deadline_in(wait: Duration) -> Instant {
    deadline_after(Instant::now(), wait)
}

pub(crate) fn deadline_after(moment: Instant, wait: Duration) -> Instant {
    const AGE: Duration = Duration::from_hours(24 * 365);
    moment + wait.min(AGE)
}

#[derive(Clone, Default)]
pub struct CallOptions {
    pub progress: Option<ProgressSink>,
    /// Overrides the idle timeout of the entry.
    pub timeout: Option<Duration>,
    /// The [digest](crate::tool::Tool::digest) of the approved definition; a tool whose definition
    /// has changed is not called. Without it the host is asked if the server is untrusted.
    pub approved: Option<String>,
}

impl fmt::Debug for CallOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOptions").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// The mark of a running call.
#[derive(Debug)]
struct ActiveCall(Arc<Inner>);

impl ActiveCall {
    fn new(inner: &Arc<Inner>) -> Self {
        inner.active_calls.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(inner))
    }
}

impl Drop for ActiveCall {
    fn drop(&mut self) {
        self.0.active_calls.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Forgets a request at its end, and cancels one that timed out or whose caller dropped it.
#[derive(Debug)]
struct CancelOnDrop {
    inner: Arc<Inner>,
    id: u64,
    notify: bool,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.inner.router.forget(self.id);
        if self.notify {
            self.inner.cancel(self.id);
        }
    }
}
