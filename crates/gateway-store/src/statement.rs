//! Account statements of members.

use ledger::Posting;

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
}
