//! Time limits of a stream: silence of its upstream, and its length. Time in which the stream waits
//! for its client counts as neither. One timer serves all pieces: it is not reset for each of them,
//! but fires early and then checks what is still to be waited for.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep};

use crate::provider::{Failure, Upstream};

/// A piece that comes within this has others behind it.
const AT_ONCE: Duration = Duration::from_micros(200);
/// A pause between two pieces that is longer was caused by the client; a shorter one may be ours.
const MIN_PAUSE: Duration = Duration::from_millis(100);

/// How long a stream may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// How long its client hears nothing.
    pub(crate) keepalive: Duration,
    /// How long its upstream says nothing.
    pub(crate) idle: Duration,
    /// From its beginning to its end, without the time in which it waited for its client.
    pub(crate) whole: Duration,
    /// How long its client may hold it up in total before a broken connection to the upstream is
    /// the client's doing.
    pub(crate) held_up: Duration,
}

/// Waits for the pieces of a stream.
pub(crate) struct Patience {
    bounds: Bounds,
    begun: Instant,
    /// How long the stream waited for its client.
    paused: Duration,
    /// When the stream last stopped waiting for its upstream.
    left: Instant,
    /// How long the next piece was waited for already.
    waited: Duration,
    /// Rings when something may be due, or earlier.
    alarm: Pin<Box<Sleep>>,
    came_at_once: bool,
}

/// What came of waiting.
pub(crate) enum Waited {
    /// The next piece, the end, or a failure.
    Came(Result<Option<Bytes>, Failure>),
    /// The client should hear that it goes on.
    Quiet,
    /// The upstream has said nothing for too long.
    Stopped,
    /// The stream as a whole takes too long.
    TooLong,
}

impl Patience {
    /// For a stream that began then.
    pub(crate) fn new(bounds: Bounds, begun: Instant) -> Self {
        let alarm = Box::pin(sleep(bounds.keepalive.min(bounds.idle)));
        Self {
            bounds,
            begun,
            paused: Duration::ZERO,
            left: Instant::now(),
            waited: Duration::ZERO,
            alarm,
            came_at_once: false,
        }
    }

    /// Whether the client held the stream up for so long that its upstream may have given up.
    pub(crate) fn is_held_up(&self) -> bool {
        self.paused >= self.bounds.held_up
    }

    /// Whether the last piece was there as soon as it was asked for.
    pub(crate) fn came_at_once(&self) -> bool {
        self.came_at_once
    }

    /// Waits for the next piece.
    pub(crate) async fn wait(&mut self, upstream: &mut Upstream) -> Waited {
        let asked = Instant::now();
        let pause = asked.duration_since(self.left);
        if pause >= MIN_PAUSE {
            self.paused += pause;
        }
        // An upstream that never pauses lets no alarm ring.
        if self.running(asked) >= self.bounds.whole {
            return Waited::TooLong;
        }
        loop {
            tokio::select! {
                biased;
                piece = upstream.any_piece() => {
                    self.waited = Duration::ZERO;
                    self.left = Instant::now();
                    self.came_at_once = self.left.duration_since(asked) < AT_ONCE;
                    return Waited::Came(piece);
                }
                () = self.alarm.as_mut() => {
                    if let Some(due) = self.rang(asked) {
                        return due;
                    }
                }
            }
        }
    }

    /// How long the stream runs, without the time in which it waited for its client.
    fn running(&self, now: Instant) -> Duration {
        now.duration_since(self.begun).saturating_sub(self.paused)
    }

    /// What is due, if anything is; then sets the alarm anew.
    fn rang(&mut self, asked: Instant) -> Option<Waited> {
        let Bounds { keepalive, idle, whole, .. } = self.bounds;
        let now = Instant::now();
        let quiet = now.duration_since(asked);
        let silent = self.waited + quiet;
        let running = self.running(now);
        // At the limit, an upstream that was silent for most of the time has stopped.
        if silent >= idle || (running >= whole && silent >= running / 2) {
            return Some(Waited::Stopped);
        }
        if running >= whole {
            return Some(Waited::TooLong);
        }
        let is_due = quiet >= keepalive;
        let until_quiet = if is_due { keepalive } else { keepalive.saturating_sub(quiet) };
        let next = until_quiet.min(idle.saturating_sub(silent)).min(whole.saturating_sub(running));
        self.alarm.as_mut().reset(now + next);
        is_due.then(|| {
            self.left = now;
            self.waited = silent;
            Waited::Quiet
        })
    }
}
