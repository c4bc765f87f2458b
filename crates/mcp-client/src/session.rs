//! One conversation with one server, in either era of the protocol.
//!
//! A session knows how to ask: every request has a place in the router, an idle limit that
//! progress extends, an absolute limit, and a cancellation that reaches the server when the caller
//! gives up. What is asked stands in the submodules.

mod attend;
mod cache;
mod call;
mod connect;
mod handshake;
mod listing;
mod rounds;
mod subscription;

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::TaskTracker;

pub use self::call::CallOptions;
pub(crate) use self::connect::{Dialer, Memory};
pub use self::connect::{Stage, Trace};
use crate::config::ServerEntry;
use crate::error::Error;
use crate::host::Host;
use crate::message::{self, Meta, Params, Payload};
use crate::oauth::credentials::Credentials;
use crate::oauth::person::Person;
use crate::protocol::Era;
use crate::redact::Redactor;
use crate::router::{Changed, CloseReason, Lasts, ProgressSink, Router};
use crate::transport::{Link, Outgoing, in_background};

/// A call may last this many times its idle limit, however lively it is.
pub const MAX_CALL_FACTOR: u32 = 12;
/// How long telling a server about a cancelled call may take.
const CANCEL: Duration = Duration::from_secs(2);

/// What the handshake brought.
#[derive(Debug, Clone)]
pub struct Agreed {
    /// The era both speak.
    pub era: Era,
    /// The protocol version.
    pub version: String,
    /// What the server can do, as it said.
    pub capabilities: Value,
    /// Who it says it is.
    pub server_info: Value,
    /// What it wants a model to know.
    pub instructions: Option<String>,
}

impl Agreed {
    /// Whether the server said it has this: `tools`, `resources`, `prompts`.
    pub fn offers(&self, capability: &str) -> bool {
        match &self.capabilities {
            Value::Object(all) => all.get(capability).is_some_and(|value| !value.is_null()),
            // A server that declares nothing at all may still have tools.
            _ => capability == "tools",
        }
    }

    fn announces_changes(&self, capability: &str) -> bool {
        let declared = self.capabilities.get(capability).and_then(|value| value.get("listChanged"));
        declared.and_then(Value::as_bool) == Some(true)
    }
}

/// One conversation with one server. Cheap to clone; ends when closed or when the last is dropped.
#[derive(Debug, Clone)]
pub struct Session {
    inner: Arc<Inner>,
}

struct Inner {
    entry: Arc<ServerEntry>,
    host: Arc<Host>,
    link: Link,
    router: Arc<Router>,
    /// Who is signed in.
    credentials: Option<Arc<Credentials>>,
    tasks: TaskTracker,
    agreed: OnceLock<Agreed>,
    /// What every request carries under `_meta`.
    standing: OnceLock<String>,
    next_id: AtomicU64,
    busy: AtomicUsize,
    cache: cache::Cache,
    began: Instant,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("server", &self.entry.name)
            .field("agreed", &self.agreed)
            .finish_non_exhaustive()
    }
}

/// How long a request may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    /// Without a sign of life.
    pub(crate) idle: Duration,
    /// In all.
    pub(crate) cap: Duration,
}

impl Limit {
    pub(crate) fn within(all: Duration) -> Self {
        Self { idle: all, cap: all }
    }

    pub(crate) fn call(idle: Duration) -> Self {
        Self { idle, cap: idle.saturating_mul(MAX_CALL_FACTOR) }
    }
}

/// One request.
pub(crate) struct Ask<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: Params,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) progress: Option<ProgressSink>,
    pub(crate) limit: Limit,
}

impl<'a> Ask<'a> {
    pub(crate) fn new(method: &'a str, params: Params, limit: Limit) -> Self {
        Self { method, params, headers: Vec::new(), progress: None, limit }
    }
}

impl Session {
    /// What the handshake brought.
    pub fn agreed(&self) -> &Agreed {
        // Only sessions that have agreed are handed out.
        static NOTHING: OnceLock<Agreed> = OnceLock::new();
        self.inner.agreed.get().unwrap_or_else(|| {
            NOTHING.get_or_init(|| Agreed {
                era: Era::Legacy,
                version: String::new(),
                capabilities: Value::Null,
                server_info: Value::Null,
                instructions: None,
            })
        })
    }

