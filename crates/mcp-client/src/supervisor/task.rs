//! The supervision task of one server: connects, lists, watches, recycles and parks it.

mod health;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::health::{LivenessCheck, listing_failure};
use super::handle::{CircuitBreaker, MAX_PARALLEL_CALLS, ServerHandle, SupervisorCommand};
use super::{
    MAX_FIRST_ATTEMPTS, MAX_RECONNECT_ATTEMPTS, PARK_DURATION, ServerState, ServerStatus, backoff,
    tool_cache,
};
use crate::config::{Endpoint, HttpTransport, ServerEntry, Trust};
use crate::error::{Error, ErrorKind};
use crate::guardian::Guardian;
use crate::host::{ClientEvent, Host};
use crate::registry::{ServerCatalogue, ServerTools};
use crate::router::LastActivity;
use crate::session::{ReconnectState, Session, SessionConnector, deadline_after, deadline_in};

const STOP_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_COMMANDS: usize = 16;

pub(crate) type PublishTools = Arc<dyn Fn(Option<Arc<ServerTools>>) + Send + Sync>;

pub(crate) struct Supervisor {
    entry: Arc<ServerEntry>,
    host: Arc<Host>,
    guardian: Arc<Guardian>,
    tasks: TaskTracker,
    publish: PublishTools,
    reconnect_state: ReconnectState,
    status: watch::Sender<ServerStatus>,
    session: watch::Sender<Option<Session>>,
    commands: mpsc::Receiver<SupervisorCommand>,
    entries: watch::Receiver<Arc<ServerEntry>>,
    handle: ServerHandle,
    catalogue: Option<ServerCatalogue>,
    /// Failures since the server last responded.
    failures: u32,
    ever_ready: bool,
    liveness: LivenessCheck,
    /// Its tools could not be listed, so it is degraded.
    unlisted: bool,
}

enum NextStep {
    Connect,
    Sleep,
}

impl Supervisor {
    pub(crate) fn new(
        entry: Arc<ServerEntry>,
        host: Arc<Host>,
        guardian: Arc<Guardian>,
        publish: PublishTools,
    ) -> (Self, ServerHandle) {
        let transport = match &entry.endpoint {
            Endpoint::Stdio(_) => "stdio",
            Endpoint::Http(http) if http.transport == HttpTransport::Sse => "sse",
            Endpoint::Http(_) => "http",
        };
        let state = if entry.enabled { ServerState::Connecting } else { ServerState::Disabled };
        let (status, status_seen) = watch::channel(ServerStatus {
            server: entry.name.clone(),
            transport,
            state,
            since: Instant::now(),
            era: None,
            version: None,
            server_info: None,
            instructions: None,
            latency: None,
            tools: 0,
            tokens: 0,
            quarantined: Vec::new(),
            skipped: Vec::new(),
            notes: Vec::new(),
            failure: None,
        });
        let (session, session_seen) = watch::channel(None);
        let (commands, received) = mpsc::channel(MAX_COMMANDS);
        let permits = if entry.parallel_calls { MAX_PARALLEL_CALLS } else { 1 };
        let (entries, entries_seen) = watch::channel(Arc::clone(&entry));
        let handle = ServerHandle {
            name: Arc::from(entry.name.as_str()),
            status: status_seen,
            session: session_seen,
            commands,
            reconnect: Arc::new(Notify::new()),
            entry: Arc::new(entries),
            call_slots: Arc::new(Semaphore::new(permits)),
            breaker: Arc::new(CircuitBreaker::default()),
            last_use: Arc::new(LastActivity::now()),
            answered_calls: Arc::default(),
            stop: CancellationToken::new(),
        };
        let supervisor = Self {
            entry,
            host,
            guardian,
            tasks: TaskTracker::new(),
            publish,
            reconnect_state: ReconnectState::default(),
            status,
            session,
            commands: received,
            entries: entries_seen,
            handle: handle.clone(),
            catalogue: None,
            failures: 0,
            ever_ready: false,
            liveness: LivenessCheck::Ping,
            unlisted: false,
        };
        (supervisor, handle)
    }

