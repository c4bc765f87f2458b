//! API keys of members.

use std::fmt;

use ledger::{Budget, Limits, LineageId, MemberId, Micros, Time};
use serde_json::{Map, Value, json};

use crate::Role;
use crate::audit::AuditChange;
use crate::member::described_budget;

ledger::named_enum! {
    #[derive(PartialOrd, Ord)]
    pub enum Scope {
        Models = "models",
        Chat = "chat",
        Responses = "responses",
        Research = "research",
        Media = "media",
        Search = "search",
        Fetch = "fetch",
        Mcp = "mcp",
    }
}

pub(crate) fn scope_names(scopes: &[Scope]) -> Vec<&'static str> {
    scopes.iter().map(|scope| scope.as_str()).collect()
}

/// A stored key, without its secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    /// The public part of the key, unique.
    pub id: String,
    /// Keyed SHA-256 of the secret part.
    pub hash: [u8; 32],
    pub member: MemberId,
    /// The lineage, which a key shares with the keys it is rotated into.
    pub lineage: LineageId,
    pub name: String,
    pub scopes: Vec<Scope>,
    /// Ids or aliases of the allowed models; `None` allows all.
    pub models: Option<Vec<String>>,
    pub created_at: Time,
    pub expires_at: Option<Time>,
    pub revoked_at: Option<Time>,
}

/// A key with everything that decides about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    pub key: Key,
    pub limits: Limits,
    pub member_name: String,
    pub member_blocked: bool,
    pub role: Role,
    pub team: Option<MemberId>,
}

/// A search in the keys of all members, in the order of their ids. Without a name all keys match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeySearch {
    pub name: String,
    /// A member whose keys match, too.
    pub member: Option<MemberId>,
    /// Only ids above this one.
    pub after: String,
}

#[derive(Clone, PartialEq, Eq)]
pub struct NewKey {
    /// The public part.
    pub id: String,
    /// Keyed SHA-256 of the secret part.
    pub hash: [u8; 32],
    pub member: MemberId,
    pub name: String,
    pub scopes: Vec<Scope>,
    /// Ids or aliases of the allowed models; `None` allows all.
    pub models: Option<Vec<String>>,
    pub expires_at: Option<Time>,
    pub limits: Limits,
}

/// The replacement of a key by a new one of the same lineage.
#[derive(Clone)]
pub struct KeyRotation {
    pub old_id: String,
    pub new_id: String,
    pub new_hash: [u8; 32],
    /// Remaining validity of the old key.
    pub overlap_micros: i64,
}

/// A change of a key; `None` keeps a field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyChange {
    pub name: Option<String>,
    pub scopes: Option<Vec<Scope>>,
    pub models: Option<Option<Vec<String>>>,
    pub expires_at: Option<Option<Time>>,
    pub limits: LimitsChange,
}

/// A change of limits; `None` keeps a limit, also one that is changed concurrently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LimitsChange {
    pub spend: Option<Option<Micros>>,
    pub requests_per_minute: Option<Option<u32>>,
    pub concurrency: Option<Option<u32>>,
    pub budget: Option<Option<Budget>>,
}

impl NewKey {
    pub(crate) fn creation(&self) -> AuditChange {
        let detail = json!({
            "member": self.member.to_string(),
            "name": self.name,
            "scopes": scope_names(&self.scopes),
            "models": self.models,
            "expires_at": self.expires_at.map(Time::millis),
            "limits": LimitsChange::to(self.limits).described(),
        });
        AuditChange { action: "key.create", subject: self.id.clone(), detail }
    }
}

impl KeyRotation {
    /// The overlap, never negative.
    pub(crate) fn overlap_micros(&self) -> i64 {
        self.overlap_micros.max(0)
    }

    pub(crate) fn audited(&self) -> AuditChange {
        let detail = json!({ "from": self.old_id, "overlap_ms": self.overlap_micros() / 1000 });
        AuditChange { action: "key.rotate", subject: self.new_id.clone(), detail }
    }
}

impl KeyRecord {
    pub(crate) fn apply(&mut self, change: &KeyChange) -> AuditChange {
        let key = &mut self.key;
        let mut detail = Map::new();
        if let Some(name) = &change.name {
            key.name.clone_from(name);
            detail.insert("name".to_owned(), json!(name));
        }
        if let Some(scopes) = &change.scopes {
            key.scopes.clone_from(scopes);
            detail.insert("scopes".to_owned(), json!(scope_names(scopes)));
        }
        if let Some(models) = &change.models {
            key.models.clone_from(models);
            detail.insert("models".to_owned(), json!(models));
        }
        if let Some(expires_at) = change.expires_at {
            key.expires_at = expires_at;
            detail.insert("expires_at".to_owned(), json!(expires_at.map(Time::millis)));
        }
        if !change.limits.is_empty() {
            self.limits = change.limits.applied(self.limits);
            detail.insert("limits".to_owned(), change.limits.described());
        }
        AuditChange { action: "key.change", subject: key.id.clone(), detail: detail.into() }
    }
}

impl LimitsChange {
    pub fn to(limits: Limits) -> Self {
        Self {
            spend: Some(limits.spend),
            requests_per_minute: Some(limits.requests_per_minute),
            concurrency: Some(limits.concurrency),
            budget: Some(limits.budget),
        }
    }

    pub fn applied(self, before: Limits) -> Limits {
        Limits {
            spend: self.spend.unwrap_or(before.spend),
            requests_per_minute: self.requests_per_minute.unwrap_or(before.requests_per_minute),
            concurrency: self.concurrency.unwrap_or(before.concurrency),
            budget: self.budget.unwrap_or(before.budget),
        }
    }

    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    fn described(self) -> Value {
        let limits = [
            ("spend_limit_micros", self.spend.map(|spend| json!(spend))),
            ("requests_per_minute", self.requests_per_minute.map(|rate| json!(rate))),
            ("concurrency", self.concurrency.map(|concurrency| json!(concurrency))),
            ("budget", self.budget.map(described_budget)),
        ];
        let changed = limits.into_iter().filter_map(|(name, limit)| Some((name, limit?)));
        changed.map(|(name, limit)| (name.to_owned(), limit)).collect()
    }
}

/// Implements `Debug` without the hash.
macro_rules! debug_without_hash {
    ($($kind:ident($id:ident))*) => {
        $(impl fmt::Debug for $kind {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut output = formatter.debug_struct(stringify!($kind));
                output.field(stringify!($id), &self.$id).finish_non_exhaustive()
            }
        })*
    };
}

debug_without_hash!(Key(id) NewKey(id) KeyRotation(new_id));
