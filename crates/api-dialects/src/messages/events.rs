//! Events of a message: framing and the fields of frequent types.

use bytes::{BufMut, BytesMut};
use serde::Serialize;
use serde_json::Value;

use super::super::write_json;

/// Writes one event: its name, and data with the same name as `type`.
pub(super) fn write(out: &mut BytesMut, kind: &'static str, fields: &impl Serialize) {
    out.put_slice(b"event: ");
    out.put_slice(kind.as_bytes());
    out.put_u8(b'\n');
    write_json(out, &Envelope { kind, fields });
}

#[derive(Serialize)]
struct Envelope<'a, T> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    fields: &'a T,
}

/// A delta of the block at `index`.
#[derive(Serialize)]
pub(super) struct BlockDelta<'a> {
    pub(super) index: usize,
    pub(super) delta: Delta<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type")]
pub(super) enum Delta<'a> {
    #[serde(rename = "text_delta")]
    Text { text: &'a str },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: &'a str },
    #[serde(rename = "signature_delta")]
    Signature { signature: &'a str },
    #[serde(rename = "input_json_delta")]
    Input { partial_json: &'a str },
    #[serde(rename = "citations_delta")]
    Citation { citation: &'a Value },
}
