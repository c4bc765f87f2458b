//! Durations, for a person.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::session::Session;

/// A duration in the largest unit that fits.
pub(crate) fn length(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..=119 => (seconds, "second"),
        120..=7199 => (seconds / 60, "minute"),
        7200..=172_799 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// The age of an RFC 3339 time; `None` if it is invalid.
pub(crate) fn since(moment: &str, session: &Session) -> Option<String> {
    let at = OffsetDateTime::parse(moment, &Rfc3339).ok()?.unix_timestamp();
    let now = session.clock.now().as_ms() / 1000;
    // Tolerates small clock differences.
    Some(length(u64::try_from(now - at).unwrap_or(0)))
}

/// An RFC 3339 time for a person, to the second.
pub(crate) fn moment(text: &str) -> String {
    let is_whole = OffsetDateTime::parse(text, &Rfc3339).is_ok();
    match text.get(..19).filter(|_| is_whole) {
        Some(text) => text.replace('T', " "),
        None => task_loop::untrusted::printable(text),
    }
}

#[cfg(test)]
mod tests;
