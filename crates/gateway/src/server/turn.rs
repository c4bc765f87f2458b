//! Whose turn it is on a connection, and how long a client may take for its own.
//!
//! One alarm serves all requests of a connection: it is not set anew for each, but rings early and then
//! looks how long there is still to wait.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::time::{Sleep, sleep};

/// The client has begun to send the head of a request, or has just connected.
const HEAD: u8 = 0;
/// The request is read and answered.
const ANSWER: u8 = 1;
/// The next request is waited for.
const REST: u8 = 2;
/// The client does not take what is left of an answer. How long it may do that is for others to say.
const STUCK: u8 = 3;

/// Whose turn it is. All who change it are of one task; others may look.
#[derive(Debug)]
pub(super) struct Turn {
    opened: Instant,
    state: AtomicU8,
    /// Since when, in microseconds after it was opened.
    since: AtomicU64,
    /// Whether a request came with a valid key.
    is_known: AtomicBool,
}

/// How long a client may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// For the head of a request.
    pub(super) head: Duration,
    /// Until it sends another.
    pub(super) rest: Duration,
}

/// Rings when a client has taken too long.
pub(super) struct Alarm {
    times: Times,
    sleep: Pin<Box<Sleep>>,
    /// Whether it will wake the task.
    is_set: bool,
}

impl Turn {
    /// The client sends something.
    pub(super) fn comes(&self) {
        if self.state.load(Ordering::Relaxed) == REST {
            self.pass(HEAD);
        }
    }

    /// The head of a request is there.
    pub(super) fn is_ours(&self) {
        self.state.store(ANSWER, Ordering::Relaxed);
    }

    /// Nothing is left of the answer but what is on its way.
    pub(super) fn is_over(&self) {
        self.pass(REST);
    }

    /// The client does not take what is written.
    pub(super) fn is_stuck(&self) {
        if self.state.load(Ordering::Relaxed) == REST {
            self.state.store(STUCK, Ordering::Relaxed);
        }
    }

    /// The client takes it again.
    pub(super) fn goes_on(&self) {
        if self.state.load(Ordering::Relaxed) == STUCK {
            self.pass(REST);
        }
    }

    /// A request came with a valid key.
    pub(super) fn recognise(&self) {
        if !self.is_known.load(Ordering::Relaxed) {
            self.is_known.store(true, Ordering::Relaxed);
        }
    }

    /// Whether its client is waited for, and never sent a valid key.
    pub(super) fn is_idle_stranger(&self) -> bool {
        let is_waiting = matches!(self.state.load(Ordering::Relaxed), HEAD | REST);
        is_waiting && !self.is_known.load(Ordering::Relaxed)
    }

    fn pass(&self, state: u8) {
        let since = u64::try_from(self.opened.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.since.store(since, Ordering::Relaxed);
        self.state.store(state, Ordering::Relaxed);
    }

    /// How long there is to wait for the client still; `None` if it is not its turn.
    fn left(&self, times: Times) -> Option<Duration> {
        let limit = match self.state.load(Ordering::Relaxed) {
            HEAD => times.head,
            REST => times.rest,
            _ => return None,
        };
        let since = Duration::from_micros(self.since.load(Ordering::Relaxed));
        Some(limit.saturating_sub(self.opened.elapsed().saturating_sub(since)))
    }
}

impl Default for Turn {
    fn default() -> Self {
        let (state, since) = (AtomicU8::new(HEAD), AtomicU64::new(0));
        Self { opened: Instant::now(), state, since, is_known: AtomicBool::new(false) }
    }
}

impl Alarm {
    pub(super) fn new(times: Times) -> Self {
        Self { times, sleep: Box::pin(sleep(Duration::ZERO)), is_set: false }
    }

    /// Whether the client has taken too long. To be asked whenever the task has done what it could.
    pub(super) fn rings(&mut self, turn: &Turn, context: &mut Context<'_>) -> bool {
        // One that is set wakes the task; until then it is only looked at.
        while !self.is_set || self.sleep.is_elapsed() {
            let Some(left) = turn.left(self.times) else {
                self.is_set = false;
                return false;
            };
            if left.is_zero() {
                return true;
            }
            // Whose turn it is may change before it rings.
            let next = left.min(self.times.head).min(self.times.rest);
            self.sleep.as_mut().reset(tokio::time::Instant::now() + next);
            self.is_set = self.sleep.as_mut().poll(context) == Poll::Pending;
        }
        false
    }
}
