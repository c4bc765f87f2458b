//! The log of every change an operator makes.

use ledger::Time;

/// Who makes a change: written into the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// `cli:<user>`, `admin-api:<address>`, `service`.
    pub name: String,
    /// The request it came with.
    pub request: Option<String>,
}

/// One change. Each entry carries the digest of the one before, so that none can be taken out
/// unnoticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number, from 1 without gaps.
    pub id: i64,
    /// When.
    pub at: Time,
    /// Who.
    pub actor: Actor,
    /// What was done: `member.create`, `key.revoke`, `ledger.top_up` …
    pub action: String,
    /// To whom or what: `mem_3`, a key's public id.
    pub subject: String,
    /// What changed, as a JSON object; never a secret.
    pub detail: String,
    /// SHA-256 over the previous entry's digest and all fields of this one.
    pub digest: [u8; 32],
}
