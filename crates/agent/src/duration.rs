//! Lengths of time, for a person.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::session::Session;

/// A length of time in the largest unit that fits.
pub(crate) fn length(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..=119 => (seconds, "second"),
        120..=7199 => (seconds / 60, "minute"),
        7200..=172_799 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// How long ago a moment is that is written as RFC 3339 has it; nothing if it is none.
pub(crate) fn since(moment: &str, session: &Session) -> Option<String> {
    let at = OffsetDateTime::parse(moment, &Rfc3339).ok()?.unix_timestamp();
    let now = session.clock.now().as_ms() / 1000;
    // Clocks differ a little.
    Some(length(u64::try_from(now - at).unwrap_or(0)))
}

/// A moment that is written as RFC 3339 has it, to the second, as a person reads it.
pub(crate) fn moment(text: &str) -> String {
    let is_whole = OffsetDateTime::parse(text, &Rfc3339).is_ok();
    match text.get(..19).filter(|_| is_whole) {
        Some(text) => text.replace('T', " "),
        None => task_loop::untrusted::printable(text),
    }
}

#[cfg(test)]
mod tests;
