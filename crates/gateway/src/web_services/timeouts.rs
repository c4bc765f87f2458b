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
/// Maximum keys; beyond it those without timeouts are dropped.
const MAX_KEYS: usize = 1024;

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

#[derive(Debug)]
pub(crate) struct Attempt<'a> {
    timeouts: &'a Timeouts,
    key: LineageId,
    begun: Instant,
    /// Whether it timed out; `None` if the client abandoned it.
    has_timed_out: Option<bool>,
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
        Ok(Attempt { timeouts: self, key, begun: now, has_timed_out: None })
    }
}

impl Attempt<'_> {
    pub(crate) fn end<T>(mut self, result: Result<T, Fault>) -> Result<T, Fault> {
        self.has_timed_out = Some(matches!(&result, Err(Fault::Late(_) | Fault::Overrun(_))));
        result
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let now = Instant::now();
        let is_slow = now.duration_since(self.begun) >= MIN_WASTED;
        let is_wasted = self.has_timed_out.unwrap_or(is_slow);
        let mut keys = self.timeouts.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = keys.get_mut(&self.key) {
            count.roll(now);
            count.running = count.running.saturating_sub(1);
            count.timeouts = count.timeouts.saturating_add(u32::from(is_wasted));
        }
    }
}

#[cfg(test)]
mod tests;
