//! Account statements of members, and the relations of receipts.

use ledger::{HoldId, MemberId, Posting, Receipt};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RelatedReceipts {
    /// The request that this one belongs to.
    pub parent: Option<HoldId>,
    /// Receipts of the requests that belong to this one, in order.
    pub children: Vec<Receipt>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementLine {
    pub id: i64,
    pub posting: Posting,
    pub operation: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// The member whose request was charged.
    pub asked_by: Option<MemberId>,
}
