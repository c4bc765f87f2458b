//! Events of a task.

use std::time::Duration;

use serde_json::{Value, json};

use crate::attachment::{Attachment, MediaKind};
use crate::context_window::Trimmed;
use crate::conversation::Call;
use crate::end::TaskEnd;
use crate::member::MemberError;
use crate::toolbox::CallOutcome;
use crate::usage::TaskUsage;

/// An event. After [`Event::Rejected`] and [`Event::Waiting`] the request is retried.
#[derive(Debug)]
pub enum Event<'a> {
    Asking { model: &'a str },
    Text { text: &'a str },
    CutShort,
    Calling { call: &'a Call, server: Option<&'a str> },
    Progress { call: &'a str, text: &'a str },
    Called { call: &'a Call, outcome: &'a CallOutcome },
    Trimmed { cut: &'a Trimmed },
    Summarised { messages: usize, summary: &'a str },
    Rejected { kind: MediaKind, count: usize },
    Waiting { trouble: &'a MemberError, wait: Duration },
    Unfinished { calls: &'a [Call] },
    Finished { end: &'a TaskEnd, answer: &'a str, spent: &'a TaskUsage },
}

/// Receives the events of a task. Must not block.
pub trait Listener: Send {
    fn event(&mut self, event: Event<'_>);
}

impl Event<'_> {
    pub fn json(&self) -> Value {
        match self {
            Self::Asking { model } => json!({"type": "asking", "model": model}),
            Self::Text { text } => json!({"type": "text", "text": text}),
            Self::CutShort => json!({"type": "cut_short"}),
            Self::Calling { call, server } => json!({
                "type": "tool_call", "id": call.id, "name": call.name, "server": server,
                "arguments": arguments(&call.arguments),
            }),
            Self::Progress { call, text } => {
                json!({"type": "tool_progress", "id": call, "text": text})
            }
            Self::Called { call, outcome } => json!({
                "type": "tool_result", "id": call.id, "name": call.name,
                "outcome": outcome.how.text(), "text": outcome.text,
                "attachments": outcome.attachments.iter().map(described).collect::<Vec<_>>(),
                "milliseconds": millis(outcome.took), "charge_micros": outcome.charge_micros,
            }),
            Self::Trimmed { cut } => json!({
                "type": "trimmed", "results": cut.results, "messages": cut.messages,
                "attachments": cut.attachments, "characters": cut.characters,
            }),
            Self::Summarised { messages, summary } => {
                json!({"type": "summarised", "messages": messages, "summary": summary})
            }
            Self::Rejected { kind, count } => {
                json!({"type": "attachments_rejected", "kind": kind, "count": count})
            }
            Self::Waiting { trouble, wait } => json!({
                "type": "waiting", "because": trouble.line(), "milliseconds": millis(*wait),
            }),
            Self::Unfinished { calls } => {
                let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
                json!({"type": "unfinished", "tools": names})
            }
            Self::Finished { end, answer, spent } => {
                let ending = end.ending();
                json!({
                    "type": "finished",
                    "end_reason": ending.end_reason.text(),
                    "outcome": ending.outcome.text(),
                    "message": end.to_string(),
                    "answer": answer,
                    "spent": spent,
                })
            }
        }
    }
}

fn described(attachment: &Attachment) -> Value {
    json!({"kind": attachment.kind, "mime": attachment.mime, "bytes": attachment.bytes()})
}

/// Parsed arguments, or the text if it is invalid.
fn arguments(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
