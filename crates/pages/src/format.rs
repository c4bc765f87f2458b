//! Formats amounts, counts and times as text.

use time::OffsetDateTime;

use crate::Html;

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Micro-credits as credits, with the fewest exact digits.
pub fn credits(micros: i64) -> String {
    let sign = if micros < 0 { "\u{2212}" } else { "" };
    let size = micros.unsigned_abs();
    let fraction = format!("{:06}", size % 1_000_000);
    let fraction = fraction.trim_end_matches('0');
    let whole = count(size / 1_000_000);
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// A number with its digits grouped by three.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of bytes.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} bytes");
    }
    let mut tenths = bytes / 100;
    let mut unit = 0;
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths /= 1000;
        unit += 1;
    }
    let name = UNITS.get(unit).copied().unwrap_or_default();
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

/// A duration in microseconds.
pub fn duration(micros: i64) -> String {
    match micros.max(0) {
        micros if micros < SECOND => format!("{} ms", micros / 1000),
        micros if micros < MINUTE => {
            format!("{}.{} s", micros / SECOND, micros % SECOND * 10 / SECOND)
        }
        micros if micros < HOUR => {
            format!("{} min {} s", micros / MINUTE, micros % MINUTE / SECOND)
        }
        micros => format!("{} h {} min", micros / HOUR, micros % HOUR / MINUTE),
    }
}

/// A moment in microseconds since 1970: `18 Nov 2026, 05:36:39 UTC`.
pub fn exact_time(micros: i64) -> String {
    let (Some(date), at) = (date(micros), micros.rem_euclid(DAY)) else { return String::new() };
    let (hour, minute, second) = (at / HOUR, at % HOUR / MINUTE, at % MINUTE / SECOND);
    format!("{}, {hour:02}:{minute:02}:{second:02} UTC", short_date(date))
}

/// A relative time, with the exact one on hover.
pub fn moment(micros: i64, now: i64) -> Html {
    let words = ago(micros, now);
    let exact = exact_time(micros);
    Html(format!("<time title=\"{exact}\">{words}</time>"))
}

fn ago(micros: i64, now: i64) -> String {
    let apart = now.saturating_sub(micros);
    let size = apart.saturating_abs();
    let rounded = |unit: i64| (size + unit / 2) / unit;
    let (number, unit) = match size {
        size if size < MINUTE => return "just now".to_owned(),
        size if size < HOUR - MINUTE / 2 => (rounded(MINUTE), "min"),
        size if size < DAY - HOUR / 2 => (rounded(HOUR), "h"),
        size if size < 60 * DAY => (rounded(DAY), "d"),
        _ => return date(micros).map(short_date).unwrap_or_default(),
    };
    if apart < 0 { format!("in {number} {unit}") } else { format!("{number} {unit} ago") }
}

fn date(micros: i64) -> Option<OffsetDateTime> {
    OffsetDateTime::from_unix_timestamp(micros.div_euclid(SECOND)).ok()
}

fn short_date(date: OffsetDateTime) -> String {
    let month = date.month().to_string();
    format!("{} {} {}", date.day(), month.get(..3).unwrap_or_default(), date.year())
}

#[cfg(test)]
mod tests;
