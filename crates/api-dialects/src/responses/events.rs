//! Events of a response: their numbers, and the fields of frequent types.

use bytes::BytesMut;
use serde::Serialize;
use serde_json::Value;

use super::super::write_event;

/// Writes events and numbers them.
#[derive(Debug, Default)]
pub(super) struct EventWriter {
    next_sequence_number: u64,
}

impl EventWriter {
    /// Writes one event: its name, and data with the same name as `type`.
    pub(super) fn write(
        &mut self,
        out: &mut BytesMut,
        kind: &'static str,
        fields: &impl Serialize,
    ) {
        write_event(out, kind, Some(self.next_sequence_number), fields);
        self.next_sequence_number += 1;
    }
}

/// A delta of text, refusal, reasoning or arguments.
#[derive(Default, Serialize)]
pub(super) struct DeltaEvent<'a> {
    pub(super) item_id: &'a str,
    pub(super) output_index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content_index: Option<usize>,
    pub(super) delta: &'a str,
    /// Always an empty list, and only with text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) logprobs: Option<[(); 0]>,
}

#[derive(Serialize)]
pub(super) struct ResponseEvent {
    pub(super) response: Value,
}
