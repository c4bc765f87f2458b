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

crate::named_enum! {
    pub enum PostingKind {
        Charge = "charge",
        /// A member paid in.
        TopUp = "top_up",
        /// An operator corrected a balance.
        Adjustment = "adjustment",
    }
}

crate::named_enum! {
    /// The accounts of the operator. Their balance is the sum of their postings and is not stored: a
    /// stored balance would be one row for which the charges of all members wait.
    pub enum HouseAccount {
        /// Receives charges.
        Revenue = "house:revenue",
        /// Pays for top-ups.
        Funding = "house:funding",
        /// The other side of adjustments.
        Adjustments = "house:adjustments",
    }
}

impl Posting {
    /// The charge; zero unless this is a charge.
    pub fn charged(&self) -> Micros {
        match self.kind {
            PostingKind::Charge => Micros::new(self.amount.get().saturating_neg()),
            PostingKind::TopUp | PostingKind::Adjustment => Micros::ZERO,
        }
    }
}

impl PostingKind {
    /// The house account on the other side.
    pub const fn house(self) -> HouseAccount {
        match self {
            Self::Charge => HouseAccount::Revenue,
            Self::TopUp => HouseAccount::Funding,
            Self::Adjustment => HouseAccount::Adjustments,
        }
    }
}
