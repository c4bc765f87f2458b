//! Header and idle timeouts of a client connection.
//!
//! One timer serves all requests of a connection: it is not reset for each of them, but fires early
//! and then checks how long is left.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::time::{Sleep, sleep};

/// The client sends the head of a request, or has just connected.
const HEAD: u8 = 0;
/// The request is read and answered.
const ANSWER: u8 = 1;
/// The connection waits for the next request.
const IDLE: u8 = 2;
/// The client does not read the rest of a response: the write timeout applies.
const BLOCKED: u8 = 3;

/// The phase of a connection. Only the task of the connection changes it.
#[derive(Debug)]
pub(super) struct ConnectionPhase {
    opened: Instant,
    state: AtomicU8,
    /// The start of the state, in microseconds after `opened`.
    since: AtomicU64,
    is_authenticated: AtomicBool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct PhaseTimeouts {
    /// For the head of a request.
    pub(super) head: Duration,
    /// For the next request to begin.
    pub(super) idle: Duration,
}

/// Fires when the client exceeds the timeout of its phase.
pub(super) struct IdleTimer {
    timeouts: PhaseTimeouts,
    sleep: Pin<Box<Sleep>>,
    is_set: bool,
}

impl ConnectionPhase {
    pub(super) fn bytes_arrived(&self) {
        if self.state.load(Ordering::Relaxed) == IDLE {
            self.enter(HEAD);
        }
    }

    pub(super) fn request_started(&self) {
        self.state.store(ANSWER, Ordering::Relaxed);
    }

    /// The response body ended; its last bytes may still be in flight.
    pub(super) fn response_ended(&self) {
        self.enter(IDLE);
    }

    pub(super) fn write_blocked(&self) {
        if self.state.load(Ordering::Relaxed) == IDLE {
            self.state.store(BLOCKED, Ordering::Relaxed);
        }
    }

    pub(super) fn write_resumed(&self) {
        if self.state.load(Ordering::Relaxed) == BLOCKED {
            self.enter(IDLE);
        }
    }

    /// A request carried a valid key.
    pub(super) fn authenticated(&self) {
        if !self.is_authenticated.load(Ordering::Relaxed) {
            self.is_authenticated.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the connection waits for a client that never sent a valid key.
    pub(super) fn is_idle_stranger(&self) -> bool {
        let is_waiting = matches!(self.state.load(Ordering::Relaxed), HEAD | IDLE);
        is_waiting && !self.is_authenticated.load(Ordering::Relaxed)
    }

    fn enter(&self, state: u8) {
        let since = u64::try_from(self.opened.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.since.store(since, Ordering::Relaxed);
        self.state.store(state, Ordering::Relaxed);
    }

    /// Time left for the client; `None` while the service works.
    fn time_left(&self, timeouts: PhaseTimeouts) -> Option<Duration> {
        let limit = match self.state.load(Ordering::Relaxed) {
            HEAD => timeouts.head,
            IDLE => timeouts.idle,
            _ => return None,
        };
        let since = Duration::from_micros(self.since.load(Ordering::Relaxed));
        Some(limit.saturating_sub(self.opened.elapsed().saturating_sub(since)))
    }
}

impl Default for ConnectionPhase {
    fn default() -> Self {
        let (state, since) = (AtomicU8::new(HEAD), AtomicU64::new(0));
        Self { opened: Instant::now(), state, since, is_authenticated: AtomicBool::new(false) }
    }
}

impl IdleTimer {
    pub(super) fn new(timeouts: PhaseTimeouts) -> Self {
        Self { timeouts, sleep: Box::pin(sleep(Duration::ZERO)), is_set: false }
    }

    /// Whether the client exceeded its timeout. The task of the connection must call this whenever
    /// the connection is pending.
    pub(super) fn has_expired(
        &mut self,
        phase: &ConnectionPhase,
        context: &mut Context<'_>,
    ) -> bool {
        while !self.is_set || self.sleep.is_elapsed() {
            let Some(left) = phase.time_left(self.timeouts) else {
                self.is_set = false;
                return false;
            };
            if left.is_zero() {
                return true;
            }
            // The phase may change before the timer fires.
            let next = left.min(self.timeouts.head).min(self.timeouts.idle);
            self.sleep.as_mut().reset(tokio::time::Instant::now() + next);
            self.is_set = self.sleep.as_mut().poll(context) == Poll::Pending;
        }
        false
    }
}
