//! Delivery of a server's messages to their receivers.
//!
//! Each session has one router. The task that reads a response wakes its caller directly; progress
//! extends call timeouts; everything else goes to the session through a bounded channel. Floods are
//! cheap: a changed list is one mark, and messages that do not fit into the channel are counted and
//! dropped.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

use crate::error::{Error, ProcessExit, ServerOutput};
use crate::message::{Message, RawJson, RpcError, truncated_peer_text};
use crate::sync::lock;

const MAX_WAITING_EVENTS: usize = 256;

/// Receives the progress of a call.
pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// In a unit of the server's choice; tasks have none.
    pub done: Option<f64>,
    pub total: Option<f64>,
    pub message: Option<String>,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let far = self.done.map(|done| match self.total {
            Some(total) => format!("{done}/{total}"),
            None => done.to_string(),
        });
        let parts = [far.as_deref(), self.message.as_deref()].into_iter().flatten();
        f.write_str(&parts.collect::<Vec<_>>().join(" "))
    }
}

#[derive(Debug, Clone)]
pub(crate) enum CloseReason {
    Exited { exit: ProcessExit, output: ServerOutput },
    OutputClosed { output: ServerOutput },
    InputStuck { queued: usize },
    Broken { reason: String },
    SessionGone,
    Ours,
}

impl CloseReason {
    pub(crate) fn error(&self) -> Error {
        match self.clone() {
            Self::Exited { exit, output } => Error::Exited { exit, output },
            Self::OutputClosed { output } => Error::OutputClosed { output },
            Self::InputStuck { queued } => Error::InputStuck { queued },
            Self::Broken { reason } => Error::Broken { reason },
            Self::SessionGone => Error::SessionLost,
            Self::Ours => Error::Closed,
        }
    }
}

pub(crate) struct Router {
    waiting: Mutex<BTreeMap<u64, PendingRequest>>,
    closed: OnceLock<CloseReason>,
    over: Notify,
    /// Requests and notifications for the session.
    events: mpsc::Sender<Message>,
    dropped: AtomicU64,
    tools_changed: AtomicBool,
    list_changed: Notify,
    answering: AtomicUsize,
    /// A task of the server changed: poll it now.
    pub(crate) task_changed: Notify,
    /// Watched resources, and whether each has changed since the caller last asked.
    watched: Mutex<BTreeMap<String, bool>>,
    /// The set of watched resources changed.
    pub(crate) rewatched: Notify,
}

struct PendingRequest {
    answer: oneshot::Sender<Result<RawJson, Error>>,
    activity: Arc<LastActivity>,
    progress: Option<ProgressSink>,
    kind: RequestKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// It waits for a response.
    Call,
    /// It stays open as long as the session.
    Subscription,
}

/// The time of the last activity of a call or a server.
#[derive(Debug)]
pub(crate) struct LastActivity(Mutex<Instant>);

impl LastActivity {
    pub(crate) fn now() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    pub(crate) fn touch(&self) {
        *lock(&self.0) = Instant::now();
    }

    pub(crate) fn time(&self) -> Instant {
        *lock(&self.0)
    }
}

pub(crate) struct ServerRequestGuard(Arc<Router>);

impl Drop for ServerRequestGuard {
    fn drop(&mut self) {
        self.0.answering.fetch_sub(1, Ordering::AcqRel);
        for waiting in lock(&self.0.waiting).values() {
            waiting.activity.touch();
        }
    }
}

#[derive(Debug)]
pub(crate) struct ResponseWaiter {
    pub(crate) answer: oneshot::Receiver<Result<RawJson, Error>>,
    pub(crate) activity: Arc<LastActivity>,
}

impl Router {
    pub(crate) fn new() -> (Arc<Self>, mpsc::Receiver<Message>) {
        let (events, received) = mpsc::channel(MAX_WAITING_EVENTS);
        let router = Self {
            waiting: Mutex::default(),
            closed: OnceLock::new(),
            over: Notify::new(),
            events,
            dropped: AtomicU64::new(0),
            tools_changed: AtomicBool::new(false),
            list_changed: Notify::new(),
            answering: AtomicUsize::new(0),
            task_changed: Notify::new(),
            watched: Mutex::default(),
            rewatched: Notify::new(),
        };
        (Arc::new(router), received)
    }

    /// Registers a request. On a closed session it fails at once.
    pub(crate) fn register(
        &self,
        id: u64,
        progress: Option<ProgressSink>,
        kind: RequestKind,
    ) -> ResponseWaiter {
        let (sender, answer) = oneshot::channel();
        let activity = Arc::new(LastActivity::now());
        let waiting =
            PendingRequest { answer: sender, activity: Arc::clone(&activity), progress, kind };
        let mut map = lock(&self.waiting);
        match self.closed.get() {
            Some(reason) => {
                let _ = waiting.answer.send(Err(reason.error()));
            }
            None => {
                map.insert(id, waiting);
            }
        }
        ResponseWaiter { answer, activity }
    }

