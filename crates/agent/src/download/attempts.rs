//! How often is tried: as long as it gets further, and not for ever.

use std::time::Duration;

use super::part::Part;
use super::{Error, Limits};

#[derive(Debug)]
pub(super) struct Attempts<'a> {
    limits: &'a Limits,
    made: u32,
    /// Those in a row that got no further.
    fruitless: u32,
    furthest: u64,
}

impl<'a> Attempts<'a> {
    pub(super) fn new(limits: &'a Limits, furthest: u64) -> Self {
        Self { limits, made: 0, fruitless: 0, furthest }
    }

    /// How long to wait before the next one; an error when that was the last.
    pub(super) fn next(
        &mut self,
        reason: &str,
        after: Option<Duration>,
        part: &Part,
    ) -> Result<Duration, Error> {
        self.made += 1;
        if part.length() > self.furthest {
            (self.furthest, self.fruitless) = (part.length(), 0);
        }
        self.fruitless += 1;
        self.judge(reason, part)?;
        let doubled = self.limits.pause.saturating_mul(1 << (self.fruitless - 1).min(16));
        Ok(after.unwrap_or(doubled).min(self.limits.longest_pause))
    }

    /// The next one begins anew, at once.
    pub(super) fn without_pause(&mut self, reason: &str, part: &Part) -> Result<(), Error> {
        self.made += 1;
        self.fruitless += 1;
        self.judge(reason, part)
    }

    fn judge(&self, reason: &str, part: &Part) -> Result<(), Error> {
        if self.fruitless < self.limits.fruitless && self.made < self.limits.tries {
            return Ok(());
        }
        Err(part.given_up(reason))
    }
}
