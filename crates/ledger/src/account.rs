//! A member's account.

use crate::{MemberId, Micros, Posting, PostingKind, Time};

/// What a member has, and has used lately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Whose.
    pub id: MemberId,
    /// The sum of all postings to this account; never below zero by a hold.
    pub balance: Micros,
    /// The sum of all live holds.
    pub held: Micros,
    /// A blocked member gets no hold.
    pub blocked: bool,
    /// Charged requests of this day and month.
    pub usage: Usage,
}

/// Charged requests of the current day and month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Today, UTC.
    pub day: Period,
    /// This month, UTC.
    pub month: Period,
}

/// Charged requests of one day or month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Period {
    /// Which day or month this counts; the counts of another one are worth nothing.
    pub number: i32,
    /// How many requests were charged.
    pub requests: i64,
    /// What they cost.
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
        }
    }

    /// What may still be held.
    pub fn available(&self) -> Micros {
        self.balance.minus(self.held).unwrap_or(Micros::ZERO)
    }

    /// Takes a posting in: what a member has and has used follows from the postings alone, in order.
    pub fn follow(&mut self, posting: &Posting) {
        self.balance = posting.balance;
        if posting.kind == PostingKind::Charge {
            self.usage.count(posting.charged(), posting.at);
        }
    }
}

impl Usage {
    /// The counts as they stand at this moment.
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

impl Period {
    fn of(self, number: i32) -> Self {
        if self.number == number { self } else { Self { number, ..Self::default() } }
    }
}
