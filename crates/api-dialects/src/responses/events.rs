//! Events of a response: framing and the fields of frequent types.

use bytes::{BufMut, BytesMut};
use serde::Serialize;
use serde_json::Value;

use super::super::write_json;

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
        out.put_slice(b"event: ");
        out.put_slice(kind.as_bytes());
        out.put_u8(b'\n');
        write_json(out, &Envelope { kind, sequence_number: self.next_sequence_number, fields });
        self.next_sequence_number += 1;
    }
}

/// The fields common to all events, around those of the type.
#[derive(Serialize)]
struct Envelope<'a, T> {
    #[serde(rename = "type")]
    kind: &'static str,
    sequence_number: u64,
    #[serde(flatten)]
    fields: &'a T,
}

/// A delta of text, refusal, reasoning or arguments.
#[derive(Serialize)]
pub(super) struct DeltaEvent<'a> {
    #[serde(flatten)]
    pub(super) place: OutputPosition<'a>,
    pub(super) delta: &'a str,
    /// Always an empty list, and only with text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) logprobs: Option<[(); 0]>,
}

/// Position of a delta in the output.
#[derive(Serialize)]
pub(super) struct OutputPosition<'a> {
    pub(super) item_id: &'a str,
    pub(super) output_index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content_index: Option<usize>,
}

#[derive(Serialize)]
pub(super) struct ResponseEvent {
    pub(super) response: Value,
}
