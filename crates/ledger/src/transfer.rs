//! Money that a person moves, and what comes of it.

use crate::{MemberId, Micros, Posting, PostingKind, Refusal};

/// A member's money that moves without a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// Whose.
    pub member: MemberId,
    /// Why: paid in, or corrected.
    pub kind: PostingKind,
    /// What the member's account gains; below zero where it loses.
    pub amount: Micros,
    /// What a person gave as the reason.
    pub reason: String,
    /// A word for this transfer: with the same one it is posted once, however often it is asked.
    pub reference: Option<String>,
}

/// What came of a transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Posted {
    /// It was posted now.
    Now(Posting),
    /// One with its reference had been posted before, and nothing was changed.
    Before(Posting),
}

impl Posted {
    /// The posting, whenever it was made.
    pub fn into_posting(self) -> Posting {
        match self {
            Self::Now(posting) | Self::Before(posting) => posting,
        }
    }
}

impl Transfer {
    /// What a transfer comes to whose reference a posting has.
    pub(crate) fn against(&self, known: &Posting) -> Result<Posted, Refusal> {
        let is_other = [
            ("kind", known.kind != self.kind),
            ("amount", known.amount != self.amount),
            ("reason", known.reason.as_deref() != Some(&self.reason)),
        ];
        let differing: Vec<_> =
            is_other.into_iter().filter_map(|(what, differs)| differs.then_some(what)).collect();
        if differing.is_empty() {
            return Ok(Posted::Before(known.clone()));
        }
        Err(Refusal::ReferenceUsed { differing })
    }
}
