//! The clock of the service, and ids of requests.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ledger::{HoldId, Time};
use tokio::time::{Interval, MissedTickBehavior};

pub(crate) fn now() -> Time {
    at(SystemTime::now())
}

pub(crate) fn at(moment: SystemTime) -> Time {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

pub(crate) fn unix_seconds() -> u64 {
    u64::try_from(now().millis() / 1000).unwrap_or_default()
}

pub(crate) fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

/// Ticks that are late delay all later ones.
pub(crate) fn ticks(period: Duration) -> Interval {
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

pub(crate) fn new_hold_id() -> HoldId {
    let millis = u64::try_from(now().millis()).unwrap_or_default();
    HoldId::new(millis, fastrand::u128(..))
}

/// A moment as RFC 3339, to the millisecond.
pub fn rfc3339(at: Time) -> String {
    let nanos = i128::from(at.millis()) * 1_000_000;
    time::OffsetDateTime::from_unix_timestamp_nanos(nanos)
        .ok()
        .and_then(|at| at.format(&time::format_description::well_known::Rfc3339).ok())
        .unwrap_or_default()
}

pub fn parse_rfc3339(text: &str) -> Option<Time> {
    let format = &time::format_description::well_known::Rfc3339;
    let at = time::OffsetDateTime::parse(text, format).ok()?;
    i64::try_from(at.unix_timestamp_nanos() / 1000).ok().map(Time::from_micros)
}
