//! Accounts of members and teams.

use crate::{
    Budget, BudgetScope, BudgetStatus, BudgetUse, MemberId, Micros, Posting, PostingKind, Time,
    Windows,
};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Account {
    pub id: MemberId,
    pub kind: AccountKind,
    /// The team that pays for the member's requests; `None` if the member pays.
    pub team: Option<MemberId>,
    /// The sum of all postings. Holds never make it negative.
    pub balance: Micros,
    /// The sum of all live holds.
    pub held: Micros,
    /// A blocked member cannot open a hold.
    pub blocked: bool,
    pub usage: Usage,
    /// Spending limit per period; `None` is unlimited. The budget of a member covers all its
    /// requests, also those that a team pays for.
    pub budget: Option<Budget>,
    pub budget_use: BudgetUse,
}

crate::named_enum! {
    #[derive(PartialOrd, Ord, Default)]
    pub enum AccountKind {
        #[default]
        Member = "member",
        /// Pays for the requests of its members.
        Team = "team",
        /// A team that was removed. Its postings remain.
        RemovedTeam = "removed_team",
    }
}

/// Charged requests of the current day and month, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    pub day: UsagePeriod,
    pub month: UsagePeriod,
}

/// Charged requests of one day or month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsagePeriod {
    /// The number of the day or month. Counts of an earlier one are void.
    pub number: i32,
    pub requests: i64,
    pub charged: Micros,
}

impl Account {
    pub fn new(id: MemberId) -> Self {
        Self { id, ..Self::default() }
    }

    /// The budget with its use; `None` is unlimited.
    pub fn budget_status(&self, windows: &Windows) -> Option<BudgetStatus> {
        let scope = match self.kind {
            AccountKind::Member => BudgetScope::Member(self.id),
            AccountKind::Team | AccountKind::RemovedTeam => BudgetScope::Team(self.id),
        };
        Some(BudgetStatus::new(scope, self.budget?, self.budget_use, windows))
    }

    /// The account that pays for requests of this member.
    pub fn payer(&self) -> MemberId {
        self.team.unwrap_or(self.id)
    }

    /// The balance without held amounts.
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
