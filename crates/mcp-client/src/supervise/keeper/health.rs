//! Whether a server lives, and whether what it offers is still what is registered.

use std::time::Duration;

use tokio::time::sleep;

use super::super::State;
use super::Keeper;
use crate::config::Endpoint;
use crate::error::Error;
use crate::host::Event;
use crate::session::Session;

/// How long a keepalive may take.
const PING: Duration = Duration::from_secs(30);
/// How long after the first sign of a change the lists are read again.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// How often, at most, a server that keeps changing is listed.
const RELIST_PAUSE: Duration = Duration::from_secs(2);

/// How the server's life is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pings {
    Answered,
    /// In this session it ignores pings but answers a listing.
    ByListing,
}

/// What is wrong with a server whose tools cannot be listed.
pub(super) fn unlisted(error: &Error) -> String {
    format!("its tools cannot be listed: {error}")
}

impl Keeper {
    /// Whether the server is of no more use. A call that runs is the better question, so nothing
    /// is decided while one does, nor if one began meanwhile.
    pub(super) async fn is_dead(&mut self, session: &Session) -> bool {
        session.busy() == 0 && !self.lives(session).await && session.busy() == 0
    }

    /// Asks whether the server lives; what one way does not answer is asked in another. A process
    /// that lives is not ended for its silence.
    async fn lives(&mut self, session: &Session) -> bool {
        // One that is not answered when the next is due was missed.
        let within = PING.min(self.entry.keepalive);
        if self.pings == Pings::Answered {
            match session.ping(within).await {
                // Any answer is a sign of life, a refusal too.
                Ok(()) | Err(Error::Rpc(_)) => return self.proven(session).await,
                Err(error) if error.ends_session() => return false,
                Err(_) => {}
            }
        }
        match session.probe(within).await {
            Ok(()) | Err(Error::Rpc(_)) => {
                self.pings = Pings::ByListing;
                self.proven(session).await
            }
            Err(error) => {
                let local = matches!(self.entry.endpoint, Endpoint::Stdio(_));
                if local && !session.is_over() {
                    let reason = format!("it does not answer: {error}");
                    self.set(&State::Degraded { reason });
                    return true;
                }
                false
            }
        }
    }

    /// The server answers. If its tools could not be listed before, perhaps they can be now.
    async fn proven(&mut self, session: &Session) -> bool {
        self.failures = 0;
        if self.unlisted {
            match session.list_tools().await {
                Ok(catalogue) => {
                    self.unlisted = false;
                    self.offer(catalogue);
                }
                Err(error) => {
                    self.set(&State::Degraded { reason: unlisted(&error) });
                    return true;
                }
            }
        }
        self.set(&State::Ready);
        true
    }

    /// Reads the tools again after the server said that they changed.
    pub(super) async fn relist(&mut self, session: &Session) {
        sleep(DEBOUNCE).await;
        match session.list_tools().await {
            Ok(catalogue) => {
                self.unlisted = false;
                self.offer(catalogue);
                self.set(&State::Ready);
            }
            Err(error) if error.ends_session() => return,
            Err(error) => {
                let text = format!("its changed tools cannot be listed: {error}");
                let server = self.entry.name.clone();
                self.host.observer.event(Event::Warning { server, text });
            }
        }
        tokio::select! {
            () = sleep(RELIST_PAUSE) => {}
            _ = session.over() => {}
        }
    }
}
