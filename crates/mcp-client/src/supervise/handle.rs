//! What callers hold of a server: the way to its session, whatever happens to it meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::breaker::Breaker;
use super::{State, Status};
use crate::config::ServerEntry;
use crate::error::{Error, Kind};
use crate::session::Session;

/// How many calls of one server run at once where it allows that.
pub(crate) const MAX_PARALLEL_CALLS: usize = 64;

/// What a keeper is told.
#[derive(Debug)]
pub(crate) enum Command {
    /// Somebody wants to call.
    Wake,
    /// A call went wrong: see whether the server lives.
    Verify,
}

/// Whether a call may be sent a second time when the first was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It only reads.
    None,
    /// It may change something.
    Some,
}

/// The callers' side of one server.
#[derive(Debug, Clone)]
pub(crate) struct Handle {
    pub(crate) name: Arc<str>,
    pub(crate) status: watch::Receiver<Status>,
    pub(super) session: watch::Receiver<Option<Session>>,
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) reconnect: Arc<Notify>,
    pub(super) entry: Arc<watch::Sender<Arc<ServerEntry>>>,
    pub(super) lane: Arc<Semaphore>,
    pub(super) breaker: Arc<Breaker>,
    pub(super) use_: Arc<Use>,
    /// How long a call waits for a server that is on its way.
    pub(crate) stop: CancellationToken,
}

/// When a server was last of use.
#[derive(Debug)]
pub(super) struct Use {
    start: Instant,
    last_ms: AtomicU64,
    answered: AtomicU64,
}

impl Use {
    pub(super) fn new() -> Self {
        Self { start: Instant::now(), last_ms: AtomicU64::new(0), answered: AtomicU64::new(0) }
    }

    pub(super) fn touch(&self) {
        let now = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(now, Ordering::Release);
    }

    pub(super) fn last(&self) -> Instant {
        self.start + Duration::from_millis(self.last_ms.load(Ordering::Acquire))
    }

    /// How many calls the server has answered.
    pub(super) fn answered(&self) -> u64 {
        self.answered.load(Ordering::Acquire)
    }
}

impl Handle {
    /// Runs a call on the server's session. A call that was certainly not run, or that changes
    /// nothing, is tried once more on a new session; any other that was lost says so.
    pub(crate) async fn run<T, F>(
        &self,
        tool: &str,
        effect: Effect,
        call: impl Fn(Session) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let Ok(_place) = self.lane.acquire().await else { return Err(Error::Closed) };
        self.breaker.check().map_err(|(failures, retry)| Error::BreakerOpen {
            server: self.name.to_string(),
            failures,
            retry,
        })?;
        let mut session = self.ready().await?;
        self.use_.touch();
        let mut outcome = call(session.clone()).await;
        if let Err(lost) = &outcome
            && may_repeat(lost, effect)
        {
            self.lost(&session, lost);
            if let Ok(another) = self.another(&session).await {
                session = another;
                outcome = call(session.clone()).await;
            }
        }
        self.use_.touch();
        match &outcome {
            Err(error) if counts_against(error) => {
                self.lost(&session, error);
                self.breaker.failed();
            }
            Ok(_) | Err(Error::Rpc(_) | Error::Malformed { .. } | Error::TooLarge { .. }) => {
                self.use_.answered.fetch_add(1, Ordering::AcqRel);
                self.breaker.succeeded();
            }
            Err(error) if error.kind() == Kind::SignIn => self.tell(Command::Verify),
            // What never reached the server says nothing about it.
            Err(_) => {}
        }
        outcome.map_err(|error| match error {
            lost if effect == Effect::Some && is_unknown(&lost) => {
                Error::OutcomeUnknown { tool: tool.to_owned(), cause: Box::new(lost) }
            }
            other => other,
        })
    }

    /// From now on the server is kept by this entry, which needs no other connection.
    pub(crate) fn adopt(&self, entry: Arc<ServerEntry>) {
        self.entry.send_replace(entry);
    }

    fn connect_timeout(&self) -> Duration {
        self.entry.borrow().connect_timeout
    }

    /// How long a call may be silent.
    pub(crate) fn timeout(&self) -> Duration {
        self.entry.borrow().timeout
    }

    /// Connects it anew.
    pub(crate) fn reconnect(&self) {
        self.reconnect.notify_one();
    }

    /// Tells the keeper without waiting; a full channel means it has enough to look at.
    pub(crate) fn tell(&self, command: Command) {
        let _ = self.commands.try_send(command);
    }

    fn lost(&self, session: &Session, error: &Error) {
        if matches!(error, Error::SessionGone) {
            session.abandon();
        } else {
            self.tell(Command::Verify);
        }
    }

    /// The session, once there is one; why not, if it takes too long or cannot be.
    async fn ready(&self) -> Result<Session, Error> {
        if let Some(session) = self.live() {
            return Ok(session);
        }
        self.tell(Command::Wake);
        self.wait_for(self.connect_timeout(), |_| true).await
    }

    /// A session other than the one that was lost.
    async fn another(&self, lost: &Session) -> Result<Session, Error> {
        if !lost.is_over() && lost.transport() == "http" {
            // The connection broke, not the session; the next request makes a new one.
            return Ok(lost.clone());
        }
        // The end of a process may not have been noticed yet: what is wanted is another session.
        self.tell(Command::Wake);
        self.wait_for(self.connect_timeout(), |session| !session.is_same(lost)).await
    }

    fn live(&self) -> Option<Session> {
        self.session.borrow().clone().filter(|session| !session.is_over())
    }

    async fn wait_for(
        &self,
        most: Duration,
        wanted: impl Fn(&Session) -> bool,
    ) -> Result<Session, Error> {
        let mut sessions = self.session.clone();
        let mut status = self.status.clone();
        let waiting = async {
            loop {
                if let Some(session) = self.live().filter(|session| wanted(session)) {
                    return Ok(session);
                }
                // Parked, disabled, waiting for a sign-in: nothing will come of waiting.
                let state = status.borrow_and_update().state.clone();
                if matches!(
                    state,
                    State::Parked { .. }
                        | State::NeedsSignIn { .. }
                        | State::Disabled
                        | State::Stopped
                ) {
                    return Err(self.not_ready(&state));
                }
                tokio::select! {
                    changed = sessions.changed() => if changed.is_err() { return Err(Error::Closed) },
                    changed = status.changed() => if changed.is_err() { return Err(Error::Closed) },
                }
            }
        };
        match tokio::time::timeout(most, waiting).await {
            Ok(found) => found,
            Err(_) => Err(self.not_ready(&self.status.borrow().state)),
        }
    }

    fn not_ready(&self, state: &State) -> Error {
        Error::NotReady { server: self.name.to_string(), state: state.to_string() }
    }
}

/// Whether the request certainly never reached the server, or was refused unread.
fn unsent(error: &Error) -> bool {
    matches!(error, Error::Unsent | Error::Unreachable { .. } | Error::SessionGone)
}

/// Whether a call that changes something may have done so all the same.
fn is_unknown(error: &Error) -> bool {
    (error.ends_session() && !unsent(error))
        || matches!(error, Error::CallTimeout { .. } | Error::CallTooLong { .. })
        || matches!(error, Error::Http { status, .. } if *status >= 500)
}

fn may_repeat(error: &Error, effect: Effect) -> bool {
    unsent(error) || (error.ends_session() && effect == Effect::None)
}

fn counts_against(error: &Error) -> bool {
    error.ends_session()
        || matches!(error, Error::CallTimeout { .. } | Error::CallTooLong { .. })
        || matches!(error, Error::Http { status, .. } if *status >= 500)
}
