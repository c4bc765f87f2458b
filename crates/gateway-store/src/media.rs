//! Media that were made: runs, their artifacts, and the objects that hold the bytes of these.
//!
//! The bytes are elsewhere; here is what refers to them. An object is claimed
//! ([`Store::claim_object`](crate::Store::claim_object)) before its bytes are written, so that there
//! are never bytes that no row knows. A run is written with the end of its hold. When the last run
//! of an object is over, or nobody came to refer to it, the object is doomed: it is not claimed
//! again under that name, its bytes are removed, and then its row is.

use ledger::{HoldId, MemberId, Micros, Time};

/// How long an object that nobody refers to yet is kept: far longer than from its claim to the end
/// of the hold that pays for it.
pub(crate) const UNUSED_KEPT_MICROS: i64 = 3600 * 1_000_000;

/// One request for media that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaRun {
    /// Its name.
    pub id: String,
    /// Whose it is.
    pub member: MemberId,
    /// What paid for it.
    pub hold: HoldId,
    /// The full id of the model.
    pub model: String,
    /// What the model was used for.
    pub capability: String,
    /// What it cost.
    pub charge: Micros,
    /// When it was made.
    pub created_at: Time,
    /// Until when it is kept.
    pub expires_at: Time,
    /// What came of it, in order.
    pub artifacts: Vec<Artifact>,
}

/// A file that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Its name.
    pub id: String,
    /// The object that holds its bytes.
    pub object: String,
    /// What it is.
    pub media_type: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// Their digest.
    pub sha256: [u8; 32],
}

/// A number of bytes as both databases keep it.
pub(crate) fn stored_bytes(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
