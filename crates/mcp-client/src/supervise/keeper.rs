//! The task that keeps one server: connects it, lists it, watches it, recycles it, parks it.

mod health;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::health::{Pings, unlisted};
use super::breaker::Breaker;
use super::handle::{Command, Handle, MAX_PARALLEL_CALLS, Use};
use super::{FIRST_TRIES, LATER_TRIES, PARKED, State, Status, backoff, remembered};
use crate::config::{Endpoint, HttpTransport, ServerEntry};
use crate::error::{Error, Kind};
use crate::guardian::Guardian;
use crate::host::{Event, Host};
use crate::registry::{Catalogue, ServerPart};
use crate::session::{Dialer, Memory, Session, after, later};

/// How long what a server leaves behind may take to end.
const STOP: Duration = Duration::from_secs(5);
/// How many commands may wait for a keeper.
const MAX_COMMANDS: usize = 16;

/// Takes a server's share of the registry, or takes it away.
pub(crate) type Publish = Arc<dyn Fn(Option<Arc<ServerPart>>) + Send + Sync>;

pub(crate) struct Keeper {
    entry: Arc<ServerEntry>,
    host: Arc<Host>,
    guardian: Arc<Guardian>,
    tasks: TaskTracker,
    publish: Publish,
    memory: Memory,
    status: watch::Sender<Status>,
    session: watch::Sender<Option<Session>>,
    commands: mpsc::Receiver<Command>,
    reconnect: Arc<Notify>,
    entries: watch::Receiver<Arc<ServerEntry>>,
    usage: Arc<Use>,
    stop: CancellationToken,
    catalogue: Option<Catalogue>,
    /// Failures since the server last proved itself.
    failures: u32,
    ever_ready: bool,
    pings: Pings,
    /// Its tools could not be listed, so it is degraded whatever it answers.
    unlisted: bool,
}

/// What follows the end of a session.
enum Next {
    Connect,
    Sleep,
}

impl Keeper {
    /// The handle is for callers; the keeper is to be run as a task.
    pub(crate) fn new(
        entry: Arc<ServerEntry>,
        host: Arc<Host>,
        guardian: Arc<Guardian>,
        publish: Publish,
    ) -> (Self, Handle) {
        let transport = match &entry.endpoint {
            Endpoint::Stdio(_) => "stdio",
            Endpoint::Http(http) if http.transport == HttpTransport::Sse => "sse",
            Endpoint::Http(_) => "http",
        };
        let state = if entry.enabled { State::Connecting } else { State::Disabled };
        let (status, status_seen) = watch::channel(Status {
            server: entry.name.clone(),
            transport,
            state,
            since: Instant::now(),
            era: None,
            version: None,
            server_info: None,
            tools: 0,
            tokens: 0,
            quarantined: Vec::new(),
            skipped: Vec::new(),
            notes: Vec::new(),
            failure: None,
        });
        let (session, session_seen) = watch::channel(None);
        let (commands, received) = mpsc::channel(MAX_COMMANDS);
        let lanes = if entry.parallel_calls { MAX_PARALLEL_CALLS } else { 1 };
        let usage = Arc::new(Use::new());
        let stop = CancellationToken::new();
        let reconnect = Arc::new(Notify::new());
        let (entries, entries_seen) = watch::channel(Arc::clone(&entry));
        let handle = Handle {
            name: Arc::from(entry.name.as_str()),
            status: status_seen,
            session: session_seen,
            commands,
            reconnect: Arc::clone(&reconnect),
            entry: Arc::new(entries),
            lane: Arc::new(Semaphore::new(lanes)),
            breaker: Arc::new(Breaker::default()),
            use_: Arc::clone(&usage),
            stop: stop.clone(),
        };
        let keeper = Self {
            entry,
            host,
            guardian,
            tasks: TaskTracker::new(),
            publish,
            memory: Memory::default(),
            status,
            session,
            commands: received,
            reconnect,
            entries: entries_seen,
            usage,
            stop,
            catalogue: None,
            failures: 0,
            ever_ready: false,
            pings: Pings::Answered,
            unlisted: false,
        };
        (keeper, handle)
    }