    /// Whether the server lives, asked in the way of its era. Never served from a cache.
    pub async fn ping(&self, within: Duration) -> Result<(), Error> {
        let method = match self.agreed().era {
            Era::Legacy => "ping",
            Era::Stateless => "server/discover",
        };
        self.inner
            .ask_alone(&Ask::new(method, Params::new(), Limit::within(within)))
            .await
            .map(drop)
    }

    /// Whether the server answers anything it offers: what is asked when a ping was ignored.
    pub(crate) async fn probe(&self, within: Duration) -> Result<(), Error> {
        let agreed = self.agreed();
        let offered =
            [("tools", "tools/list"), ("resources", "resources/list"), ("prompts", "prompts/list")];
        let method = offered.iter().find(|(capability, _)| agreed.offers(capability));
        match method {
            Some((_, method)) => {
                let ask = Ask::new(method, Params::new(), Limit::within(within));
                self.inner.ask_alone(&ask).await.map(drop)
            }
            None => self.ping(within).await,
        }
    }

    /// Some list has changed: nothing that was kept is served any more.
    pub(crate) fn forget_lists(&self) {
        self.inner.cache.clear();
    }

    /// How many calls run at the moment.
    pub fn busy(&self) -> usize {
        self.inner.busy.load(Ordering::Acquire)
    }

    /// How old the session is.
    pub fn age(&self) -> Duration {
        self.inner.began.elapsed()
    }

    /// Waits until the session is over, and says why.
    pub async fn over(&self) -> Error {
        self.inner.router.closed().await.error().cleaned(&self.inner.host.redactor)
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        self.inner.router.close_reason().is_some()
    }

    /// Ends the session; calls in flight fail at once. A process is gone when this returns.
    pub async fn close(&self) {
        self.inner.router.close(CloseReason::Ours);
        self.inner.link.close();
        if let Link::Stdio(link) = &self.inner.link {
            link.ended().await;
        }
    }

    /// Whether both are one conversation.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// The way it goes: `stdio`, `http` or `sse`.
    pub fn transport(&self) -> &'static str {
        match &self.inner.link {
            Link::Stdio(_) => "stdio",
            Link::Http(_) => "http",
            Link::Sse(_) => "sse",
        }
    }

    /// The process group of a local server.
    pub fn process_group(&self) -> Option<i32> {
        match &self.inner.link {
            Link::Stdio(link) => Some(link.group_id()),
            _ => None,
        }
    }

    /// The server no longer knows this session: whoever uses it next gets a new one.
    pub(crate) fn abandon(&self) {
        self.inner.router.close(CloseReason::SessionGone);
    }

    /// Waits until the server says that lists have changed.
    pub(crate) async fn changed(&self) -> Changed {
        self.inner.router.changed().await
    }

    /// What a local server said outside the protocol: standard error, and stray output.
    pub fn said(&self) -> (String, Option<String>) {
        match &self.inner.link {
            Link::Stdio(link) => link.said(),
            _ => (String::new(), None),
        }
    }

    pub(crate) async fn ask(&self, ask: Ask<'_>) -> Result<Payload, Error> {
        self.inner.ask(ask).await
    }
}

impl Inner {
    /// Asks and waits for the answer within the limits, which do not count while a person signs in.
    /// Dropping the future cancels the request.
    async fn ask(self: &Arc<Self>, ask: Ask<'_>) -> Result<Payload, Error> {
        let mut person = Person::new(self.credentials.as_ref(), &self.host);
        loop {
            match self.ask_alone(&ask).await {
                Ok(answer) => return Ok(answer),
                Err(error) => person.help(error).await?,
            }
        }
    }

    /// Asks, but brings nobody to sign in. A token that has to be renewed first costs the answer no
    /// time, and leaves no doubt about what was sent.
    async fn ask_alone(self: &Arc<Self>, ask: &Ask<'_>) -> Result<Payload, Error> {
        if let Some(credentials) = &self.credentials {
            let after = ask.limit.idle;
            match tokio::time::timeout(after, credentials.present()).await {
                Ok(present) => drop(present?),
                Err(_) => return Err(Error::StillRenewing { after }),
            }
        }
        self.ask_once(ask).await
    }

