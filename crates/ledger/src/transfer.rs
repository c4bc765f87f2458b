//! Transfers: manual top-ups and corrections.

use crate::{MemberId, Micros, Posting, PostingKind, Refusal};

/// Money that moves without a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    pub member: MemberId,
    /// A top-up or an adjustment.
    pub kind: PostingKind,
    /// The change of the member's balance; negative to take money away.
    pub amount: Micros,
    /// The reason that the operator gave.
    pub reason: String,
    /// Transfers of a member with the same reference are posted once.
    pub reference: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransferResult {
    Posted(Posting),
    /// A transfer with the same reference was posted before; nothing changed.
    AlreadyPosted(Posting),
}

impl TransferResult {
    /// The posting, old or new.
    pub fn into_posting(self) -> Posting {
        match self {
            Self::Posted(posting) | Self::AlreadyPosted(posting) => posting,
        }
    }
}

impl Transfer {
    /// The result of a transfer whose reference is already posted.
    pub(crate) fn compare_with(&self, known: &Posting) -> Result<TransferResult, Refusal> {
        let fields = [
            ("kind", known.kind != self.kind),
            ("amount", known.amount != self.amount),
            ("reason", known.reason.as_deref() != Some(&self.reason)),
        ];
        let differing: Vec<_> =
            fields.into_iter().filter_map(|(name, differs)| differs.then_some(name)).collect();
        if differing.is_empty() {
            return Ok(TransferResult::AlreadyPosted(known.clone()));
        }
        Err(Refusal::ReferenceUsed { differing })
    }
}
