//! Counter values: which JSON numbers are integers of at least 1.
//!
//! The decision is made on the digits, never on a float: `1.0` and `100e-2` are the integer 1,
//! `1.00000000000000000001` is no integer, and an integer of any number of digits is one.

/// What a number is, as a counter value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Count {
    /// An integer of at least 1; `one` tells whether it is exactly 1.
    Integer { one: bool },
    /// Zero or negative.
    BelowOne,
    /// Has a fraction.
    Fraction,
    /// Written with an exponent that no double can hold, so readers would disagree about it.
    OutOfRange,
}

/// Largest power of ten of a double.
const MAX_EXPONENT: i64 = 308;

/// Judges the text of a JSON number.
pub(super) fn count(number: &str) -> Count {
    let (negative, unsigned) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number),
    };
    let (mantissa, exponent_text) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));

    let digits = || whole.bytes().chain(fraction.bytes());
    let Some(first) = digits().position(|digit| digit != b'0') else {
        return Count::BelowOne;
    };
    let total = whole.len() + fraction.len();
    let last = total - digits().rev().position(|digit| digit != b'0').unwrap_or(0);

    // An exponent that does not fit is far out of range either way.
    let exponent = match exponent_text.map(|text| text.trim_start_matches('+').parse::<i64>()) {
        None => 0,
        Some(Ok(exponent)) => exponent,
        Some(Err(_)) if exponent_text.is_some_and(|text| text.starts_with('-')) => {
            return if negative {
                Count::BelowOne
            } else {
                Count::Fraction
            };
        }
        Some(Err(_)) => return Count::OutOfRange,
    };
    let to_exponent = |length: usize| i64::try_from(length).unwrap_or(i64::MAX);
    // The power of ten of the first and of the last significant digit.
    let point = to_exponent(whole.len()).saturating_add(exponent);
    let highest = point.saturating_sub(to_exponent(first) + 1);
    let lowest = point.saturating_sub(to_exponent(last));

    if exponent_text.is_some() && highest > MAX_EXPONENT {
        return Count::OutOfRange;
    }
    if negative {
        return Count::BelowOne;
    }
    if lowest < 0 {
        return Count::Fraction;
    }
    let one = highest == 0 && last == first + 1 && digits().nth(first) == Some(b'1');
    Count::Integer { one }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_may_be_written_in_any_way() {
        for one in [
            "1",
            "1.0",
            "1e0",
            "1E+0",
            "10e-1",
            "0.1e1",
            "100.00e-2",
            "0.01E2",
        ] {
            assert_eq!(count(one), Count::Integer { one: true }, "{one}");
        }
        let long = format!("1{}", "0".repeat(400));
        for integer in [
            "2",
            "10",
            "1e1",
            "1.5e1",
            "9223372036854775808",
            "1e30",
            "1e308",
            &long,
        ] {
            assert_eq!(count(integer), Count::Integer { one: false }, "{integer}");
        }
    }

    #[test]
    fn what_is_no_integer_of_at_least_one_is_told_apart() {
        for below in [
            "0",
            "-0",
            "0.0",
            "0e9",
            "-1",
            "-1.5",
            "0e999999999999999999999",
            "-1e-99999999999999999999",
        ] {
            assert_eq!(count(below), Count::BelowOne, "{below}");
        }
        for fraction in [
            "1.5",
            "0.5",
            "1e-1",
            "1.00000000000000000001",
            "1e-999999999999999999999",
        ] {
            assert_eq!(count(fraction), Count::Fraction, "{fraction}");
        }
        for beyond in ["1e400", "1e309", "1e999999999999999999999", "0.1e310"] {
            assert_eq!(count(beyond), Count::OutOfRange, "{beyond}");
        }
    }
}
