//! Liveness checks, and updates of the tool list.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::super::ServerState;
use super::Supervisor;
use crate::config::Endpoint;
use crate::error::Error;
use crate::session::Session;

const PING_TIMEOUT: Duration = Duration::from_secs(30);
const DEBOUNCE: Duration = Duration::from_millis(200);
const RELIST_PAUSE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LivenessCheck {
    Ping,
    /// The server ignores pings but answers listings.
    Listing,
}

pub(super) fn listing_failure(error: &Error) -> String {
    format!("cannot list its tools: {error}")
}

impl Supervisor {
    /// Whether the server is unresponsive. A running call is the better check, so the result is
    /// ignored while one runs.
    pub(super) async fn is_dead(&mut self, session: &Session) -> bool {
        session.active_calls() == 0 && !self.lives(session).await && session.active_calls() == 0
    }

    /// Pings the server, then lists. A live process is not ended for being silent.
    async fn lives(&mut self, session: &Session) -> bool {
        // A ping without a response until the next one is due counts as missed.
        let within = PING_TIMEOUT.min(self.entry.keepalive);
        if self.liveness == LivenessCheck::Ping {
            let began = Instant::now();
            match session.ping(within).await {
                // Any response proves it, even an error.
                Ok(()) | Err(Error::Rpc(_)) => {
                    self.responded_after(began.elapsed());
                    return self.proven(session).await;
                }
                Err(error) if error.ends_session() => return false,
                Err(_) => {}
            }
        }
        match session.probe(within).await {
            Ok(()) | Err(Error::Rpc(_)) => {
                self.liveness = LivenessCheck::Listing;
                self.proven(session).await
            }
            Err(error) => {
                let local = matches!(self.entry.endpoint, Endpoint::Stdio(_));
                if local && !session.is_closed() {
                    let reason = format!("not responding: {error}");
                    self.set(&ServerState::Degraded { reason });
                    return true;
                }
                false
            }
        }
    }

    pub(super) fn responded_after(&self, time: Duration) {
        self.status.send_modify(|status| status.latency = Some(time));
    }

    /// The server responds. Lists its tools if that failed before.
    async fn proven(&mut self, session: &Session) -> bool {
        self.failures = 0;
        if self.unlisted {
            match session.list_tools().await {
                Ok(catalogue) => {
                    self.unlisted = false;
                    self.offer(catalogue);
                }
                Err(error) => {
                    self.set(&ServerState::Degraded { reason: listing_failure(&error) });
                    return true;
                }
            }
        }
        self.set(&ServerState::Ready);
        true
    }

    pub(super) async fn relist(&mut self, session: &Session) {
        sleep(DEBOUNCE).await;
        match session.list_tools().await {
            Ok(catalogue) => {
                self.unlisted = false;
                self.offer(catalogue);
                self.set(&ServerState::Ready);
            }
            Err(error) if error.ends_session() => return,
            Err(error) => {
                let text = format!("cannot list its changed tools: {error}");
                self.host.warn(&self.entry.name, text);
            }
        }
        tokio::select! {
            () = sleep(RELIST_PAUSE) => {}
            _ = session.closed() => {}
        }
    }
}
