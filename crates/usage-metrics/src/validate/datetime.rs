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

struct DateTimeParts<'a> {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    fraction: &'a str,
    offset_minutes: i64,
}

/// Whether the text is a date-time of RFC 3339.
///
/// Lower-case `t` and `z`, `-00:00`, any number of fraction digits, the year 0000 and a leap second
/// (second 60 at 23:59 UTC) are valid; a missing offset, `+0000`, a space, 24:00 and impossible
/// days are not.
pub fn is_date_time(text: &str) -> bool {
    parts(text).is_some()
}

pub fn parse_date_time(text: &str) -> Option<DateTime> {
    let parts = parts(text)?;
    let clock =
        i64::from(parts.hour) * 3600 + i64::from(parts.minute) * 60 + i64::from(parts.second);
    Some(DateTime {
        seconds: days_since_epoch(&parts)? * DAY_SECONDS + clock - parts.offset_minutes * 60,
        fraction: parts.fraction.trim_end_matches('0').to_owned(),
    })
}

fn days_since_epoch(parts: &DateTimeParts<'_>) -> Option<i64> {
    let month = time::Month::try_from(u8::try_from(parts.month).ok()?).ok()?;
    let year = i32::try_from(parts.year).ok()?;
    let date = time::Date::from_calendar_date(year, month, u8::try_from(parts.day).ok()?).ok()?;
    let epoch = time::OffsetDateTime::UNIX_EPOCH.to_julian_day();
    Some(i64::from(date.to_julian_day() - epoch))
}

fn parts(text: &str) -> Option<DateTimeParts<'_>> {
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
        || !(1..=12).contains(&month)
        || !(1..=days_in_month(year, month)).contains(&day)
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    let (fraction, offset) = split_fraction(text.get(19..)?)?;
    let offset_minutes = parse_offset(offset)?;
    if second == 60 {
        let utc = i64::from(hour * 60 + minute) - offset_minutes;
        if utc.rem_euclid(24 * 60) != 24 * 60 - 1 {
            return None;
        }
    }
    Some(DateTimeParts { year, month, day, hour, minute, second, fraction, offset_minutes })
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

fn days_in_month(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests;
