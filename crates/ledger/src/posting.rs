//! Postings: amounts that moved from one account to another.

use crate::{HoldId, MemberId, Micros, Time};

/// An amount that moved between a member and the house. Both legs are in it: what the member's
/// account gained, the account of the house lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posting {
    /// When.
    pub at: Time,
    /// Why.
    pub kind: PostingKind,
    /// The member's account.
    pub member: MemberId,
    /// The other account.
    pub house: House,
    /// What the member's account gained; below zero where it lost. Never zero.
    pub amount: Micros,
    /// The member's balance after it.
    pub balance: Micros,
    /// The hold that was settled by it.
    pub hold: Option<HoldId>,
    /// What a person gave as the reason.
    pub reason: Option<String>,
    /// The word by which whoever asked for it can ask again.
    pub reference: Option<String>,
}

/// Why an amount moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PostingKind {
    /// A request was charged.
    Charge,
    /// A member paid in.
    TopUp,
    /// An operator corrected a balance.
    Adjustment,
}

/// The accounts of the house. What they hold is the sum of their postings, kept nowhere else: a
/// stored balance would be one row that every charge of every member waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum House {
    /// What members were charged.
    Revenue,
    /// Where credit that was paid in comes from.
    Funding,
    /// The other side of corrections.
    Adjustments,
}

impl Posting {
    /// What the member was charged by it; nothing if it is no charge.
    pub fn charged(&self) -> Micros {
        match self.kind {
            PostingKind::Charge => Micros::new(self.amount.get().saturating_neg()),
            PostingKind::TopUp | PostingKind::Adjustment => Micros::ZERO,
        }
    }
}

impl PostingKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Charge, Self::TopUp, Self::Adjustment];

    /// As it is stored and shown.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Charge => "charge",
            Self::TopUp => "top_up",
            Self::Adjustment => "adjustment",
        }
    }

    /// Reads what [`Self::word`] gives.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// The account of the house it moves against.
    pub const fn house(self) -> House {
        match self {
            Self::Charge => House::Revenue,
            Self::TopUp => House::Funding,
            Self::Adjustment => House::Adjustments,
        }
    }
}

impl House {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Revenue, Self::Funding, Self::Adjustments];

    /// As it is stored and shown.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Revenue => "house:revenue",
            Self::Funding => "house:funding",
            Self::Adjustments => "house:adjustments",
        }
    }

    /// Reads what [`Self::word`] gives.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|house| house.word() == word)
    }
}
