//! The callers' side of a server: its session, across reconnects.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{ServerState, ServerStatus};
use crate::config::ServerEntry;
use crate::error::{Error, ErrorKind};
use crate::router::LastActivity;
use crate::session::Session;
use crate::sync::lock;

pub(crate) const MAX_PARALLEL_CALLS: usize = 64;
const MAX_FAILURES: u32 = 3;
const OPEN_DURATION: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(crate) enum SupervisorCommand {
    /// A call needs a session.
    Wake,
    /// A call failed: check that the server is alive.
    Verify,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEffect {
    ReadOnly,
    MayWrite,
}

#[derive(Debug, Clone)]
pub(crate) struct ServerHandle {
    pub(crate) name: Arc<str>,
    pub(crate) status: watch::Receiver<ServerStatus>,
    pub(super) session: watch::Receiver<Option<Session>>,
    pub(super) commands: mpsc::Sender<SupervisorCommand>,
    pub(crate) reconnect: Arc<Notify>,
    /// Replaces the entry; the connection stays.
    pub(crate) entry: Arc<watch::Sender<Arc<ServerEntry>>>,
    pub(super) call_slots: Arc<Semaphore>,
    pub(super) breaker: Arc<CircuitBreaker>,
    pub(super) last_use: Arc<LastActivity>,
    pub(super) answered_calls: Arc<AtomicU64>,
    pub(crate) stop: CancellationToken,
}

impl ServerHandle {
    /// Runs a call on the server's session. A call that was certainly not executed, or that only
    /// reads, is retried once on a new session; any other lost call reports an unknown outcome.
    pub(crate) async fn run<T, F>(
        &self,
        tool: &str,
        effect: CallEffect,
        call: impl Fn(Session) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let Ok(_place) = self.call_slots.acquire().await else { return Err(Error::Closed) };
        self.breaker.check().map_err(|(failures, retry)| Error::BreakerOpen {
            server: self.name.to_string(),
            failures,
            retry,
        })?;
        let mut session = self.ready().await?;
        self.last_use.touch();
        let mut outcome = call(session.clone()).await;
        if let Err(lost) = &outcome
            && may_retry(lost, effect)
        {
            self.lost(&session, lost);
            if let Ok(another) = self.another(&session).await {
                session = another;
                outcome = call(session.clone()).await;
            }
        }
        self.last_use.touch();
        match &outcome {
            Err(error) if is_server_failure(error) => {
                self.lost(&session, error);
                self.breaker.failed();
            }
            Ok(_) | Err(Error::Rpc(_) | Error::Malformed { .. } | Error::TooLarge { .. }) => {
                self.answered_calls.fetch_add(1, Ordering::AcqRel);
                self.breaker.succeeded();
            }
            Err(error) if error.kind() == ErrorKind::SignIn => {
                self.send_command(SupervisorCommand::Verify);
            }
            // The call never reached the server.
            Err(_) => {}
        }
        outcome.map_err(|error| match error {
            lost if effect == CallEffect::MayWrite && has_unknown_outcome(&lost) => {
                Error::OutcomeUnknown { tool: tool.to_owned(), cause: Box::new(lost) }
            }
            other => other,
        })
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.entry.borrow().timeout
    }

    /// Never blocks; a full channel means that a check is due anyway.
    fn send_command(&self, command: SupervisorCommand) {
        let _ = self.commands.try_send(command);
    }

    fn lost(&self, session: &Session, error: &Error) {
        if matches!(error, Error::SessionGone) {
            session.mark_lost();
        } else {
            self.send_command(SupervisorCommand::Verify);
        }
    }

    async fn ready(&self) -> Result<Session, Error> {
        if let Some(session) = self.live() {
            return Ok(session);
        }
        self.send_command(SupervisorCommand::Wake);
        self.wait_for(|_| true).await
    }

    async fn another(&self, lost: &Session) -> Result<Session, Error> {
        if !lost.is_closed() && lost.transport() == "http" {
            // Only the connection broke; the next request opens a new one.
            return Ok(lost.clone());
        }
        // The exit of a process may not have been noticed yet, so the session must differ.
        self.send_command(SupervisorCommand::Wake);
        self.wait_for(|session| !session.is_same(lost)).await
    }

    fn live(&self) -> Option<Session> {
        self.session.borrow().clone().filter(|session| !session.is_closed())
    }

    /// Waits for a suitable session, at most the connect timeout.
    async fn wait_for(&self, is_suitable: impl Fn(&Session) -> bool) -> Result<Session, Error> {
        let most = self.entry.borrow().connect_timeout;
        let mut sessions = self.session.clone();
        let mut status = self.status.clone();
        let waiting = async {
            loop {
                if let Some(session) = self.live().filter(&is_suitable) {
                    return Ok(session);
                }
                // Waiting does not help in these states.
                let state = status.borrow_and_update().state.clone();
                if let ServerState::Parked { .. }
                | ServerState::NeedsSignIn { .. }
                | ServerState::Disabled
                | ServerState::Stopped = state
                {
                    return Err(self.not_ready(&state));
                }
                tokio::select! {
                    changed = sessions.changed() => if changed.is_err() { return Err(Error::Closed) },
                    changed = status.changed() => if changed.is_err() { return Err(Error::Closed) },
                }
            }
        };
        let late = |_| Err(self.not_ready(&self.status.borrow().state));
        tokio::time::timeout(most, waiting).await.unwrap_or_else(late)
    }

    fn not_ready(&self, state: &ServerState) -> Error {
        Error::NotReady { server: self.name.to_string(), state: state.to_string() }
    }
}

/// Whether the server certainly did not execute the request.
fn was_not_sent(error: &Error) -> bool {
    matches!(error, Error::Unsent | Error::Unreachable { .. } | Error::SessionGone)
}

/// Whether a call may have been executed.
fn has_unknown_outcome(error: &Error) -> bool {
    is_server_failure(error) && !was_not_sent(error)
}

fn may_retry(error: &Error, effect: CallEffect) -> bool {
    was_not_sent(error) || (error.ends_session() && effect == CallEffect::ReadOnly)
}

fn is_server_failure(error: &Error) -> bool {
    error.ends_session()
        || matches!(error, Error::CallTimeout { .. } | Error::CallTooLong { .. })
        || matches!(error, Error::Http { status, .. } if *status >= 500)
}

/// Stops calls to a failing server, and lets a probe through.
#[derive(Debug, Default)]
pub(super) struct CircuitBreaker(Mutex<BreakerState>);

#[derive(Debug, Default)]
struct BreakerState {
    failures: u32,
    open_until: Option<Instant>,
}

impl CircuitBreaker {
    /// Whether a call may run; otherwise the number of failures and the time to wait.
    pub(super) fn check(&self) -> Result<(), (u32, Duration)> {
        let mut count = lock(&self.0);
        let now = Instant::now();
        match count.open_until {
            Some(until) if until > now => Err((count.failures, until - now)),
            Some(_) => {
                // This call is the probe; the others wait for its outcome.
                count.open_until = Some(now + OPEN_DURATION);
                Ok(())
            }
            None => Ok(()),
        }
    }

    pub(super) fn succeeded(&self) {
        *lock(&self.0) = BreakerState::default();
    }

    pub(super) fn failed(&self) {
        let mut count = lock(&self.0);
        count.failures += 1;
        if count.failures >= MAX_FAILURES {
            count.open_until = Some(Instant::now() + OPEN_DURATION);
        }
    }
}

#[cfg(test)]
mod tests;