    async fn ask_once(self: &Arc<Self>, ask: &Ask<'_>) -> Result<Payload, Error> {
        let Ask { method, params, headers, progress, limit } = ask;
        let (method, limit) = (*method, *limit);
        if self.router.close_reason().is_some() && self.agreed.get().is_some() {
            return Err(Error::Unsent);
        }
        let progress = progress.clone();
        let progress = progress.map(|sink| cleaning(sink, Arc::clone(&self.host.redactor)));
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let began = Instant::now();
        let mut ticket = self.router.register(id, progress, Lasts::UntilAnswered);
        let meta = Meta {
            standing: self.standing.get().map_or("", String::as_str),
            progress: matches!(method, "tools/call" | "resources/read" | "prompts/get"),
        };
        let body = message::request(id, method, params, meta);
        let outgoing = Outgoing { id, method, body, headers: headers.clone() };
        let mut giving_up =
            GivingUp { inner: self, id, tell: !matches!(method, "initialize" | "server/discover") };
        let activity = Arc::clone(&ticket.activity);
        let answer = self.link.request(&outgoing, &mut ticket);
        tokio::pin!(answer);
        let end = after(began, limit.cap);
        let mut deadline = after(began, limit.idle).min(end);
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut answer => {
                    giving_up.tell = false;
                    break outcome;
                }
                () = sleep_until(deadline) => {
                    let alive_until = if self.router.is_asking() {
                        later(limit.idle)
                    } else {
                        after(self.router.last_activity(&activity), limit.idle)
                    };
                    if deadline >= end {
                        break Err(self.too_late(method, limit.cap, limit));
                    }
                    if alive_until <= deadline {
                        break Err(self.too_late(method, limit.idle, limit));
                    }
                    deadline = alive_until.min(end);
                }
            }
        };
        outcome.map_err(|error| error.cleaned(&self.host.redactor))
    }

    fn too_late(&self, method: &str, after: Duration, limit: Limit) -> Error {
        if self.agreed.get().is_none() {
            let (stderr, noise) = match &self.link {
                Link::Stdio(link) => link.said(),
                _ => (String::new(), None),
            };
            return Error::ConnectTimeout { method: method.to_owned(), after, stderr, noise };
        }
        if limit.cap > limit.idle && after == limit.cap {
            return Error::CallTooLong { method: method.to_owned(), cap: after };
        }
        Error::CallTimeout { method: method.to_owned(), idle: after }
    }

    fn stateless_http(&self) -> bool {
        matches!(self.link, Link::Http(_))
            && self.agreed.get().is_some_and(|agreed| agreed.era == Era::Stateless)
    }

    /// Tells the server that a request is no longer waited for.
    fn cancel(self: &Arc<Self>, id: u64) {
        // Closing the stream of the answer says it already.
        if self.stateless_http() || self.router.close_reason().is_some() {
            return;
        }
        let params = Params::new().with("requestId", &id).with("reason", "no longer waited for");
        let body = message::notification("notifications/cancelled", &params);
        if let Link::Stdio(link) = &self.link {
            let _ = link.send(&body);
            return;
        }
        let inner = Arc::clone(self);
        in_background(&self.tasks, async move {
            let _ = tokio::time::timeout(CANCEL, inner.link.tell(body)).await;
        });
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.router.close(CloseReason::Ours);
        self.link.close();
    }
}

/// Progress whose words have passed the redactor.
fn cleaning(sink: ProgressSink, redactor: Arc<Redactor>) -> ProgressSink {
    Arc::new(move |mut progress| {
        if let Some(message) = &mut progress.message {
            *message = redactor.clean(message).into_owned();
        }
        sink(progress);
    })
}

/// A moment from now. Durations of whole ages end in a year instead of overflowing.
pub(crate) fn later(wait: Duration) -> Instant {
    after(Instant::now(), wait)
}

/// A moment after another, as [`later`].
pub(crate) fn after(moment: Instant, wait: Duration) -> Instant {
    const AGE: Duration = Duration::from_hours(24 * 365);
    moment + wait.min(AGE)
}

/// A request that may be given up: by a limit, or because its caller went away.
struct GivingUp<'a> {
    inner: &'a Arc<Inner>,
    id: u64,
    tell: bool,
}

impl Drop for GivingUp<'_> {
    fn drop(&mut self) {
        self.inner.router.forget(self.id);
        if self.tell {
            self.inner.cancel(self.id);
        }
    }
}
