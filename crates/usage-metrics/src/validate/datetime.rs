//! Date-times of RFC 3339: validation and comparison.

/// A point in time with the precision of its text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DateTime {
    /// Seconds since 1970-01-01T00:00:00Z; a leap second counts as the second after it.
    pub seconds: i64,
    /// The digits of the fraction without trailing zeros.
    pub fraction: String,
}

pub const DAY_SECONDS: i64 = 86_400;

/// Whether the text is a date-time of RFC 3339.
///
/// Lower-case `t` and `z`, `-00:00`, any number of fraction digits, the year 0000 and a leap second
/// (second 60 at 23:59 UTC) are valid; a missing offset, `+0000`, a space, 24:00 and impossible
/// days are not.
pub fn is_date_time(text: &str) -> bool {
    parts(text).is_some()
}

pub fn parse_date_time(text: &str) -> Option<DateTime> {
    let (seconds, fraction) = parts(text)?;
    Some(DateTime { seconds, fraction: fraction.trim_end_matches('0').to_owned() })
}

/// The seconds since the epoch, and the digits of the fraction.
fn parts(text: &str) -> Option<(i64, &str)> {
    let bytes = text.as_bytes();
    let year = digits(bytes, 0, 4)?;
    let month = digits(bytes, 5, 2)?;
    let day = digits(bytes, 8, 2)?;
    let hour = digits(bytes, 11, 2)?;
    let minute = digits(bytes, 14, 2)?;
    let second = digits(bytes, 17, 2)?;
    let punctuation = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
    if punctuation.iter().any(|(at, byte)| bytes[*at] != *byte)
        || !matches!(bytes[10], b'T' | b't')
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    let (fraction, offset) = split_fraction(text.get(19..)?)?;
    let offset_minutes = parse_offset(offset)?;
    let minutes = i64::from(hour * 60 + minute) - offset_minutes;
    if second == 60 && minutes.rem_euclid(24 * 60) != 24 * 60 - 1 {
        return None;
    }
    let month = time::Month::try_from(u8::try_from(month).ok()?).ok()?;
    let (year, day) = (i32::try_from(year).ok()?, u8::try_from(day).ok()?);
    let date = time::Date::from_calendar_date(year, month, day).ok()?;
    let days = date.to_julian_day() - time::OffsetDateTime::UNIX_EPOCH.to_julian_day();
    let seconds = i64::from(days) * DAY_SECONDS + minutes * 60 + i64::from(second);
    Some((seconds, fraction))
}

/// Splits `.123Z` into `123` and `Z`; a point requires digits.
fn split_fraction(rest: &str) -> Option<(&str, &str)> {
    let Some(after) = rest.strip_prefix('.') else { return Some(("", rest)) };
    let end = after.bytes().position(|byte| !byte.is_ascii_digit())?;
    (end > 0).then(|| after.split_at(end))
}

fn parse_offset(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let sign = match (bytes.first()?, bytes.len()) {
        (b'Z' | b'z', 1) => return Some(0),
        (b'+', 6) => 1,
        (b'-', 6) => -1,
        _ => return None,
    };
    let (hours, minutes) = (digits(bytes, 1, 2)?, digits(bytes, 4, 2)?);
    let legal = bytes[3] == b':' && hours <= 23 && minutes <= 59;
    legal.then(|| sign * i64::from(hours * 60 + minutes))
}

fn digits(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    bytes.get(at..at + count)?.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0'))
    })
}

#[cfg(test)]
mod tests;
