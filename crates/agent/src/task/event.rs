//! What happens in a task, for whoever watches.

use std::time::Duration;

use serde_json::{Value, json};

use super::TaskUsage;
use super::context_window::Trimmed;
use super::conversation::Call;
use super::end::TaskEnd;
use super::toolbox::CallOutcome;
use crate::member::error::MemberError;

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Event<'a> {
    /// The model is asked.
    Asking { model: &'a str },
    /// The model said something more.
    Text { text: &'a str },
    /// The answer ended because it was too long.
    CutShort,
    /// A tool is about to run.
    Calling { call: &'a Call, server: Option<&'a str> },
    /// A running tool says how far it is.
    Progress { call: &'a str, text: &'a str },
    /// A tool is done.
    Called { call: &'a Call, outcome: &'a CallOutcome },
    /// The conversation was cut to fit.
    Trimmed { cut: &'a Trimmed },
    /// The service could not answer; it is asked again after a while.
    Waiting { trouble: &'a MemberError, wait: Duration },
    /// The task ended while these were running.
    Unfinished { calls: &'a [Call] },
    /// The task is over.
    Finished { end: &'a TaskEnd, answer: &'a str, spent: &'a TaskUsage },
}

/// Is told what happens. Must return at once.
pub(crate) trait Listener: Send {
    /// It happened.
    fn event(&mut self, event: Event<'_>);
}

impl Event<'_> {
    /// The event for programs.
    pub(crate) fn json(&self) -> Value {
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
                "outcome": outcome.how.word(), "text": outcome.text,
                "milliseconds": millis(outcome.took), "charge_micros": outcome.charge_micros,
            }),
            Self::Trimmed { cut } => json!({
                "type": "trimmed", "results": cut.results, "messages": cut.messages,
                "characters": cut.characters,
            }),
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

/// Arguments as they were meant, or as they stand.
fn arguments(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
