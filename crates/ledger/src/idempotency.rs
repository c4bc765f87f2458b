//! Idempotency keys: a repeated request is charged once.

use crate::{HoldId, LineageId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    pub key: String,
    pub body_sha256: [u8; 32],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyRecord {
    /// The lineage of the API key that sent the request; keys of other lineages do not collide.
    pub lineage: LineageId,
    pub key: String,
    pub body_sha256: [u8; 32],
    pub hold: HoldId,
    /// Whether its answer is stored.
    pub answered: bool,
}

/// Why a request with a known idempotency key is not run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdempotencyConflict {
    Running,
    OtherBody,
    /// The first request was answered; the answer is stored under this id.
    Answered(HoldId),
}

impl IdempotencyRecord {
    pub(crate) fn conflict_with(&self, body_sha256: &[u8; 32]) -> IdempotencyConflict {
        if self.body_sha256 != *body_sha256 {
            IdempotencyConflict::OtherBody
        } else if self.answered {
            IdempotencyConflict::Answered(self.hold)
        } else {
            IdempotencyConflict::Running
        }
    }
}
