//! An amount of money: whole micro-credits.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whole micro-credits; a credit is a million of them.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Micros(i64);

impl Micros {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// More than any account may ever hold: a thousandth of what the integer could.
    pub const MAX: Self = Self(i64::MAX / 1000);

    /// So many micro-credits.
    pub const fn new(micros: i64) -> Self {
        Self(micros)
    }

    /// The integer.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The sum, unless it leaves the range in which all sums are exact.
    pub fn plus(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self).filter(|sum| sum.is_in_range())
    }

    /// The difference, unless it leaves the range in which all sums are exact.
    pub fn minus(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self).filter(|rest| rest.is_in_range())
    }

    /// Whether it is less than nothing.
    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }

    fn is_in_range(self) -> bool {
        self.0.unsigned_abs() <= Self::MAX.0.unsigned_abs()
    }
}

/// In credits, with all six places.
impl fmt::Display for Micros {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let size = self.0.unsigned_abs();
        write!(formatter, "{sign}{}.{:06}", size / 1_000_000, size % 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_that_leave_the_range_are_refused() {
        assert_eq!(Micros::MAX.plus(Micros::new(1)), None);
        assert_eq!(Micros::new(-1).minus(Micros::MAX), None);
        assert_eq!(Micros::new(i64::MAX).plus(Micros::new(1)), None);
        assert_eq!(Micros::new(2).plus(Micros::new(3)), Some(Micros::new(5)));
    }

    #[test]
    fn amounts_are_shown_in_credits() {
        assert_eq!(Micros::new(1_234_567).to_string(), "1.234567");
        assert_eq!(Micros::new(-5).to_string(), "-0.000005");
    }
}
