//! Generated media: runs, their artifacts, and the objects that hold the bytes of artifacts.
//!
//! The bytes are stored elsewhere. An object is claimed
//! ([`Store::claim_object`](crate::Store::claim_object)) before its bytes are written, so that all
//! bytes have a row. A run is written with the end of its hold. An object without a run becomes
//! deletable: it cannot be claimed again, its bytes are deleted, and then its row.

use ledger::{HoldId, MemberId, Micros, Time};

/// How long an object without a run is kept: far longer than from its claim to the end of the hold.
pub(crate) const UNUSED_RETENTION_MICROS: i64 = 3600 * 1_000_000;

/// One answered request for media.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaRun {
    pub id: String,
    /// The owner.
    pub member: MemberId,
    /// The hold that paid for it.
    pub hold: HoldId,
    /// The full id of the model.
    pub model: String,
    /// The capability of the model that was used.
    pub capability: String,
    /// The charged amount.
    pub charge: Micros,
    /// When the run was made.
    pub created_at: Time,
    /// When the run is deleted.
    pub expires_at: Time,
    /// The generated files, in order.
    pub artifacts: Vec<Artifact>,
}

/// A generated file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    pub id: String,
    /// The object that holds the bytes.
    pub object: String,
    pub media_type: String,
    /// Number of bytes.
    pub bytes: u64,
    /// Digest of the bytes.
    pub sha256: [u8; 32],
}

/// A number of bytes as both databases store it.
pub(crate) fn stored_bytes(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
