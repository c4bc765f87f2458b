//! A whole chat completion as a response object.

use serde_json::Value;

use super::super::{Malformed, Usage};
use super::output::{Item, Kind, Part, PartKind};
use super::shape::{Outcome, Shape};

/// The response object that says what the completion says.
///
/// `ids` makes an id for a prefix such as `msg`.
pub fn answer(
    completion: &Value,
    shape: &Shape,
    mut ids: impl FnMut(&str) -> String,
) -> Result<Value, Malformed> {
    let choice = completion.pointer("/choices/0").ok_or(Malformed::Missing("choice"))?;
    let message = choice.get("message").ok_or(Malformed::Missing("message"))?;
    let mut items = spoken(message, &mut ids);
    if let Some(calls) = message.get("tool_calls").and_then(Value::as_array) {
        for call in calls {
            items.push(function_call(call, &mut ids)?);
        }
    }
    if items.is_empty() {
        items.push(speech(PartKind::Text, "", &mut ids));
    }
    let reason = choice.get("finish_reason").and_then(Value::as_str).unwrap_or_default();
    let usage = completion.get("usage").filter(|usage| usage.is_object()).map(Usage::of_chat);
    let mut outcome = Outcome::ended(Vec::new(), usage, reason);
    let last = items.len() - 1;
    let status = |n| if n == last { outcome.status.name() } else { "completed" };
    outcome.output = items.iter().enumerate().map(|(n, item)| item.json(status(n))).collect();
    Ok(shape.response(outcome))
}

/// What the message thought and said, as items.
fn spoken(message: &Value, ids: &mut impl FnMut(&str) -> String) -> Vec<Item> {
    let text =
        |name: &str| message.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let mut items = Vec::new();
    if let Some(thought) = text("reasoning_content").or_else(|| text("reasoning")) {
        items.push(speech(PartKind::Reasoning, thought, ids));
    }
    let said = [(PartKind::Text, text("content")), (PartKind::Refusal, text("refusal"))];
    for (kind, text) in said {
        let Some(text) = text else { continue };
        match items.last_mut() {
            Some(Item { kind: Kind::Parts { is_reasoning: false, parts }, .. }) => {
                parts.push(Part { kind, text: text.to_owned() });
            }
            _ => items.push(speech(kind, text, ids)),
        }
    }
    items
}

fn speech(kind: PartKind, text: &str, ids: &mut impl FnMut(&str) -> String) -> Item {
    let parts = vec![Part { kind, text: text.to_owned() }];
    Item {
        id: ids(kind.id_prefix()),
        kind: Kind::Parts { is_reasoning: kind.is_reasoning(), parts },
    }
}

fn function_call(call: &Value, ids: &mut impl FnMut(&str) -> String) -> Result<Item, Malformed> {
    let text = |path: &str, what: &'static str| {
        let text = call.pointer(path).and_then(Value::as_str).map(str::to_owned);
        text.ok_or(Malformed::Missing(what))
    };
    Ok(Item {
        id: ids("fc"),
        kind: Kind::Call {
            call_id: text("/id", "id of a call").unwrap_or_else(|_| ids("call")),
            name: text("/function/name", "name of a call")?,
            arguments: text("/function/arguments", "arguments of a call")?,
        },
    })
}
