//! Limits the fetches of a key that time out.
//!
//! Such a fetch is free, though it occupies a connection and a parser until its timeout. Running
//! fetches count as well, so that a key cannot start more of them than it may waste.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ledger::LineageId;
use web_reader::Fault;

const WINDOW: Duration = Duration::from_mins(1);
/// A fetch that the client aborts after this time counts as a timeout.
const MIN_WASTED: Duration = Duration::from_secs(1);
/// The most keys before those without timeouts are dropped.
const MAX_KEYS: usize = 1024;

/// The timeouts of each key.
#[derive(Debug)]
pub(crate) struct Timeouts {
    per_minute: u32,
    keys: Mutex<HashMap<LineageId, Count>>,
}

#[derive(Debug)]
struct Count {
    begun: Instant,
    timeouts: u32,
    running: u32,
}

impl Count {
    /// Starts a new window after the end of the last one.
    fn roll(&mut self, now: Instant) {
        if now.duration_since(self.begun) >= WINDOW {
            (self.begun, self.timeouts) = (now, 0);
        }
    }
}

/// A running fetch.
#[derive(Debug)]
pub(crate) struct Attempt<'a> {
    timeouts: &'a Timeouts,
    key: LineageId,
    begun: Instant,
    outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The client aborted it.
    Abandoned,
    TimedOut,
    InTime,
}

impl Timeouts {
    pub(crate) fn new(per_minute: u32) -> Self {
        Self { per_minute, keys: Mutex::default() }
    }

    /// Starts a fetch, unless too many of this key timed out.
    pub(crate) fn begin(&self, key: LineageId) -> Result<Attempt<'_>, Fault> {
        let now = Instant::now();
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.len() >= MAX_KEYS {
            keys.retain(|_, count| {
                count.roll(now);
                count.timeouts > 0 || count.running > 0
            });
        }
        let new = || Count { begun: now, timeouts: 0, running: 0 };
        let count = keys.entry(key).or_insert_with(new);
        count.roll(now);
        if count.timeouts.saturating_add(count.running) >= self.per_minute {
            return Err(Fault::TooManyTimeouts(WINDOW.saturating_sub(now - count.begun)));
        }
        count.running += 1;
        Ok(Attempt { timeouts: self, key, begun: now, outcome: Outcome::Abandoned })
    }
}

impl Attempt<'_> {
    /// Notes how the fetch ended.
    pub(crate) fn end<T>(mut self, result: Result<T, Fault>) -> Result<T, Fault> {
        self.outcome = match &result {
            Err(Fault::Late(_) | Fault::Overrun(_)) => Outcome::TimedOut,
            _ => Outcome::InTime,
        };
        result
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let now = Instant::now();
        let is_wasted = match self.outcome {
            Outcome::TimedOut => true,
            Outcome::InTime => false,
            Outcome::Abandoned => now.duration_since(self.begun) >= MIN_WASTED,
        };
        let mut keys = self.timeouts.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = keys.get_mut(&self.key) {
            count.roll(now);
            count.running = count.running.saturating_sub(1);
            count.timeouts = count.timeouts.saturating_add(u32::from(is_wasted));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: LineageId = LineageId(7);

    fn late() -> Result<(), Fault> {
        Err(Fault::Late("it took too long in all"))
    }

    #[test]
    fn timeouts_and_overruns_use_up_the_limit_and_other_faults_do_not() {
        let timeouts = Timeouts::new(2);
        for _ in 0..10 {
            let _ = timeouts.begin(KEY).unwrap().end(Err::<(), _>(Fault::Status(404)));
            assert!(timeouts.begin(KEY).unwrap().end(Ok(())).is_ok());
            // Left at once.
            drop(timeouts.begin(KEY).unwrap());
        }
        let _ = timeouts.begin(KEY).unwrap().end(late());
        let _ = timeouts.begin(KEY).unwrap().end(Err::<(), _>(Fault::Overrun("is too much")));
        assert!(matches!(timeouts.begin(KEY), Err(Fault::TooManyTimeouts(_))));
        assert!(timeouts.begin(LineageId(8)).is_ok(), "another key has its own limit");
    }

    #[test]
    fn fetches_that_are_running_count_until_they_end() {
        let timeouts = Timeouts::new(2);
        let first = timeouts.begin(KEY).unwrap();
        let second = timeouts.begin(KEY).unwrap();
        assert!(timeouts.begin(KEY).is_err());
        first.end(Ok(())).unwrap();
        let third = timeouts.begin(KEY).unwrap();
        assert!(timeouts.begin(KEY).is_err());
        drop((second, third));
    }

    #[test]
    fn a_fetch_that_is_left_late_counts_and_a_minute_later_is_forgotten() {
        let timeouts = Timeouts::new(1);
        let mut left = timeouts.begin(KEY).unwrap();
        left.begun = left.begun.checked_sub(MIN_WASTED).unwrap();
        drop(left);
        assert!(timeouts.begin(KEY).is_err());
        let ago = Instant::now().checked_sub(WINDOW).unwrap();
        timeouts.keys.lock().unwrap().get_mut(&KEY).unwrap().begun = ago;
        assert!(timeouts.begin(KEY).is_ok());
    }

    #[test]
    fn keys_without_timeouts_are_forgotten() {
        let timeouts = Timeouts::new(3);
        let _ = timeouts.begin(LineageId(-1)).unwrap().end(late());
        for number in 0..2 * i64::try_from(MAX_KEYS).unwrap() {
            drop(timeouts.begin(LineageId(number)).unwrap());
        }
        let keys = timeouts.keys.lock().unwrap();
        assert!(keys.len() <= MAX_KEYS && keys.contains_key(&LineageId(-1)));
    }
}
