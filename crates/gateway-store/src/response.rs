//! Answers of the responses interface that members can ask for again.

use ledger::{HoldId, LineageId, MemberId, Time};

/// A stored response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResponse {
    /// Its id, `resp_…`.
    pub id: String,
    /// Whose.
    pub member: MemberId,
    /// By which key.
    pub lineage: LineageId,
    /// The hold that pays for it.
    pub hold: HoldId,
    /// `queued`, `in_progress`, `completed`, `incomplete`, `failed`, `cancelled`.
    pub status: String,
    /// The response object, JSON.
    pub body: Vec<u8>,
    /// The input items, a JSON list.
    pub input: Vec<u8>,
    /// The response it goes on from.
    pub previous: Option<String>,
    /// Whether it runs without its client.
    pub background: bool,
    /// Since when.
    pub created_at: Time,
    /// Until when it is kept.
    pub expires_at: Time,
}

/// One event of a response that runs in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseEvent {
    /// Its `sequence_number`.
    pub sequence: i64,
    /// The whole event as it is sent.
    pub event: Vec<u8>,
}
