//! Account statements of members, and the relations of receipts.

use ledger::{HoldId, MemberId, Posting, Receipt};

/// The relations of a receipt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RelatedReceipts {
    /// The request that this one belongs to.
    pub parent: Option<HoldId>,
    /// Receipts of the requests that belong to this one, in order.
    pub children: Vec<Receipt>,
}

/// One line of a member's statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementLine {
    /// Id of the posting.
    pub id: i64,
    pub posting: Posting,
    /// The charged operation.
    pub operation: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// The member whose request was charged.
    pub asked_by: Option<MemberId>,
}
