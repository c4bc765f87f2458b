//! Times and periods as input and output.

use std::time::Duration;

use gateway::{parse_rfc3339, rfc3339};
use ledger::Time;

use crate::diagnostic::{Diagnostic, Result};
use crate::duration;
use crate::session::Session;

const MAX_PERIOD_SECONDS: u64 = 100 * 365 * 86400;

const UNITS: &[(char, u64)] = &[('s', 1), ('m', 60), ('h', 3600), ('d', 86400), ('w', 7 * 86400)];

/// Reads a period such as `24h`. `humantime` would also accept months and years, whose length is
/// an average, and fractions of a second.
pub(crate) fn period(text: &str) -> Result<Duration> {
    let read = || {
        let (unit, seconds) = UNITS.iter().find(|(unit, _)| text.ends_with(*unit))?;
        let number = text.strip_suffix(*unit)?;
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        let number: u64 = is_number.then(|| number.parse().ok())??;
        number.checked_mul(*seconds).filter(|seconds| *seconds <= MAX_PERIOD_SECONDS)
    };
    read().map(Duration::from_secs).ok_or_else(|| {
        Diagnostic::usage(format!("invalid period `{text}`"))
            .hint("use a whole number and a unit (s, m, h, d or w), such as `24h` or `30d`")
    })
}

/// Reads a future time: a period from now, or RFC 3339.
pub(crate) fn moment(text: &str, session: &Session) -> Result<Time> {
    let now = now(session);
    if let Ok(period) = period(text) {
        let micros = i64::try_from(period.as_micros()).unwrap_or(i64::MAX);
        return Ok(now.plus_micros(micros));
    }
    let at = parse_rfc3339(text).ok_or_else(|| {
        Diagnostic::usage(format!("invalid time `{text}`"))
            .hint("use a period such as `30d`, or a time such as `2027-01-31T00:00:00Z`")
    })?;
    if at <= now {
        return Err(Diagnostic::usage(format!("`{text}` is in the past")));
    }
    Ok(at)
}

pub(crate) fn now(session: &Session) -> Time {
    Time::from_millis(session.clock.now().as_ms())
}

/// A time for a person, to the second.
pub(crate) fn shown(at: Time) -> String {
    duration::moment(&rfc3339(at))
}

#[cfg(test)]
mod tests;
