//! Output items and their parts as JSON.

use serde_json::{Value, json};

/// One item of a response's output.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) id: String,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// A message or what was thought before one.
    Parts {
        is_reasoning: bool,
        parts: Vec<Part>,
    },
    Call {
        call_id: String,
        name: String,
        arguments: String,
    },
}

/// One part of an item's content.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) kind: PartKind,
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    Text,
    Refusal,
    Reasoning,
}

impl Item {
    /// The item with the given status.
    pub(super) fn json(&self, status: &str) -> Value {
        match &self.kind {
            Kind::Parts { is_reasoning: true, parts } => json!({
                "id": self.id,
                "type": "reasoning",
                "status": status,
                "summary": [],
                "content": contents(parts),
            }),
            Kind::Parts { is_reasoning: false, parts } => json!({
                "id": self.id,
                "type": "message",
                "status": status,
                "role": "assistant",
                "content": contents(parts),
            }),
            Kind::Call { call_id, name, arguments } => json!({
                "id": self.id,
                "type": "function_call",
                "status": status,
                "call_id": call_id,
                "name": name,
                "arguments": arguments,
            }),
        }
    }
}

fn contents(parts: &[Part]) -> Vec<Value> {
    parts.iter().map(|part| part.kind.json(&part.text)).collect()
}

impl PartKind {
    /// Whether the part belongs into a reasoning item.
    pub(super) fn is_reasoning(self) -> bool {
        self == Self::Reasoning
    }

    /// The prefix of the id of an item that begins with such a part.
    pub(super) fn id_prefix(self) -> &'static str {
        if self.is_reasoning() { "rs" } else { "msg" }
    }

    /// The part with this text.
    pub(super) fn json(self, text: &str) -> Value {
        match self {
            Self::Text => {
                json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
            }
            Self::Refusal => json!({ "type": "refusal", "refusal": text }),
            Self::Reasoning => json!({ "type": "reasoning_text", "text": text }),
        }
    }
}
