//! Members.

use ledger::{MemberId, Time};

/// A member of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its number.
    pub id: MemberId,
    /// What the operator calls it; unique.
    pub name: String,
    /// Since when.
    pub created_at: Time,
    /// Whether the operator blocked it.
    pub blocked: bool,
}

/// What can be changed of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberChange {
    /// Another name.
    Rename(String),
    /// No more requests.
    Block,
    /// Requests again.
    Unblock,
}
