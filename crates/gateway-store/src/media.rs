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
    pub member: MemberId,
    pub hold: HoldId,
    /// The full id of the model.
    pub model: String,
    pub capability: String,
    pub charge: Micros,
    pub created_at: Time,
    pub expires_at: Time,
    pub artifacts: Vec<Artifact>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    pub id: String,
    /// The object that holds the bytes.
    pub object: String,
    pub media_type: String,
    pub bytes: u64,
    pub sha256: [u8; 32],
}
