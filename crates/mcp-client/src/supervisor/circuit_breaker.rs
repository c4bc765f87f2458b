//! A circuit breaker: stops calls to a failing server, and lets a probe through.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::sync::lock;

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
