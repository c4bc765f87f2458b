//! Stops calling a server that keeps failing, and lets one call through to see.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How many failures in a row open it.
pub(crate) const FAILURES: u32 = 3;
/// How long it stays open.
pub(crate) const OPEN: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
pub(super) struct Breaker(Mutex<Count>);

#[derive(Debug, Default)]
struct Count {
    failures: u32,
    open_until: Option<Instant>,
}

impl Breaker {
    /// Whether a call may go: otherwise how many failures there were and how long to wait.
    pub(super) fn check(&self) -> Result<(), (u32, Duration)> {
        let mut count = self.lock();
        let now = Instant::now();
        match count.open_until {
            Some(until) if until > now => Err((count.failures, until - now)),
            Some(_) => {
                // This call is the probe; the others wait for what comes of it.
                count.open_until = Some(now + OPEN);
                Ok(())
            }
            None => Ok(()),
        }
    }

    pub(super) fn succeeded(&self) {
        *self.lock() = Count::default();
    }

    pub(super) fn failed(&self) {
        let mut count = self.lock();
        count.failures += 1;
        if count.failures >= FAILURES {
            count.open_until = Some(Instant::now() + OPEN);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Count> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn three_failures_open_it_and_one_probe_closes_it() {
        let breaker = Breaker::default();
        for _ in 0..FAILURES {
            assert_eq!(breaker.check(), Ok(()));
            breaker.failed();
        }
        assert_eq!(breaker.check(), Err((3, OPEN)));
        tokio::time::advance(OPEN).await;
        assert_eq!(breaker.check(), Ok(()), "the probe");
        assert!(breaker.check().is_err(), "everybody else still waits");
        breaker.succeeded();
        assert_eq!(breaker.check(), Ok(()));
    }
}
