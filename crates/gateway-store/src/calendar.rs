//! Days, weeks and months in the time zone of the operator.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use ledger::{Time, Window, Windows};

/// The calendar by which budgets reset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calendar(TimeZone);

impl Calendar {
    pub fn utc() -> Self {
        Self(TimeZone::UTC)
    }

    /// The calendar of a time zone by its IANA name, such as `Europe/Berlin`.
    pub fn parse(name: &str) -> Option<Self> {
        TimeZone::get(name).ok().map(Self)
    }

    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// The day, week and month of a time. Weeks start on Monday.
    pub fn windows(&self, now: Time) -> Windows {
        let now = Timestamp::from_microsecond(now.micros()).unwrap_or_default();
        let today = self.0.to_datetime(now).date();
        let since_monday = i64::from(today.weekday().to_monday_zero_offset());
        let monday = today.saturating_sub(Span::new().days(since_monday));
        Windows {
            day: self.window(today, Span::new().days(1)),
            week: self.window(monday, Span::new().days(7)),
            month: self.window(today.first_of_month(), Span::new().months(1)),
        }
    }

    fn window(&self, first: Date, length: Span) -> Window {
        Window { start: self.start_of(first), end: self.start_of(first.saturating_add(length)) }
    }

    /// The first moment of a day, which is not midnight if clocks are set forward then.
    fn start_of(&self, day: Date) -> Time {
        let start = day.to_zoned(self.0.clone()).map(|start| start.timestamp());
        Time::from_micros(start.unwrap_or_default().as_microsecond())
    }
}

#[cfg(test)]
mod tests;
