//! Keys of members.

use std::fmt;

use ledger::{Limits, LineageId, MemberId, Micros, Time};
use serde_json::{Map, Value, json};

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
    pub const fn as_str(self) -> &'static str {
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

    /// Reads what [`Self::as_str`] gives.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == word)
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
    pub limits: LimitsChange,
}

/// What can be changed of a key's limits; `None` leaves a limit as it is, also where somebody else
/// changes it at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LimitsChange {
    /// Another spend limit, or none.
    pub spend: Option<Option<Micros>>,
    /// Another rate, or none.
    pub requests_per_minute: Option<Option<u32>>,
    /// Another number of requests at once, or none.
    pub concurrency: Option<Option<u32>>,
}

impl LimitsChange {
    /// All limits, to these.
    pub fn to(limits: Limits) -> Self {
        Self {
            spend: Some(limits.spend),
            requests_per_minute: Some(limits.requests_per_minute),
            concurrency: Some(limits.concurrency),
        }
    }

    /// These limits, changed.
    pub fn applied(self, before: Limits) -> Limits {
        Limits {
            spend: self.spend.unwrap_or(before.spend),
            requests_per_minute: self.requests_per_minute.unwrap_or(before.requests_per_minute),
            concurrency: self.concurrency.unwrap_or(before.concurrency),
        }
    }

    /// Whether there is nothing to change.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// What is changed, for the audit log.
    pub(crate) fn described(self) -> Value {
        let mut words = Map::new();
        if let Some(spend) = self.spend {
            words.insert("spend_limit_micros".to_owned(), json!(spend.map(Micros::get)));
        }
        if let Some(rate) = self.requests_per_minute {
            words.insert("requests_per_minute".to_owned(), json!(rate));
        }
        if let Some(concurrency) = self.concurrency {
            words.insert("concurrency".to_owned(), json!(concurrency));
        }
        words.into()
    }
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
