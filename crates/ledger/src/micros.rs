//! Amounts of money.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An amount in micro-credits; a credit has a million.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Micros(i64);

impl Micros {
    pub const ZERO: Self = Self(0);
    /// Maximum amount. A thousandth of the integer range, so that sums cannot overflow.
    pub const MAX: Self = Self(i64::MAX / 1000);

    pub const fn new(micros: i64) -> Self {
        Self(micros)
    }

    pub const fn get(self) -> i64 {
        self.0
    }

    /// The sum; `None` beyond [`Self::MAX`].
    pub fn plus(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self).filter(|sum| sum.is_in_range())
    }

    /// The difference; `None` beyond [`Self::MAX`].
    pub fn minus(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self).filter(|rest| rest.is_in_range())
    }

    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }

    fn is_in_range(self) -> bool {
        self.0.unsigned_abs() <= Self::MAX.0.unsigned_abs()
    }
}

/// Credits with six decimals.
impl fmt::Display for Micros {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let size = self.0.unsigned_abs();
        write!(formatter, "{sign}{}.{:06}", size / 1_000_000, size % 1_000_000)
    }
}

#[cfg(test)]
mod tests;
