//! Idempotency keys: a request that is sent again is charged once.

use crate::{HoldId, LineageId};

/// The `Idempotency-Key` of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// The text that the client chose.
    pub key: String,
    /// Digest of the request body.
    pub body_sha256: [u8; 32],
}

/// What is stored about a request with an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyRecord {
    /// The lineage of the API key that sent the request; keys of other lineages do not collide.
    pub lineage: LineageId,
    /// The text that the client chose.
    pub key: String,
    /// Digest of the request body.
    pub body_sha256: [u8; 32],
    /// The hold of the request.
    pub hold: HoldId,
    /// Whether its answer is stored.
    pub answered: bool,
}

/// Why a request with a known idempotency key is not run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdempotencyConflict {
    /// The first request is still running.
    Running,
    /// The first request had another body.
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
