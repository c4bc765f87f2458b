//! Account statements of members.

use ledger::Posting;

/// One line of a member's statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementLine {
    /// Its number.
    pub id: i64,
    /// The posting.
    pub posting: Posting,
    /// What the charged request was for.
    pub operation: Option<String>,
    /// The model that answered it.
    pub model: Option<String>,
}
