//! Chunks of chat completion streams, as an upstream sends them.

use bytes::BytesMut;
use serde_json::{Value, json};

pub(crate) fn delta(delta: &Value) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "b",
        "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

pub(crate) fn finish(reason: &str) -> Value {
    json!({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

pub(crate) fn call(index: u64, id: Option<&str>, name: Option<&str>, arguments: &str) -> Value {
    delta(
        &json!({"tool_calls": [{"index": index, "id": id, "function": {"name": name, "arguments": arguments}}]}),
    )
}

pub(crate) fn upstream(chunks: &[Value]) -> Vec<u8> {
    let mut out = BytesMut::new();
    for chunk in chunks {
        wire::sse::write_data(&mut out, chunk.to_string().as_bytes());
    }
    wire::sse::write_data(&mut out, b"[DONE]");
    out.to_vec()
}
