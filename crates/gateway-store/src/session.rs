//! Sessions of the web pages.

use ledger::{MemberId, Time};

pub const MAX_SESSIONS: u32 = 32;

/// A person who signed in. A session ends at the earlier of both times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSession {
    /// Digest of the token in the cookie.
    pub hash: [u8; 32],
    /// `None` for an operator.
    pub member: Option<MemberId>,
    /// The public id of the key that was used.
    pub key: Option<String>,
    /// The browser's `User-Agent`.
    pub client: String,
    pub address: String,
    pub created_at: Time,
    pub seen_at: Time,
    /// Idle expiry.
    pub idle_until: Time,
    /// Absolute expiry.
    pub ends_at: Time,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    pub hash: [u8; 32],
    pub member: Option<MemberId>,
    pub key: Option<String>,
    pub client: String,
    pub address: String,
    pub idle_micros: i64,
    pub max_micros: i64,
}
