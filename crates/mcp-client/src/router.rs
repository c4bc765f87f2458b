//! Brings what a server sends to whoever waits for it.
//!
//! One router belongs to one session. Answers wake their callers directly from the task that read
//! them; progress keeps calls alive; everything else goes to the session's attendant through a
//! bounded channel. Floods cost nothing: a changed list is one bit, and what does not fit into the
//! channel is counted and dropped.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::Value;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

use crate::error::{Error, Exit};
use crate::message::{Incoming, Payload, RpcError};

/// How many requests and notifications of a server may wait to be looked at.
const MAX_WAITING_EVENTS: usize = 256;

/// Hears of a call's progress.
pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

/// How far a call is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// In the server's own unit.
    pub done: f64,
    /// Of how much, if it knows.
    pub total: Option<f64>,
    /// In words.
    pub message: Option<String>,
}

/// Something of a server that nobody asked for.
#[derive(Debug)]
pub(crate) enum PeerEvent {
    Request { id: Payload, method: String, params: Option<Payload> },
    Notification { method: String, params: Option<Payload> },
}

/// Why a session is over.
#[derive(Debug, Clone)]
pub(crate) enum CloseReason {
    Exited { exit: Exit, stderr: String, noise: Option<String> },
    OutputClosed { stderr: String, noise: Option<String> },
    InputStuck { queued: usize },
    Broken { reason: String },
    SessionGone,
    Ours,
}

impl CloseReason {
    pub(crate) fn error(&self) -> Error {
        match self.clone() {
            Self::Exited { exit, stderr, noise } => Error::Exited { exit, stderr, noise },
            Self::OutputClosed { stderr, noise } => Error::OutputClosed { stderr, noise },
            Self::InputStuck { queued } => Error::InputStuck { queued },
            Self::Broken { reason } => Error::Broken { reason },
            Self::SessionGone => Error::SessionLost,
            Self::Ours => Error::Closed,
        }
    }
}

/// Which lists a server said have changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Changed(u8);

impl Changed {
    pub(crate) const TOOLS: u8 = 1;
    pub(crate) const PROMPTS: u8 = 2;
    pub(crate) const RESOURCES: u8 = 4;

    pub(crate) fn tools(self) -> bool {
        self.0 & Self::TOOLS != 0
    }
}

pub(crate) struct Router {
    waiting: Mutex<BTreeMap<u64, Waiting>>,
    closed: OnceLock<CloseReason>,
    over: Notify,
    events: mpsc::Sender<PeerEvent>,
    dropped: AtomicU64,
    changed: AtomicU8,
    change: Notify,
    started: Instant,
    /// How many of the server's own requests are being answered.
    asking: AtomicUsize,
}

struct Waiting {
    answer: oneshot::Sender<Result<Payload, Error>>,
    activity: Arc<Activity>,
    progress: Option<ProgressSink>,
    lasts: Lasts,
}

/// How long a request is meant to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lasts {
    /// Until its answer, which is due.
    UntilAnswered,
    /// As long as the session: a subscription.
    AsTheSession,
}

/// When a call last showed a sign of life, in milliseconds since its session began.
#[derive(Debug, Default)]
pub(crate) struct Activity(AtomicU64);

/// A request of the server that is being answered.
pub(crate) struct Asking(Arc<Router>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.asking.fetch_sub(1, Ordering::AcqRel);
        let now = self.0.now();
        for waiting in self.0.lock().values() {
            waiting.activity.0.store(now, Ordering::Release);
        }
    }
}

/// A caller's place in the router.
pub(crate) struct Ticket {
    pub(crate) answer: oneshot::Receiver<Result<Payload, Error>>,
    pub(crate) activity: Arc<Activity>,
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router").field("closed", &self.closed).finish_non_exhaustive()
    }
}

impl Router {
    pub(crate) fn new() -> (Arc<Self>, mpsc::Receiver<PeerEvent>) {
        let (events, received) = mpsc::channel(MAX_WAITING_EVENTS);
        let router = Self {
            waiting: Mutex::default(),
            closed: OnceLock::new(),
            over: Notify::new(),
            events,
            dropped: AtomicU64::new(0),
            changed: AtomicU8::new(0),
            change: Notify::new(),
            started: Instant::now(),
            asking: AtomicUsize::new(0),
        };
        (Arc::new(router), received)
    }

    /// Makes a place for the answer to `id`. A closed session answers at once.
    pub(crate) fn register(&self, id: u64, progress: Option<ProgressSink>, lasts: Lasts) -> Ticket {
        let (sender, answer) = oneshot::channel();
        let activity = Arc::new(Activity(AtomicU64::new(self.now())));
        let waiting = Waiting { answer: sender, activity: Arc::clone(&activity), progress, lasts };
        let mut map = self.lock();
        match self.closed.get() {
            Some(reason) => {
                let _ = waiting.answer.send(Err(reason.error()));
            }
            None => {
                map.insert(id, waiting);
            }
        }
        Ticket { answer, activity }
    }

    pub(crate) fn forget(&self, id: u64) {
        self.lock().remove(&id);
    }

