//! Points in time. Callers supply the current time.

/// Microseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(i64);

const MICROS_A_DAY: i64 = 86_400_000_000;

impl Time {
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1000))
    }

    pub const fn micros(self) -> i64 {
        self.0
    }

    pub const fn millis(self) -> i64 {
        self.0.div_euclid(1000)
    }

    #[must_use]
    pub const fn plus_micros(self, micros: i64) -> Self {
        Self(self.0.saturating_add(micros))
    }

    /// Days since 1970.
    pub fn day(self) -> i32 {
        i32::try_from(self.0.div_euclid(MICROS_A_DAY)).unwrap_or(i32::MAX)
    }

    /// The month as `12 * year + month`, with months from 0.
    pub(crate) fn month(self) -> i32 {
        // Howard Hinnant's `civil_from_days`: eras of 400 years that begin in March.
        let days = i64::from(self.day()) + 719_468;
        let era = days.div_euclid(146_097);
        let of_era = days.rem_euclid(146_097);
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let from_march = (5 * of_year + 2) / 153;
        let month = (from_march + 2) % 12;
        let year = year + era * 400 + i64::from(from_march >= 10);
        i32::try_from(year * 12 + month).unwrap_or(i32::MAX)
    }
}

#[cfg(test)]
mod tests;
