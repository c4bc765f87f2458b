//! The audit log: every change that an operator makes, as a chain of digests.

use ledger::{Posting, PostingKind, Time};
use ring::digest::{Context, SHA256};
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// `cli:<user>`, `admin-api:<address>`, `service`.
    pub name: String,
    /// The id of the request that made the change.
    pub request: Option<String>,
}

/// One change. Its digest covers the digest of the entry before, so that a deleted entry is detected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Number of the entry, from 1 without gaps.
    pub id: i64,
    pub at: Time,
    pub actor: Actor,
    /// The action: `member.create`, `key.revoke`, `ledger.top_up` …
    pub action: String,
    /// The changed object: `mem_3`, the public id of a key.
    pub subject: String,
    /// Details as a JSON object without secrets.
    pub detail: String,
    /// SHA-256 of the previous entry's digest and all fields of this entry.
    pub digest: [u8; 32],
}

impl AuditEntry {
    pub fn digest_text(&self) -> String {
        self.digest.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    }

    /// The digest of this entry after the previous one; the first entry follows zeros.
    pub(crate) fn digest_after(&self, previous: &[u8; 32]) -> [u8; 32] {
        let mut context = Context::new(&SHA256);
        context.update(previous);
        context.update(&self.id.to_be_bytes());
        context.update(&self.at.micros().to_be_bytes());
        let request = self.actor.request.as_deref();
        let texts = [Some(self.actor.name.as_str()), request, Some(&self.action)];
        for text in texts.into_iter().chain([Some(self.subject.as_str()), Some(&self.detail)]) {
            // The length first, so that texts cannot run together; a missing text is not empty.
            let length = text.map_or(u64::MAX, |text| text.len() as u64);
            context.update(&length.to_be_bytes());
            context.update(text.unwrap_or_default().as_bytes());
        }
        let mut digest = [0; 32];
        digest.copy_from_slice(context.finish().as_ref());
        digest
    }
}

/// The end of the audit log, which the next entry continues.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AuditTail {
    pub(crate) id: i64,
    pub(crate) digest: [u8; 32],
}

impl AuditTail {
    pub(crate) fn append(&mut self, change: AuditChange, at: Time, by: &Actor) -> AuditEntry {
        let mut entry = AuditEntry {
            id: self.id + 1,
            at,
            actor: by.clone(),
            action: change.action.to_owned(),
            subject: change.subject,
            detail: change.detail.to_string(),
            digest: [0; 32],
        };
        entry.digest = entry.digest_after(&self.digest);
        *self = Self { id: entry.id, digest: entry.digest };
        entry
    }
}

#[derive(Debug, Clone)]
pub(crate) struct AuditChange {
    pub(crate) action: &'static str,
    pub(crate) subject: String,
    pub(crate) detail: Value,
}

impl AuditChange {
    /// A top-up or an adjustment.
    pub(crate) fn posted(posting: &Posting) -> Self {
        let action = match posting.kind {
            PostingKind::TopUp => "ledger.top_up",
            PostingKind::Adjustment => "ledger.adjustment",
            PostingKind::Charge => "ledger.charge",
        };
        let mut detail = json!({
            "amount_micros": posting.amount.get(),
            "balance_micros": posting.balance.get(),
            "reason": posting.reason,
        });
        if let Some(reference) = &posting.reference {
            detail["reference"] = json!(reference);
        }
        Self { action, subject: posting.member.to_string(), detail }
    }
}

#[cfg(test)]
mod tests;
