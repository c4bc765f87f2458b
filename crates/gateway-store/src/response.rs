//! Answers of the responses interface that members can ask for again.

use ledger::{HoldId, LineageId, MemberId, Time};
use serde_json::json;

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

impl StoredResponse {
    /// The same, come to nothing because whoever worked on it stopped.
    #[must_use]
    pub fn failed(&self) -> Self {
        let body = failed_body(&self.id, &self.body);
        Self { status: "failed".to_owned(), body, ..self.clone() }
    }
}

/// One event of a response that runs in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseEvent {
    /// Its `sequence_number`.
    pub sequence: i64,
    /// The whole event as it is sent.
    pub event: Vec<u8>,
}

/// The body of a response whose process stopped while it ran.
pub(crate) fn failed_body(id: &str, body: &[u8]) -> Vec<u8> {
    let known = serde_json::from_slice(body).ok().filter(serde_json::Value::is_object);
    let mut body = known.unwrap_or_else(|| json!({ "id": id, "object": "response" }));
    body["status"] = json!("failed");
    body["error"] =
        json!({ "code": "server_error", "message": "the service stopped while this ran" });
    body.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_body_keeps_what_it_had() {
        let body = failed_body("resp_1", br#"{"id":"resp_1","status":"queued","model":"m"}"#);
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((&body["model"], &body["status"]), (&json!("m"), &json!("failed")));
        assert_eq!(body["error"]["code"], "server_error");
    }

    #[test]
    fn a_body_that_is_none_becomes_one() {
        for body in [&b""[..], b"[]", b"{"] {
            let body: serde_json::Value =
                serde_json::from_slice(&failed_body("resp_1", body)).unwrap();
            assert_eq!((&body["id"], &body["status"]), (&json!("resp_1"), &json!("failed")));
        }
    }
}
