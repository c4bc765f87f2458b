//! Stored answers: those of the responses API, and those for later requests with the same idempotency
//! key.

use ledger::{HoldId, LineageId, MemberId, Time};
use serde_json::json;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResponse {
    pub id: String,
    pub member: MemberId,
    pub lineage: LineageId,
    pub hold: HoldId,
    /// `queued`, `in_progress`, `completed`, `incomplete`, `failed`, `cancelled`.
    pub status: String,
    /// The response object, JSON.
    pub body: Vec<u8>,
    /// The input items, a JSON list.
    pub input: Vec<u8>,
    pub previous: Option<String>,
    pub background: bool,
    pub created_at: Time,
    pub expires_at: Time,
}

impl StoredResponse {
    /// The response as failed, because its process stopped.
    #[must_use]
    pub fn failed(&self) -> Self {
        let body = failed_body(&self.id, &self.body);
        Self { status: "failed".to_owned(), body, ..self.clone() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseEvent {
    /// The `sequence_number`.
    pub sequence: i64,
    /// The whole event, as sent to clients.
    pub event: Vec<u8>,
}

/// An HTTP answer, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedAnswer {
    pub status: u16,
    pub content_type: String,
    /// The body; all events of a stream.
    pub body: Vec<u8>,
}

/// The body of a response whose process stopped while it ran.
pub(crate) fn failed_body(id: &str, body: &[u8]) -> Vec<u8> {
    let known = serde_json::from_slice(body).ok().filter(serde_json::Value::is_object);
    let mut body = known.unwrap_or_else(|| json!({ "id": id, "object": "response" }));
    body["status"] = json!("failed");
    let message = "the service stopped while the response was running";
    body["error"] = json!({ "code": "server_error", "message": message });
    body.to_string().into_bytes()
}

#[cfg(test)]
mod tests;
