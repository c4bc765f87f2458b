//! Keys of members.

use std::fmt;

use ledger::{Limits, LineageId, MemberId, Time};

/// What a key may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Listing models.
    Models,
    /// Chat completions.
    Chat,
    /// Responses.
    Responses,
    /// Research jobs.
    Research,
    /// Media generation.
    Media,
    /// Web search.
    Search,
    /// Reading pages.
    Fetch,
    /// The MCP endpoint.
    Mcp,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Models,
        Self::Chat,
        Self::Responses,
        Self::Research,
        Self::Media,
        Self::Search,
        Self::Fetch,
        Self::Mcp,
    ];

    /// As it is stored and shown.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Models => "models",
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Research => "research",
            Self::Media => "media",
            Self::Search => "search",
            Self::Fetch => "fetch",
            Self::Mcp => "mcp",
        }
    }

    /// Reads what [`Self::word`] gives.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.word() == word)
    }
}

/// A key as it is kept: never its secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    /// The public part of the key, unique.
    pub id: String,
    /// Keyed SHA-256 of the secret part.
    pub hash: [u8; 32],
    /// Whose.
    pub member: MemberId,
    /// The key and those it was rotated into share one spend and one set of limits.
    pub lineage: LineageId,
    /// What the operator calls it.
    pub name: String,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// Full ids or aliases of models it may use; `None` is all.
    pub models: Option<Vec<String>>,
    /// Since when.
    pub created_at: Time,
    /// Until when.
    pub expires_at: Option<Time>,
    /// Since when it is worth nothing.
    pub revoked_at: Option<Time>,
}

/// A key with what is needed to decide about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// The key.
    pub key: Key,
    /// The limits of its lineage.
    pub limits: Limits,
    /// The member's name.
    pub member_name: String,
    /// Whether the member is blocked.
    pub member_blocked: bool,
}

/// A key to be made.
#[derive(Clone, PartialEq, Eq)]
pub struct NewKey {
    /// The public part.
    pub id: String,
    /// Keyed SHA-256 of the secret part.
    pub hash: [u8; 32],
    /// Whose.
    pub member: MemberId,
    /// What the operator calls it.
    pub name: String,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// Models it may use; `None` is all.
    pub models: Option<Vec<String>>,
    /// Until when.
    pub expires_at: Option<Time>,
    /// The limits of the new lineage.
    pub limits: Limits,
}

/// What can be changed of a key; `None` leaves a thing as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyChange {
    /// Another name.
    pub name: Option<String>,
    /// Other scopes.
    pub scopes: Option<Vec<Scope>>,
    /// Other models.
    pub models: Option<Option<Vec<String>>>,
    /// Another end.
    pub expires_at: Option<Option<Time>>,
    /// Other limits, for the whole lineage.
    pub limits: Option<Limits>,
}

/// Hashes are not shown.
impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Key").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Hashes are not shown.
impl fmt::Debug for NewKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NewKey").field("id", &self.id).finish_non_exhaustive()
    }
}
