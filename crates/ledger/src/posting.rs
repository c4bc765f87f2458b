//! Postings: amounts that moved between a member's account and a house account.

use crate::{HoldId, MemberId, Micros, Time};

/// An amount that moved between a member's account and a house account. It has both legs: what the
/// member's account gains, the house account loses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posting {
    pub at: Time,
    pub kind: PostingKind,
    pub member: MemberId,
    pub house: HouseAccount,
    /// The change of the member's balance. Never zero.
    pub amount: Micros,
    /// The member's balance afterwards.
    pub balance: Micros,
    /// The hold that the charge settled.
    pub hold: Option<HoldId>,
    /// The reason that the operator gave.
    pub reason: Option<String>,
    /// The reference of the transfer; see [`crate::Transfer::reference`].
    pub reference: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PostingKind {
    Charge,
    /// A member paid in.
    TopUp,
    /// An operator corrected a balance.
    Adjustment,
}

/// The accounts of the operator. Their balance is the sum of their postings and is not stored: a
/// stored balance would be one row for which the charges of all members wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HouseAccount {
    /// Receives charges.
    Revenue,
    /// Pays for top-ups.
    Funding,
    /// The other side of adjustments.
    Adjustments,
}

impl Posting {
    /// What the member was charged; zero unless this is a charge.
    pub fn charged(&self) -> Micros {
        match self.kind {
            PostingKind::Charge => Micros::new(self.amount.get().saturating_neg()),
            PostingKind::TopUp | PostingKind::Adjustment => Micros::ZERO,
        }
    }
}

impl PostingKind {
    pub const ALL: [Self; 3] = [Self::Charge, Self::TopUp, Self::Adjustment];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Charge => "charge",
            Self::TopUp => "top_up",
            Self::Adjustment => "adjustment",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// The house account on the other side.
    pub const fn house(self) -> HouseAccount {
        match self {
            Self::Charge => HouseAccount::Revenue,
            Self::TopUp => HouseAccount::Funding,
            Self::Adjustment => HouseAccount::Adjustments,
        }
    }
}

impl HouseAccount {
    pub const ALL: [Self; 3] = [Self::Revenue, Self::Funding, Self::Adjustments];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Revenue => "house:revenue",
            Self::Funding => "house:funding",
            Self::Adjustments => "house:adjustments",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|account| account.as_str() == text)
    }
}
