//! How long a stream may be silent. One timer serves all its pieces: it is not set anew for each of
//! them, but rings early and then looks at what is still to be waited for.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep};

use crate::provider::{Failure, Upstream};

/// A piece that comes within this has others behind it.
const AT_ONCE: Duration = Duration::from_micros(200);

/// How long a stream may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// How long its client hears nothing.
    pub(crate) keepalive: Duration,
    /// How long its upstream says nothing.
    pub(crate) idle: Duration,
    /// From its beginning to its end.
    pub(crate) whole: Duration,
}

/// Waits for the pieces of a stream.
pub(crate) struct Patience {
    bounds: Bounds,
    begun: Instant,
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
        Self { bounds, begun, waited: Duration::ZERO, alarm, came_at_once: false }
    }

    /// Whether the last piece was there as soon as it was asked for.
    pub(crate) fn came_at_once(&self) -> bool {
        self.came_at_once
    }

    /// Waits for the next piece.
    pub(crate) async fn wait(&mut self, upstream: &mut Upstream) -> Waited {
        let asked = Instant::now();
        // An upstream that never pauses lets no alarm ring.
        if asked.duration_since(self.begun) >= self.bounds.whole {
            return Waited::TooLong;
        }
        loop {
            tokio::select! {
                biased;
                piece = upstream.any_piece() => {
                    self.waited = Duration::ZERO;
                    self.came_at_once = asked.elapsed() < AT_ONCE;
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

    /// What is due, if anything is; then sets the alarm anew.
    fn rang(&mut self, asked: Instant) -> Option<Waited> {
        let Bounds { keepalive, idle, whole } = self.bounds;
        let now = Instant::now();
        let quiet = now.duration_since(asked);
        let silent = self.waited + quiet;
        let running = now.duration_since(self.begun);
        if running >= whole {
            return Some(Waited::TooLong);
        }
        if silent >= idle {
            return Some(Waited::Stopped);
        }
        let is_due = quiet >= keepalive;
        let until_quiet = if is_due { keepalive } else { keepalive.saturating_sub(quiet) };
        let until_late = idle.saturating_sub(silent).min(whole.saturating_sub(running));
        self.alarm.as_mut().reset(now + until_quiet.min(until_late));
        is_due.then(|| {
            self.waited = silent;
            Waited::Quiet
        })
    }
}
