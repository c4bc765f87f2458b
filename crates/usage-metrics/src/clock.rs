//! Time: milliseconds of UTC, and whole UTC days.
//!
//! The clock is always a parameter; only [`SystemClock`] reads the system clock.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

const DAY_MS: i64 = 86_400_000;

/// The last millisecond of the last day whose end RFC 3339 can represent.
const MAX_MS: i64 = 253_402_214_399_999;

/// Milliseconds since 1970-01-01T00:00:00Z, up to the year 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The time this many milliseconds after the epoch, clamped to the range.
    pub fn from_ms(ms: i64) -> Self {
        Timestamp(ms.clamp(0, MAX_MS))
    }

    pub fn as_ms(self) -> i64 {
        self.0
    }

    pub fn day(self) -> Day {
        Day(self.0 / DAY_MS)
    }

    #[must_use]
    pub fn minus_days(self, days: u32) -> Self {
        Timestamp::from_ms(self.0 - i64::from(days) * DAY_MS)
    }
}

/// RFC 3339 in UTC, with a fraction only if it is not zero.
impl fmt::Display for Timestamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, ms) = (self.0 / 1000, self.0 % 1000);
        let of_day = seconds % 86_400;
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        write!(out, "{}T{hour:02}:{minute:02}:{second:02}", self.day())?;
        if ms == 0 { out.write_str("Z") } else { write!(out, ".{ms:03}Z") }
    }
}

/// A UTC day: whole days since 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(i64);

impl Day {
    /// The day with this number, clamped to the range.
    pub fn from_number(number: i64) -> Self {
        Day(number.clamp(0, MAX_MS / DAY_MS))
    }

    pub fn number(self) -> i64 {
        self.0
    }

    pub fn start(self) -> Timestamp {
        Timestamp::from_ms(self.0 * DAY_MS)
    }

    /// The start of the next day.
    pub fn end(self) -> Timestamp {
        Timestamp((self.0 + 1) * DAY_MS)
    }
}

/// `2026-07-28`.
impl fmt::Display for Day {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = time::OffsetDateTime::from_unix_timestamp(self.0 * (DAY_MS / 1000));
        start.unwrap_or(time::OffsetDateTime::UNIX_EPOCH).date().fmt(out)
    }
}

pub trait Clock: Send + Sync + fmt::Debug {
    fn now(&self) -> Timestamp;
}

#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_ms(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    pub fn at(now: Timestamp) -> Self {
        ManualClock(AtomicI64::new(now.as_ms()))
    }

    pub fn set(&self, now: Timestamp) {
        self.0.store(now.as_ms(), Ordering::Release);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.0.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests;
