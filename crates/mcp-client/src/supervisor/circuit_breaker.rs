//! A circuit breaker: stops calls to a failing server, and lets a probe through.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

pub(crate) const MAX_FAILURES: u32 = 3;
pub(crate) const OPEN_DURATION: Duration = Duration::from_mins(1);

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
        let mut count = self.lock();
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
        *self.lock() = BreakerState::default();
    }

    pub(super) fn failed(&self) {
        let mut count = self.lock();
        count.failures += 1;
        if count.failures >= MAX_FAILURES {
            count.open_until = Some(Instant::now() + OPEN_DURATION);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BreakerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
