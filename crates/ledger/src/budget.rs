//! Budgets: amounts that may be spent per day, week or month.
//!
//! The caller computes the windows, because they follow from a calendar and a time zone. A charge
//! counts in the window in which its hold was opened.

use crate::{LineageId, MemberId, Micros, Time};

/// An amount that may be spent in each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Budget {
    pub amount: Micros,
    pub period: Period,
}

crate::named_enum! {
    /// Reset interval of a budget, shortest first.
    #[derive(PartialOrd, Ord)]
    pub enum Period {
        Day = "day",
        /// Starts on Monday.
        Week = "week",
        Month = "month",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    pub start: Time,
    /// The start of the next window.
    pub end: Time,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Windows {
    pub day: Window,
    pub week: Window,
    pub month: Window,
}

/// The use of a budget: charges and live holds of requests that began at `start` or later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct BudgetUse {
    /// The start of the window, or the time at which the budget was set.
    pub start: Time,
    pub charged: Micros,
    pub held: Micros,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BudgetScope {
    Key(LineageId),
    Member(MemberId),
    Team(MemberId),
}

/// A budget with its use in the current window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BudgetStatus {
    pub scope: BudgetScope,
    pub budget: Budget,
    /// Charged and held.
    pub used: Micros,
    pub resets_at: Time,
}

impl Budget {
    /// Whether this budget is at most as large as another one, in every period.
    pub fn is_within(self, most: Self) -> bool {
        self.amount <= most.amount && self.period >= most.period
    }
}

impl BudgetScope {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Key(_) => "key",
            Self::Member(_) => "member",
            Self::Team(_) => "team",
        }
    }
}

impl Windows {
    pub const fn of(&self, period: Period) -> Window {
        match period {
            Period::Day => self.day,
            Period::Week => self.week,
            Period::Month => self.month,
        }
    }
}

impl BudgetUse {
    /// The use in a window. A later start is kept: the budget was set within the window, or the clock
    /// was set back.
    #[must_use]
    pub fn at(self, window: Window) -> Self {
        let start = window.start;
        if self.start >= start { self } else { Self { start, ..Self::default() } }
    }

    /// Counts the charge of a hold again that was opened at `since`. The windows are those of that time.
    pub fn replay(
        &mut self,
        budget: Option<Budget>,
        since: Time,
        charged: Micros,
        windows: &Windows,
    ) {
        let Some(budget) = budget else { return };
        *self = self.at(windows.of(budget.period));
        self.charge(since, charged);
    }

    fn charge(&mut self, since: Time, charged: Micros) {
        if since >= self.start {
            self.charged = self.charged.plus(charged).unwrap_or(Micros::MAX);
        }
    }

    /// Counts a new hold in the window of now; returns the start of the count, if there is a budget.
    pub(crate) fn hold(
        &mut self,
        budget: Option<Budget>,
        amount: Micros,
        windows: &Windows,
    ) -> Option<Time> {
        *self = self.at(windows.of(budget?.period));
        self.held = self.held.plus(amount).unwrap_or(Micros::MAX);
        Some(self.start)
    }

    /// Releases what this hold reserved, and counts its charge.
    pub(crate) fn end(&mut self, since: Time, held: Micros, charged: Micros) {
        if since >= self.start {
            self.held = self.held.minus(held).unwrap_or(Micros::ZERO);
        }
        self.charge(since, charged);
    }

    fn total(self) -> Micros {
        self.charged.plus(self.held).unwrap_or(Micros::MAX)
    }
}

impl BudgetStatus {
    /// The status of a budget in the current window.
    pub fn new(scope: BudgetScope, budget: Budget, used: BudgetUse, windows: &Windows) -> Self {
        let window = windows.of(budget.period);
        Self { scope, budget, used: used.at(window).total(), resets_at: window.end }
    }

    /// Remaining amount in this window.
    pub fn left(&self) -> Micros {
        self.budget.amount.minus(self.used).unwrap_or(Micros::ZERO).max(Micros::ZERO)
    }

    /// The used share in percent, rounded down; above 100 if the budget was lowered.
    pub fn percent_used(&self) -> u32 {
        let (used, amount) = (i128::from(self.used.get()), i128::from(self.budget.amount.get()));
        if amount <= 0 { 100 } else { u32::try_from(used * 100 / amount).unwrap_or(u32::MAX) }
    }

    /// The status after an amount is held; `None` if less is left.
    pub(crate) fn reserve(self, amount: Micros) -> Option<Self> {
        let used = self.used.plus(amount).unwrap_or(Micros::MAX);
        (self.left() >= amount).then_some(Self { used, ..self })
    }
}

#[cfg(test)]
mod tests;