    /// Gives `id` its answer; false if nobody waits for it.
    pub(crate) fn settle(&self, id: u64, outcome: Result<Payload, Error>) -> bool {
        let waiting = self.lock().remove(&id);
        waiting.is_some_and(|waiting| waiting.answer.send(outcome).is_ok())
    }

    /// Takes one message in.
    pub(crate) fn deliver(&self, message: Incoming) {
        match message {
            Incoming::Answer { id, outcome } => {
                self.settle(id, outcome.map_err(Error::Rpc));
            }
            Incoming::Malformed { id: Some(id), reason } => {
                self.settle(id, Err(Error::Malformed { reason: reason.to_owned() }));
            }
            Incoming::Stray { error } => self.fail_oldest(error),
            Incoming::Notification { method, params } => self.notified(method, params),
            Incoming::Request { id, method, params } => {
                self.push(PeerEvent::Request { id, method, params });
            }
            Incoming::Malformed { id: None, .. } | Incoming::Noise => {}
        }
    }

    /// An error that names no request is most likely about the one that has waited longest.
    pub(crate) fn fail_oldest(&self, error: RpcError) {
        let oldest = {
            let mut map = self.lock();
            let due = |(id, waiting): (&u64, &Waiting)| {
                (waiting.lasts == Lasts::UntilAnswered).then_some(*id)
            };
            let id = map.iter().find_map(due);
            id.and_then(|id| map.remove(&id))
        };
        if let Some(waiting) = oldest {
            let _ = waiting.answer.send(Err(Error::Rpc(error)));
        }
    }

    fn notified(&self, method: String, params: Option<Payload>) {
        let bit = match method.as_str() {
            "notifications/progress" => return self.progressed(params.as_ref()),
            "notifications/tools/list_changed" => Changed::TOOLS,
            "notifications/prompts/list_changed" => Changed::PROMPTS,
            "notifications/resources/list_changed" => Changed::RESOURCES,
            _ => return self.push(PeerEvent::Notification { method, params }),
        };
        self.changed.fetch_or(bit, Ordering::AcqRel);
        self.change.notify_one();
    }

    fn progressed(&self, params: Option<&Payload>) {
        let Some(params) = params.map(Payload::value) else { return };
        let token = params.get("progressToken");
        let Some(id) = token.and_then(|token| {
            token.as_u64().or_else(|| token.as_str().and_then(|text| text.parse().ok()))
        }) else {
            return;
        };
        let sink = {
            let map = self.lock();
            let Some(waiting) = map.get(&id) else { return };
            waiting.activity.0.store(self.now(), Ordering::Release);
            waiting.progress.clone()
        };
        if let Some(sink) = sink {
            sink(Progress {
                done: params.get("progress").and_then(Value::as_f64).unwrap_or(0.0),
                total: params.get("total").and_then(Value::as_f64),
                message: params.get("message").and_then(Value::as_str).map(crate::message::bounded),
            });
        }
    }

    fn push(&self, event: PeerEvent) {
        if self.events.try_send(event).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many requests and notifications were dropped since last asked.
    pub(crate) fn take_dropped(&self) -> u64 {
        self.dropped.swap(0, Ordering::Relaxed)
    }

    /// Says that any list may have changed.
    pub(crate) fn all_changed(&self) {
        let all = Changed::TOOLS | Changed::PROMPTS | Changed::RESOURCES;
        self.changed.fetch_or(all, Ordering::AcqRel);
        self.change.notify_one();
    }

    /// Waits until some list has changed, and takes the change.
    pub(crate) async fn changed(&self) -> Changed {
        loop {
            let bits = self.changed.swap(0, Ordering::AcqRel);
            if bits != 0 {
                return Changed(bits);
            }
            self.change.notified().await;
        }
    }

    /// Ends the session: whoever waits gets the reason, and so does whoever comes later.
    pub(crate) fn close(&self, reason: CloseReason) {
        let waiting = {
            let mut map = self.lock();
            if self.closed.set(reason).is_err() {
                return;
            }
            std::mem::take(&mut *map)
        };
        if let Some(reason) = self.closed.get() {
            for (_, waiting) in waiting {
                let _ = waiting.answer.send(Err(reason.error()));
            }
        }
        self.over.notify_waiters();
    }

    pub(crate) fn close_reason(&self) -> Option<&CloseReason> {
        self.closed.get()
    }

    /// Waits until the session is over.
    pub(crate) async fn closed(&self) -> CloseReason {
        loop {
            let over = self.over.notified();
            if let Some(reason) = self.closed.get() {
                return reason.clone();
            }
            over.await;
        }
    }

    /// A request of the server is being answered for as long as this lives.
    pub(crate) fn asking(self: &Arc<Self>) -> Asking {
        self.asking.fetch_add(1, Ordering::AcqRel);
        Asking(Arc::clone(self))
    }

    /// Whether the server waits for us: its calls are not to blame for being silent.
    pub(crate) fn is_asking(&self) -> bool {
        self.asking.load(Ordering::Acquire) > 0
    }

    /// The moment of a call's last sign of life.
    pub(crate) fn last_activity(&self, activity: &Activity) -> Instant {
        self.started + std::time::Duration::from_millis(activity.0.load(Ordering::Acquire))
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