    pub(crate) fn forget(&self, id: u64) {
        lock(&self.waiting).remove(&id);
    }

    /// Completes a request; false if its caller is gone.
    pub(crate) fn settle(&self, id: u64, outcome: Result<RawJson, Error>) -> bool {
        let waiting = lock(&self.waiting).remove(&id);
        waiting.is_some_and(|waiting| waiting.answer.send(outcome).is_ok())
    }

    pub(crate) fn deliver(&self, message: Message) {
        match message {
            Message::Response { id, outcome } => {
                self.settle(id, outcome.map_err(Error::Rpc));
            }
            Message::Malformed { id: Some(id), reason } => {
                self.settle(id, Err(Error::malformed(reason)));
            }
            Message::UnattributedError { error } => self.fail_oldest(error),
            Message::Notification { method, params } => self.notified(method, params),
            request @ Message::Request { .. } => self.push(request),
            Message::Malformed { id: None, .. } | Message::Noise => {}
        }
    }

    /// An error without an id most likely concerns the oldest request.
    pub(crate) fn fail_oldest(&self, error: RpcError) {
        let is_call = |(_, waiting): &(&u64, &PendingRequest)| waiting.kind == RequestKind::Call;
        let oldest = lock(&self.waiting).iter().find(is_call).map(|(id, _)| *id);
        if let Some(id) = oldest {
            self.settle(id, Err(Error::Rpc(error)));
        }
    }

    fn notified(&self, method: String, params: Option<RawJson>) {
        match method.as_str() {
            "notifications/progress" => self.progressed(params.as_ref()),
            "notifications/tasks/status" => self.task_changed.notify_one(),
            "notifications/resources/updated" => self.resource_updated(params.as_ref()),
            "notifications/tools/list_changed" => self.all_changed(),
            "notifications/prompts/list_changed" | "notifications/resources/list_changed" => {
                self.list_changed.notify_one();
            }
            _ => self.push(Message::Notification { method, params }),
        }
    }

    fn progressed(&self, params: Option<&RawJson>) {
        let Some(params) = params.map(RawJson::value) else { return };
        let token = &params["progressToken"];
        let id = token.as_u64().or_else(|| token.as_str()?.parse().ok());
        let Some(id) = id else { return };
        let sink = {
            let map = lock(&self.waiting);
            let Some(waiting) = map.get(&id) else { return };
            waiting.activity.touch();
            waiting.progress.clone()
        };
        if let Some(sink) = sink {
            sink(Progress {
                done: Some(params["progress"].as_f64().unwrap_or(0.0)),
                total: params["total"].as_f64(),
                message: params["message"].as_str().map(truncated_peer_text),
            });
        }
    }

    /// Marks a resource as changed. The server may name a part of the watched one.
    fn resource_updated(&self, params: Option<&RawJson>) {
        let Some(params) = params.map(RawJson::value) else { return };
        let Some(uri) = params["uri"].as_str() else { return };
        for (watched, changed) in self.watched().iter_mut() {
            let rest = uri.strip_prefix(watched.as_str());
            *changed |= rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        }
    }

    /// The watched resources, each with whether it changed.
    pub(crate) fn watched(&self) -> MutexGuard<'_, BTreeMap<String, bool>> {
        lock(&self.watched)
    }

    fn push(&self, event: Message) {
        if self.events.try_send(event).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn take_dropped(&self) -> u64 {
        self.dropped.swap(0, Ordering::Relaxed)
    }

    pub(crate) fn all_changed(&self) {
        self.tools_changed.store(true, Ordering::Release);
        self.list_changed.notify_one();
    }

    /// Waits for a changed list. Whether the tools changed since the last call.
    pub(crate) async fn changed(&self) -> bool {
        self.list_changed.notified().await;
        self.tools_changed.swap(false, Ordering::AcqRel)
    }

    /// Closes the session: pending and later requests fail with the reason.
    pub(crate) fn close(&self, reason: CloseReason) {
        let waiting = {
            let mut map = lock(&self.waiting);
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

    pub(crate) async fn closed(&self) -> CloseReason {
        loop {
            let over = self.over.notified();
            if let Some(reason) = self.closed.get() {
                return reason.clone();
            }
            over.await;
        }
    }

    pub(crate) fn answering(self: &Arc<Self>) -> ServerRequestGuard {
        self.answering.fetch_add(1, Ordering::AcqRel);
        ServerRequestGuard(Arc::clone(self))
    }

    /// Whether the server waits for our answer, so that its calls may be silent.
    pub(crate) fn is_answering(&self) -> bool {
        self.answering.load(Ordering::Acquire) > 0
    }
}
