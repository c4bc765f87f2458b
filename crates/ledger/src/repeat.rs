//! Idempotency keys: one charge for a request that is sent again.

use crate::{HoldId, LineageId};

/// The word a client gave its request, and the digest of the request's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// The client's word.
    pub word: String,
    /// The digest of what was asked.
    pub body_sha256: [u8; 32],
}

/// A request that carried an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeat {
    /// Whose word it is.
    pub lineage: LineageId,
    /// The client's word.
    pub word: String,
    /// The digest of what was asked.
    pub body_sha256: [u8; 32],
    /// The hold of the request.
    pub hold: HoldId,
    /// Whether its answer is kept.
    pub answered: bool,
}

/// What became of the first request of an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeated {
    /// It is still running.
    Running,
    /// It asked for something else.
    OtherBody,
    /// It was answered; the answer is kept under this id.
    Answered(HoldId),
}
