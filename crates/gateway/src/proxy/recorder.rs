//! The stored rows of a response.

use std::time::Duration;

use api_dialects::responses::{Outcome, Shape, Status};
use bytes::{Bytes, BytesMut};
use gateway_store::StoredResponse;
use ledger::{HoldId, LineageId, MemberId};
use serde_json::{Value, json};
use wire::sse::write_event;

use crate::clock;
use crate::failure::ApiError;

/// Everything of a stored response except the response object.
pub(crate) struct ResponseRecorder {
    pub(crate) id: String,
    pub(crate) hold: HoldId,
    pub(crate) member: MemberId,
    pub(crate) lineage: LineageId,
    pub(crate) shape: Shape,
    pub(crate) input: Vec<u8>,
    pub(crate) previous: Option<String>,
    pub(crate) is_stored: bool,
    /// The response object, not the stream, is stored for the idempotency key.
    pub(crate) is_background: bool,
    pub(crate) kept: Duration,
}

impl ResponseRecorder {
    pub(crate) fn object(&self, status: Status) -> Value {
        self.shape.response(Outcome::of(status))
    }

    /// The row of a response object, if it is stored.
    pub(crate) fn stored(&self, object: &Value) -> Option<StoredResponse> {
        if !self.is_stored {
            return None;
        }
        let now = clock::now();
        let status = object.get("status").and_then(Value::as_str).unwrap_or_default();
        // An upstream may send any status.
        let known = ["queued", "in_progress", "incomplete", "failed", "cancelled"];
        let status = known.into_iter().find(|word| *word == status).unwrap_or("completed");
        let kept = clock::micros(self.kept);
        Some(StoredResponse {
            id: self.id.clone(),
            member: self.member,
            lineage: self.lineage,
            hold: self.hold,
            status: status.to_owned(),
            body: object.to_string().into(),
            input: self.input.clone(),
            previous: self.previous.clone(),
            background: self.is_background,
            created_at: now,
            expires_at: now.plus_micros(kept),
        })
    }

    /// The response object and the events of a request that no upstream began to answer.
    pub(crate) fn refused(&self, error: &ApiError) -> (Value, Bytes) {
        let mut outcome = Outcome::of(Status::Failed);
        let code = if error.code().status() < 500 { "invalid_prompt" } else { "server_error" };
        outcome.error = Some((code.to_owned(), error.message().to_owned()));
        let response = self.shape.response(outcome);
        // Clients expect every response to begin before it fails.
        let begun = self.object(Status::InProgress);
        let mut out = BytesMut::new();
        let events = [
            ("response.created", &begun),
            ("response.in_progress", &begun),
            ("response.failed", &response),
        ];
        for (sequence, (kind, object)) in events.into_iter().enumerate() {
            let event = json!({"type": kind, "sequence_number": sequence, "response": object});
            write_event(&mut out, kind, event.to_string().as_bytes());
        }
        (response, out.freeze())
    }
}
