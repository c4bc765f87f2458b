//! Accounts of members.

use crate::{
    Budget, BudgetScope, BudgetStatus, BudgetUse, MemberId, Micros, Posting, PostingKind, Time,
    Windows,
};

/// A member's money and recent usage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The owner of the account.
    pub id: MemberId,
    /// The sum of all postings. Holds never make it negative.
    pub balance: Micros,
    /// The sum of all live holds.
    pub held: Micros,
    /// A blocked member cannot open a hold.
    pub blocked: bool,
    /// Charged requests of the current day and month.
    pub usage: Usage,
    /// What the member may spend in each period; `None` is unlimited.
    pub budget: Option<Budget>,
    pub budget_use: BudgetUse,
}

/// Charged requests of the current day and month, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// The current day.
    pub day: UsagePeriod,
    /// The current month.
    pub month: UsagePeriod,
}

/// Charged requests of one day or month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsagePeriod {
    /// The number of the day or month. Counts of an earlier one are void.
    pub number: i32,
    /// Number of charged requests.
    pub requests: i64,
    /// The sum of their charges.
    pub charged: Micros,
}

impl Account {
    /// An account without money.
    pub fn new(id: MemberId) -> Self {
        Self {
            id,
            balance: Micros::ZERO,
            held: Micros::ZERO,
            blocked: false,
            usage: Usage::default(),
            budget: None,
            budget_use: BudgetUse::default(),
        }
    }

    /// The budget with its use; `None` is unlimited.
    pub fn budget_status(&self, windows: &Windows) -> Option<BudgetStatus> {
        Some(BudgetStatus::new(
            BudgetScope::Member(self.id),
            self.budget?,
            self.budget_use,
            windows,
        ))
    }

    /// The balance without what is held.
    pub fn available(&self) -> Micros {
        self.balance.minus(self.held).unwrap_or(Micros::ZERO)
    }

    /// Updates balance and usage from a posting. Both follow from the postings alone, in order.
    pub fn apply(&mut self, posting: &Posting) {
        self.balance = posting.balance;
        if posting.kind == PostingKind::Charge {
            self.usage.count(posting.charged(), posting.at);
        }
    }
}

impl Usage {
    /// The counts that are valid at this time.
    #[must_use]
    pub fn at(self, now: Time) -> Self {
        Self { day: self.day.of(now.day()), month: self.month.of(now.month()) }
    }

    fn count(&mut self, charged: Micros, now: Time) {
        *self = self.at(now);
        for period in [&mut self.day, &mut self.month] {
            period.requests = period.requests.saturating_add(1);
            period.charged = period.charged.plus(charged).unwrap_or(Micros::MAX);
        }
    }
}

impl UsagePeriod {
    fn of(self, number: i32) -> Self {
        if self.number == number { self } else { Self { number, ..Self::default() } }
    }
}