    /// Runs until stopped. Nothing of the server is left when it returns.
    pub(crate) async fn run(mut self) {
        if !self.entry.enabled {
            return;
        }
        let stop = self.stop.clone();
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = self.keep() => {}
        }
        (self.publish)(None);
        if let Some(session) = self.session.send_replace(None) {
            session.close().await;
        }
        // Also what was only being connected has ended before this server counts as gone.
        self.tasks.close();
        let _ = tokio::time::timeout(STOP, self.tasks.wait()).await;
        self.memory.finished().await;
        self.set(&State::Stopped);
    }

    async fn keep(&mut self) {
        let mut next = Next::Connect;
        if self.entry.lazy
            && let Some(kept) = remembered::load(&self.host, &self.entry)
        {
            self.offer(kept);
            next = Next::Sleep;
        }
        loop {
            if matches!(next, Next::Sleep) {
                self.set(&State::Recycled);
                self.wait_for_call().await;
            }
            next = match self.connect().await {
                Ok(session) => self.attend(session).await,
                Err(error) => {
                    self.park(&error).await;
                    Next::Connect
                }
            };
        }
    }

    async fn wait_for_call(&mut self) {
        loop {
            tokio::select! {
                command = self.commands.recv() => match command {
                    Some(Command::Wake) => return,
                    Some(Command::Verify) => {}
                    None => std::future::pending().await,
                },
                () = self.reconnect.notified() => return,
                Ok(()) = self.entries.changed() => self.adopt(),
            }
        }
    }

    /// Waits before the next try, unless somebody wants it now.
    async fn pause(&mut self, wait: Duration) {
        tokio::select! {
            () = sleep(wait) => {}
            () = self.reconnect.notified() => {}
        }
        // Whoever called meanwhile has been told, or waits.
        while self.commands.try_recv().is_ok() {}
    }

    /// Tries until the server is listed, its failures are permanent, or the tries are used up.
    async fn connect(&mut self) -> Result<Session, Arc<Error>> {
        loop {
            self.set(&State::Connecting);
            let error = match self.connect_once().await {
                Ok(session) => return Ok(session),
                Err(error) => self.failed(error),
            };
            self.failures += 1;
            let tries = if self.ever_ready { LATER_TRIES } else { FIRST_TRIES };
            let permanent = matches!(error.kind(), Kind::Configuration | Kind::SignIn);
            if permanent || self.failures >= tries {
                return Err(error);
            }
            self.pause(backoff::wait(self.failures)).await;
        }
    }

    /// Keeps why a try failed: until the next one, that is all there is to say.
    fn failed(&self, error: Error) -> Arc<Error> {
        let error = Arc::new(error);
        self.status.send_modify(|status| status.failure = Some(Arc::clone(&error)));
        error
    }

    async fn connect_once(&mut self) -> Result<Session, Error> {
        self.adopt();
        let dialer = Dialer {
            entry: &self.entry,
            host: &self.host,
            guardian: &self.guardian,
            tasks: &self.tasks,
            memory: &self.memory,
            trace: None,
        };
        let session = dialer.connect().await?;
        match session.list_tools().await {
            Ok(catalogue) => {
                self.settle(&session, catalogue, &State::Ready);
                Ok(session)
            }
            // The server lives and may have resources or prompts: those are not lost.
            Err(error) if error.kind() == Kind::Call => {
                let reason = unlisted(&error);
                let agreed = session.agreed();
                let (resources, prompts) = (agreed.offers("resources"), agreed.offers("prompts"));
                let catalogue = Catalogue { resources, prompts, ..Catalogue::default() };
                self.settle(&session, catalogue, &State::Degraded { reason });
                Ok(session)
            }
            Err(error) => {
                session.close().await;
                Err(error)
            }
        }
    }

    fn settle(&mut self, session: &Session, catalogue: Catalogue, state: &State) {
        if self.entry.lazy && *state == State::Ready {
            remembered::save(&self.host, &self.entry, &catalogue);
        }
        let agreed = session.agreed();
        self.status.send_modify(|status| {
            status.transport = session.transport();
            status.era = Some(agreed.era);
            status.version = Some(agreed.version.clone());
            status.server_info = described(&agreed.server_info);
            status.failure = None;
        });
        self.offer(catalogue);
        self.unlisted = *state != State::Ready;
        self.pings = Pings::Answered;
        self.ever_ready = true;
        self.usage.touch();
        self.session.send_replace(Some(session.clone()));
        self.set(state);
    }

    /// Registers what the server offers, and tells what is different from before.
    fn offer(&mut self, catalogue: Catalogue) {
        let part =
            ServerPart::build(&self.entry.name, &self.entry.tools, self.entry.trust, &catalogue);
        self.status.send_modify(|status| {
            status.tools = part.len();
            status.tokens = part.tokens();
            status.quarantined = part.quarantined().to_vec();
            status.skipped = part.skipped().to_vec();
            status.notes = part.notes().chain(catalogue.notes.iter().cloned()).collect();
        });
        // A server without a single tool gets no place in the registry.
        (self.publish)((!part.is_empty()).then(|| Arc::new(part)));
        if let Some(before) = self.catalogue.replace(catalogue) {
            self.tell_changes(&before);
        }
    }

    fn tell_changes(&self, before: &Catalogue) {
        let digests = |catalogue: &Catalogue| -> BTreeMap<String, String> {
            catalogue.tools.iter().map(|tool| (tool.name.clone(), tool.digest())).collect()
        };
        let old = digests(before);
        let new = self.catalogue.as_ref().map(digests).unwrap_or_default();
        let missing_in = |one: &BTreeMap<String, String>, other: &BTreeMap<String, String>| {
            one.keys().filter(|name| !other.contains_key(*name)).cloned().collect::<Vec<_>>()
        };
        let (added, removed) = (missing_in(&new, &old), missing_in(&old, &new));
        let changed: Vec<String> = new
            .iter()
            .filter(|(name, digest)| old.get(*name).is_some_and(|known| known != *digest))
            .map(|(name, _)| name.clone())
            .collect();
        if added.len() + removed.len() + changed.len() > 0 {
            let server = self.entry.name.clone();
            self.host.observer.event(Event::Tools { server, added, removed, changed });
        }
    }

    /// Watches a session until it ends or is to be ended.
    async fn attend(&mut self, session: Session) -> Next {
        let answered = self.usage.answered();
        let mut ping_at = later(self.entry.keepalive);
        loop {
            let (idle_at, old_at) = (self.idle_deadline(&session), self.age_deadline(&session));
            tokio::select! {
                error = session.over() => return self.ended(&session, error, answered).await,
                changed = session.changed() => {
                    session.forget_lists();
                    if changed.tools() {
                        self.relist(&session).await;
                    }
                }
                () = sleep_until(ping_at) => {
                    if self.is_dead(&session).await {
                        return self.give_up(&session).await;
                    }
                    ping_at = later(self.entry.keepalive);
                }
                () = until(idle_at) => {
                    if session.busy() == 0 && self.idle_deadline(&session).is_some_and(|at| at <= Instant::now()) {
                        return self.recycle(&session).await;
                    }
                }
                () = until(old_at) => if session.busy() == 0 { return self.recycle(&session).await },
                () = self.reconnect.notified() => {
                    self.session.send_replace(None);
                    session.close().await;
                    return Next::Connect;
                }
                Ok(()) = self.entries.changed() => self.adopt(),
                command = self.commands.recv() => match command {
                    Some(Command::Verify) => {
                        if !session.is_over() && self.is_dead(&session).await {
                            return self.give_up(&session).await;
                        }
                    }
                    Some(Command::Wake) => {}
                    None => std::future::pending().await,
                },
            }
        }
    }

    async fn ended(&mut self, session: &Session, error: Error, answered: u64) -> Next {
        self.session.send_replace(None);
        session.close().await;
        if self.usage.answered() > answered {
            self.failures = 0;
        }
        // A session that never answered a call or a ping proves nothing: its end is a failure.
        if !matches!(error, Error::SessionGone | Error::SessionLost) {
            self.failures += 1;
        }
        if self.failures >= LATER_TRIES {
            let error = self.failed(error);
            self.park(&error).await;
        } else if self.failures > 1 {
            self.set(&State::Connecting);
            self.pause(backoff::wait(self.failures - 1)).await;
        }
        Next::Connect
    }

    /// The server does not answer any more. A process that lives is left alone; a remote server
    /// gets a new session.
    async fn give_up(&mut self, session: &Session) -> Next {
        self.session.send_replace(None);
        session.close().await;
        self.failures += 1;
        Next::Connect
    }

    async fn recycle(&mut self, session: &Session) -> Next {
        self.session.send_replace(None);
        self.set(&State::Recycled);
        session.close().await;
        Next::Sleep
    }

    /// Takes the entry as it is now; what is registered follows it.
    fn adopt(&mut self) {
        let entry = Arc::clone(&self.entries.borrow_and_update());
        if entry == self.entry {
            return;
        }
        self.entry = entry;
        if let Some(catalogue) = self.catalogue.take() {
            self.offer(catalogue);
        }
    }

    /// Takes the tools away and leaves the server alone for a while, or until somebody asks.
    async fn park(&mut self, error: &Error) {
        (self.publish)(None);
        self.catalogue = None;
        self.status.send_modify(|status| {
            status.tools = 0;
            status.tokens = 0;
            status.quarantined.clear();
            status.skipped.clear();
            status.notes.clear();
        });
        let reason = error.to_string();
        self.set(&match error.kind() {
            Kind::SignIn => State::NeedsSignIn { reason },
            _ => State::Parked { reason, next_try: Instant::now() + PARKED },
        });
        self.pause_parked(error).await;
        // The next try is a single one, unless it works.
        self.failures = if self.ever_ready { LATER_TRIES } else { FIRST_TRIES } - 1;
    }

    /// Waits for the next try; who has to sign in is not kept waiting once that was done, here or
    /// by another process.
    async fn pause_parked(&mut self, error: &Error) {
        let credentials = match error.kind() {
            Kind::SignIn => self.memory.credentials(&self.entry, &self.host).ok().flatten(),
            _ => None,
        };
        let Some(credentials) = credentials else { return self.pause(PARKED).await };
        tokio::select! {
            () = self.pause(PARKED) => {}
            () = credentials.changed() => {}
        }
    }

    fn idle_deadline(&self, session: &Session) -> Option<Instant> {
        let Endpoint::Stdio(endpoint) = &self.entry.endpoint else { return None };
        let idle = endpoint.idle_timeout?;
        if session.busy() > 0 {
            return Some(later(idle));
        }
        Some(after(self.usage.last(), idle))
    }

    fn age_deadline(&self, session: &Session) -> Option<Instant> {
        let Endpoint::Stdio(endpoint) = &self.entry.endpoint else { return None };
        let left = endpoint.max_lifetime?.saturating_sub(session.age());
        // A call in flight is never cut off: look again when it may be over.
        let left = if session.busy() > 0 { left.max(Duration::from_millis(100)) } else { left };
        Some(later(left))
    }

    fn set(&self, state: &State) {
        let changed = self.status.send_if_modified(|status| {
            if status.state == *state {
                return false;
            }
            status.state = state.clone();
            status.since = Instant::now();
            true
        });
        if changed {
            let (server, state) = (self.entry.name.clone(), state.to_string());
            self.host.observer.event(Event::State { server, state });
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// What a server calls itself.
fn described(info: &Value) -> Option<String> {
    let name = info.get("name").and_then(Value::as_str)?;
    let version = info.get("version").and_then(Value::as_str).unwrap_or_default();
    let whole = format!("{name} {version}");
    Some(whole.trim().chars().take(100).collect())
}