    /// Runs until stopped. Tasks and processes of the server have ended when it returns.
    pub(crate) async fn run(mut self) {
        if !self.entry.enabled {
            return;
        }
        let stop = self.handle.stop.clone();
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = self.keep() => {}
        }
        (self.publish)(None);
        if let Some(session) = self.session.send_replace(None) {
            session.close().await;
        }
        // Includes connections that were being opened.
        self.tasks.close();
        let _ = tokio::time::timeout(STOP_TIMEOUT, self.tasks.wait()).await;
        self.reconnect_state.renewals_finished().await;
        self.set(&ServerState::Stopped);
    }

    async fn keep(&mut self) {
        let mut next = NextStep::Connect;
        if self.entry.lazy
            && let Some(kept) = tool_cache::load(&self.host, &self.entry)
        {
            self.offer(kept);
            next = NextStep::Sleep;
        }
        loop {
            if matches!(next, NextStep::Sleep) {
                self.set(&ServerState::Recycled);
                self.wait_for_call().await;
            }
            next = match self.connect().await {
                Ok(session) => self.attend(session).await,
                Err(error) => {
                    self.park(&error).await;
                    NextStep::Connect
                }
            };
        }
    }

    async fn wait_for_call(&mut self) {
        loop {
            tokio::select! {
                Some(command) = self.commands.recv() => match command {
                    SupervisorCommand::Wake => return,
                    SupervisorCommand::Verify => {}
                },
                () = self.handle.reconnect.notified() => return,
                Ok(()) = self.entries.changed() => self.update_entry(),
            }
        }
    }

    async fn pause(&mut self, wait: Duration) {
        tokio::select! {
            () = sleep(wait) => {}
            () = self.handle.reconnect.notified() => {}
        }
        // Their callers have failed, or wait for the attempt.
        while self.commands.try_recv().is_ok() {}
    }

    /// Connects until the server is listed, an error is permanent, or the attempts are exhausted.
    async fn connect(&mut self) -> Result<Session, Arc<Error>> {
        loop {
            self.set(&ServerState::Connecting);
            let error = match self.connect_once().await {
                Ok(session) => return Ok(session),
                Err(error) => self.failed(error),
            };
            self.failures += 1;
            let tries = if self.ever_ready { MAX_RECONNECT_ATTEMPTS } else { MAX_FIRST_ATTEMPTS };
            let permanent = matches!(error.kind(), ErrorKind::Configuration | ErrorKind::SignIn);
            if permanent || self.failures >= tries {
                return Err(error);
            }
            let delay = backoff(self.failures);
            let (server, failures) = (&self.entry.name, self.failures);
            tracing::debug!(%server, failures, %error, ?delay, "retry scheduled");
            self.pause(delay).await;
        }
    }

    fn failed(&self, error: Error) -> Arc<Error> {
        let error = Arc::new(error);
        self.status.send_modify(|status| status.failure = Some(Arc::clone(&error)));
        error
    }

    async fn connect_once(&mut self) -> Result<Session, Error> {
        self.update_entry();
        let connector = SessionConnector {
            entry: &self.entry,
            host: &self.host,
            guardian: &self.guardian,
            tasks: &self.tasks,
            reconnect_state: &self.reconnect_state,
            steps: None,
        };
        let session = connector.connect().await?;
        let began = Instant::now();
        let listed = session.list_tools().await;
        self.responded_after(began.elapsed());
        match listed {
            Ok(catalogue) => {
                self.settle(&session, catalogue, &ServerState::Ready);
                Ok(session)
            }
            // The server works and may have resources or prompts.
            Err(error) if error.kind() == ErrorKind::Call => {
                let reason = listing_failure(&error);
                let state = ServerState::Degraded { reason };
                self.settle(&session, session.catalogue_without_tools(), &state);
                Ok(session)
            }
            Err(error) => {
                session.close().await;
                Err(error)
            }
        }
    }

    fn settle(&mut self, session: &Session, catalogue: ServerCatalogue, state: &ServerState) {
        if self.entry.lazy && *state == ServerState::Ready {
            tool_cache::save(&self.host, &self.entry, &catalogue);
        }
        let handshake = session.handshake();
        self.status.send_modify(|status| {
            status.transport = session.transport();
            status.era = Some(handshake.era);
            status.version = Some(handshake.version.clone());
            status.server_info = server_label(&handshake.server_info);
            status.instructions = handshake.instructions.as_deref().map(Arc::from);
            status.failure = None;
        });
        if let Some(text) = &handshake.instructions
            && self.entry.instructions.is_none()
            && self.entry.trust == Trust::Full
            && let Some(why) = self.entry.rejects_instructions(text)
        {
            let text = format!("its instructions are not passed to models: {why}");
            self.host.warn(&self.entry.name, text);
        }
        self.offer(catalogue);
        self.unlisted = *state != ServerState::Ready;
        self.liveness = LivenessCheck::Ping;
        self.ever_ready = true;
        self.handle.last_use.touch();
        self.session.send_replace(Some(session.clone()));
        self.set(state);
    }

    fn offer(&mut self, catalogue: ServerCatalogue) {
        let part =
            ServerTools::build(&self.entry.name, &self.entry.tools, self.entry.trust, &catalogue);
        self.status.send_modify(|status| {
            status.tools = part.len();
            status.tokens = part.tokens;
            status.quarantined.clone_from(&part.quarantined);
            status.skipped.clone_from(&part.skipped);
            status.notes = part.notes().chain(catalogue.notes.iter().cloned()).collect();
        });
        // A server without tools is not registered.
        (self.publish)((!part.is_empty()).then(|| Arc::new(part)));
        if let Some(before) = self.catalogue.replace(catalogue) {
            self.report_changes(&before);
        }
    }

    fn report_changes(&self, before: &ServerCatalogue) {
        let digests = |catalogue: &ServerCatalogue| -> BTreeMap<String, String> {
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
            self.host.observer.event(ClientEvent::Tools { server, added, removed, changed });
        }
    }

    async fn attend(&mut self, session: Session) -> NextStep {
        let answered = self.handle.answered_calls.load(Ordering::Acquire);
        let mut ping_at = deadline_in(self.entry.keepalive);
        loop {
            let (idle_at, old_at) = (self.idle_deadline(&session), self.age_deadline(&session));
            tokio::select! {
                error = session.closed() => return self.ended(&session, error, answered).await,
                has_new_tools = session.changed() => {
                    session.clear_cache();
                    if has_new_tools {
                        self.relist(&session).await;
                    }
                }
                () = sleep_until(ping_at) => {
                    if self.is_dead(&session).await {
                        return self.give_up(&session).await;
                    }
                    ping_at = deadline_in(self.entry.keepalive);
                }
                () = until(idle_at) => {
                    if session.active_calls() == 0 && self.idle_deadline(&session).is_some_and(|at| at <= Instant::now()) {
                        return self.recycle(&session).await;
                    }
                }
                () = until(old_at) => if session.active_calls() == 0 { return self.recycle(&session).await },
                () = self.handle.reconnect.notified() => {
                    self.end(&session).await;
                    return NextStep::Connect;
                }
                Ok(()) = self.entries.changed() => self.update_entry(),
                Some(command) = self.commands.recv() => match command {
                    SupervisorCommand::Verify => {
                        if !session.is_closed() && self.is_dead(&session).await {
                            return self.give_up(&session).await;
                        }
                    }
                    SupervisorCommand::Wake => {}
                },
            }
        }
    }

    async fn end(&self, session: &Session) {
        self.session.send_replace(None);
        session.close().await;
    }

    async fn ended(&mut self, session: &Session, error: Error, answered: u64) -> NextStep {
        self.end(session).await;
        if self.handle.answered_calls.load(Ordering::Acquire) > answered {
            self.failures = 0;
        }
        // A session that never answered a call or a ping proves nothing: its end is a failure.
        if !matches!(error, Error::SessionGone | Error::SessionLost) {
            self.failures += 1;
        }
        if self.failures >= MAX_RECONNECT_ATTEMPTS {
            let error = self.failed(error);
            self.park(&error).await;
        } else if self.failures > 1 {
            self.set(&ServerState::Connecting);
            self.pause(backoff(self.failures - 1)).await;
        }
        NextStep::Connect
    }

    /// Replaces a session whose server no longer responds.
    async fn give_up(&mut self, session: &Session) -> NextStep {
        self.end(session).await;
        self.failures += 1;
        NextStep::Connect
    }

    async fn recycle(&mut self, session: &Session) -> NextStep {
        self.session.send_replace(None);
        self.set(&ServerState::Recycled);
        session.close().await;
        NextStep::Sleep
    }

    fn update_entry(&mut self) {
        let entry = Arc::clone(&self.entries.borrow_and_update());
        if entry == self.entry {
            return;
        }
        self.entry = entry;
        if let Some(catalogue) = self.catalogue.take() {
            self.offer(catalogue);
        }
    }

    async fn park(&mut self, error: &Error) {
        // Its tools are withdrawn and, when it is back, offered again without a report of changes.
        self.catalogue = None;
        self.offer(ServerCatalogue::default());
        self.catalogue = None;
        let reason = error.to_string();
        self.set(&match error.kind() {
            ErrorKind::SignIn => ServerState::NeedsSignIn { reason },
            _ => ServerState::Parked { reason, next_try: Instant::now() + PARK_DURATION },
        });
        self.pause_parked(error).await;
        // The next attempt is the only one, unless it succeeds.
        self.failures =
            if self.ever_ready { MAX_RECONNECT_ATTEMPTS } else { MAX_FIRST_ATTEMPTS } - 1;
    }

    /// Waits for the next attempt; a sign-in, in any process, ends the wait.
    async fn pause_parked(&mut self, error: &Error) {
        if error.kind() == ErrorKind::SignIn
            && let Ok(Some(credentials)) = self.reconnect_state.credentials(&self.entry, &self.host)
        {
            tokio::select! {
                () = self.pause(PARK_DURATION) => {}
                () = credentials.changed() => {}
            }
        } else {
            self.pause(PARK_DURATION).await;
        }
    }

    fn idle_deadline(&self, session: &Session) -> Option<Instant> {
        let Endpoint::Stdio(endpoint) = &self.entry.endpoint else { return None };
        let idle = endpoint.idle_timeout?;
        let since =
            if session.active_calls() > 0 { Instant::now() } else { self.handle.last_use.time() };
        Some(deadline_after(since, idle))
    }

    fn age_deadline(&self, session: &Session) -> Option<Instant> {
        let Endpoint::Stdio(endpoint) = &self.entry.endpoint else { return None };
        let left = endpoint.max_lifetime?.saturating_sub(session.age());
        // A call in flight is never interrupted: check again later.
        let left =
            if session.active_calls() > 0 { left.max(Duration::from_millis(100)) } else { left };
        Some(deadline_in(left))
    }

    fn set(&self, state: &ServerState) {
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
            tracing::debug!(server, state, "server state changed");
            self.host.observer.event(ClientEvent::State { server, state });
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

fn server_label(info: &Value) -> Option<String> {
    let name = info.get("name").and_then(Value::as_str)?;
    let version = info.get("version").and_then(Value::as_str).unwrap_or_default();
    let whole = format!("{name} {version}");
    Some(whole.trim().chars().take(100).collect())
}
