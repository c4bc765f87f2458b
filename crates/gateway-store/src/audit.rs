//! The log of every change an operator makes.

use ledger::{Posting, Time};
use ring::digest::{Context, SHA256};
use serde_json::{Value, json};

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

impl AuditEntry {
    /// The digest, in hexadecimal digits.
    pub fn digest_text(&self) -> String {
        self.digest.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    }

    /// What its digest has to be after the entry before it; the first one comes after zeros.
    pub(crate) fn digest_after(&self, previous: &[u8; 32]) -> [u8; 32] {
        let mut context = Context::new(&SHA256);
        context.update(previous);
        context.update(&self.id.to_be_bytes());
        context.update(&self.at.micros().to_be_bytes());
        let request = self.actor.request.as_deref();
        let texts = [Some(self.actor.name.as_str()), request, Some(&self.action)];
        for text in texts.into_iter().chain([Some(self.subject.as_str()), Some(&self.detail)]) {
            // Lengths first: no text can pretend to be two. No text is not the empty text.
            let length = text.map_or(u64::MAX, |text| text.len() as u64);
            context.update(&length.to_be_bytes());
            context.update(text.unwrap_or_default().as_bytes());
        }
        let mut digest = [0; 32];
        digest.copy_from_slice(context.finish().as_ref());
        digest
    }
}

/// What an entry says about money that a person moved.
pub(crate) fn posted(posting: &Posting) -> Value {
    let mut detail = json!({
        "amount_micros": posting.amount.get(),
        "balance_micros": posting.balance.get(),
        "reason": posting.reason,
    });
    if let Some(reference) = &posting.reference {
        detail["reference"] = json!(reference);
    }
    detail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_depends_on_every_field_and_on_the_one_before() {
        let actor = Actor { name: "cli:a".to_owned(), request: Some(String::new()) };
        let first = AuditEntry {
            id: 1,
            at: Time::from_micros(5),
            actor,
            action: "member.create".to_owned(),
            subject: "mem_1".to_owned(),
            detail: "{}".to_owned(),
            digest: [0; 32],
        };
        let mut others = vec![first.clone(); 8];
        others[1].id = 2;
        others[2].at = Time::from_micros(6);
        others[3].actor.name = "cli:b".to_owned();
        others[4].actor.request = None;
        others[5].action = "member.createm".to_owned();
        others[5].subject = "em_1".to_owned();
        others[6].subject = "mem_2".to_owned();
        others[7].detail = "{ }".to_owned();
        let mut digests: Vec<_> = others.iter().map(|entry| entry.digest_after(&[0; 32])).collect();
        digests.push(first.digest_after(&[1; 32]));
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), 9);
    }
}
