//! Time limits of a stream: silence of its upstream, and total length. Time in which the stream waits
//! for its client counts for neither. One timer serves all pieces: it is not reset for each of them,
//! but fires early and then checks what is due.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep};

use crate::provider::{Failure, Upstream};

/// After a piece that arrives within this time, more are probably buffered.
const AT_ONCE: Duration = Duration::from_micros(200);
/// A longer pause between two reads was caused by the client; a shorter one may be ours.
const MIN_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamTimeouts {
    /// Maximum silence towards the client.
    pub(crate) keepalive: Duration,
    /// Maximum silence of the upstream.
    pub(crate) idle: Duration,
    /// Maximum duration, without the time spent waiting for the client.
    pub(crate) whole: Duration,
    /// The total wait for the client after which a broken upstream connection is blamed on it.
    pub(crate) blocked: Duration,
}

pub(crate) struct StreamTimer {
    timeouts: StreamTimeouts,
    begun: Instant,
    /// Total time in which the stream waited for its client.
    paused: Duration,
    /// When the stream last stopped waiting for its upstream.
    left: Instant,
    /// Time already spent on the next piece.
    waited: Duration,
    /// Fires when something is due, or earlier.
    timer: Pin<Box<Sleep>>,
    /// Whether the last piece had already arrived.
    pub(crate) came_at_once: bool,
}

pub(crate) enum Waited {
    /// The next piece, the end, or a failure.
    Came(Result<Option<Bytes>, Failure>),
    /// The client needs a keep-alive comment.
    KeepaliveDue,
    UpstreamSilent,
    /// The stream exceeds its total length.
    TooLong,
}

impl StreamTimer {
    pub(crate) fn new(timeouts: StreamTimeouts, begun: Instant) -> Self {
        let timer = Box::pin(sleep(timeouts.keepalive.min(timeouts.idle)));
        Self {
            timeouts,
            begun,
            paused: Duration::ZERO,
            left: Instant::now(),
            waited: Duration::ZERO,
            timer,
            came_at_once: false,
        }
    }

    /// Whether the client blocked the stream for so long that the upstream may have given up.
    pub(crate) fn is_blocked(&self) -> bool {
        self.paused >= self.timeouts.blocked
    }

    pub(crate) async fn wait(&mut self, upstream: &mut Upstream) -> Waited {
        let asked = Instant::now();
        let pause = asked.duration_since(self.left);
        if pause >= MIN_PAUSE {
            self.paused += pause;
        }
        // With an upstream that never pauses, no timer fires.
        if self.running(asked) >= self.timeouts.whole {
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
                () = self.timer.as_mut() => {
                    if let Some(due) = self.fired(asked) {
                        return due;
                    }
                }
            }
        }
    }

    /// The duration of the stream without the time in which it waited for its client.
    fn running(&self, now: Instant) -> Duration {
        now.duration_since(self.begun).saturating_sub(self.paused)
    }

    fn fired(&mut self, asked: Instant) -> Option<Waited> {
        let StreamTimeouts { keepalive, idle, whole, .. } = self.timeouts;
        let now = Instant::now();
        let quiet = now.duration_since(asked);
        let silent = self.waited + quiet;
        let running = self.running(now);
        // At the limit, an upstream that was silent for most of the time has stopped.
        if silent >= idle || (running >= whole && silent >= running / 2) {
            return Some(Waited::UpstreamSilent);
        }
        if running >= whole {
            return Some(Waited::TooLong);
        }
        let is_due = quiet >= keepalive;
        let until_quiet = if is_due { keepalive } else { keepalive.saturating_sub(quiet) };
        let next = until_quiet.min(idle.saturating_sub(silent)).min(whole.saturating_sub(running));
        self.timer.as_mut().reset(now + next);
        is_due.then(|| {
            self.left = now;
            self.waited = silent;
            Waited::KeepaliveDue
        })
    }
}
