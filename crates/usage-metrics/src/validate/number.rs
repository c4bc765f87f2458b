//! Counter values: JSON numbers that are integers of at least 1.
//!
//! The digits decide, never a float: `1.0` and `100e-2` are the integer 1, `1.00000000000000000001`
//! is not an integer, and integers may have any number of digits.

/// A number as a counter value; out of range if the exponent exceeds that of a double, so that
/// readers would disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Count {
    Integer { one: bool },
    BelowOne,
    Fraction,
    OutOfRange,
}

/// The significant digits of a number and their powers of ten.
struct Decimal<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    /// The range of significant digits over both parts.
    significant: std::ops::Range<usize>,
    /// The written exponent, bounded.
    exponent: Option<i64>,
}

impl<'a> Decimal<'a> {
    /// Parses a JSON number; `None` for zero.
    fn parse(number: &'a str) -> Option<Self> {
        let (negative, unsigned) = match number.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, number),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(parse_exponent(exponent))),
            None => (unsigned, None),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = || whole.bytes().chain(fraction.bytes());
        let first = digits().position(|digit| digit != b'0')?;
        let zeros_behind = digits().rev().position(|digit| digit != b'0')?;
        let significant = first..whole.len() + fraction.len() - zeros_behind;
        Some(Decimal { negative, whole, fraction, significant, exponent })
    }

    fn digits(&self) -> impl Iterator<Item = u8> {
        let digits = self.whole.bytes().chain(self.fraction.bytes());
        digits.skip(self.significant.start).take(self.significant.len())
    }

    /// The power of ten of the last significant digit.
    fn lowest_power(&self) -> i64 {
        let signed = |length: usize| i64::try_from(length).unwrap_or(i64::MAX);
        let exponent = self.exponent.unwrap_or(0);
        signed(self.whole.len())
            .saturating_add(exponent)
            .saturating_sub(signed(self.significant.end))
    }
}

fn parse_exponent(text: &str) -> i64 {
    let bound = if text.starts_with('-') { i64::MIN } else { i64::MAX };
    text.parse().unwrap_or(bound)
}

pub(super) fn count(number: &str) -> Count {
    let Some(decimal) = Decimal::parse(number) else { return Count::BelowOne };
    let lowest = decimal.lowest_power();
    if decimal.exponent.is_some() && number.parse().is_ok_and(f64::is_infinite) {
        Count::OutOfRange
    } else if decimal.negative {
        Count::BelowOne
    } else if lowest < 0 {
        Count::Fraction
    } else {
        Count::Integer { one: lowest == 0 && decimal.digits().eq(*b"1") }
    }
}

/// The value of an integer; `None` if it exceeds the limit.
pub(crate) fn parse_count(number: &str) -> Option<u64> {
    let decimal = Decimal::parse(number)?;
    let lowest = u32::try_from(decimal.lowest_power()).ok()?;
    let digits = decimal.digits().try_fold(0_u64, |value, digit| {
        value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })?;
    digits.checked_mul(10_u64.checked_pow(lowest)?)
}

#[cfg(test)]
mod tests;
