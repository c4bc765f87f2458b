//! `reasoning_effort` as the thinking settings of the model's generation.

use serde_json::{Value, json};

use super::super::Untranslatable;
use super::super::fields::{Object, Result, present};

/// Minimum thinking budget of the API.
const MIN_BUDGET_TOKENS: u64 = 1024;

/// First generation whose models control thinking by effort instead of a budget.
const FIRST_ADAPTIVE: (u32, u32) = (4, 6);

/// Efforts with their level in this API, and the share of the token limit that an older model may
/// think: divisor and factor.
const EFFORTS: [(&str, &str, u64, u64); 6] = [
    ("minimal", "low", 4, 1),
    ("low", "low", 4, 1),
    ("medium", "medium", 2, 1),
    ("high", "high", 4, 3),
    ("xhigh", "xhigh", 4, 3),
    ("max", "max", 4, 3),
];

/// Adds what the wished effort means to the body; a `thinking` the client wrote itself stays.
pub(super) fn translate(
    chat: &Object,
    model: &str,
    max_tokens: u64,
    body: &mut Object,
) -> Result<()> {
    let Some(wish) = present(chat, "reasoning_effort") else { return Ok(()) };
    let effort = EFFORTS.iter().find(|(name, ..)| wish == name);
    if effort.is_none() && wish != "none" {
        let message = "this model does not support this effort";
        return Err(Untranslatable::new("reasoning_effort", message));
    }
    if body.contains_key("thinking") {
        return Ok(());
    }
    let is_adaptive = generation(model).is_none_or(|generation| generation >= FIRST_ADAPTIVE);
    let thinking = match effort {
        None => Some(json!({ "type": "disabled" })),
        Some((_, level, ..)) if is_adaptive => {
            set_output(body, "effort", (*level).into());
            Some(json!({ "type": "adaptive", "display": "summarized" }))
        }
        Some((.., divisor, factor)) => budget(chat, max_tokens / divisor * factor, max_tokens)
            .map(|tokens| json!({ "type": "enabled", "budget_tokens": tokens })),
    };
    if let Some(thinking) = thinking {
        body.insert("thinking".into(), thinking);
    }
    Ok(())
}

/// Sets one field of the body's `output_config`; the client's other fields are kept.
pub(super) fn set_output(body: &mut Object, name: &str, value: Value) {
    let mut config = match body.remove("output_config") {
        Some(Value::Object(config)) => config,
        _ => Object::new(),
    };
    config.insert(name.into(), value);
    body.insert("output_config".into(), config.into());
}

/// Thinking budget of an older model, or `None` if it cannot think in this request.
fn budget(chat: &Object, share: u64, max_tokens: u64) -> Option<u64> {
    // With a fixed budget, a turn after a tool call must begin with the signed thinking before it,
    // which chat completions cannot carry.
    let last = chat.get("messages").and_then(Value::as_array).and_then(|list| list.last());
    if last.and_then(|message| message.get("role")).and_then(Value::as_str) == Some("tool") {
        return None;
    }
    let tokens = share.max(MIN_BUDGET_TOKENS);
    (tokens < max_tokens).then_some(tokens)
}

/// The version in a model's name: `claude-sonnet-4-5-20250929` and `claude-3-7-sonnet` alike.
fn generation(model: &str) -> Option<(u32, u32)> {
    let mut numbers = model
        .split(['-', '.', '@', ':', '_'])
        .skip_while(|part| part.parse::<u32>().is_err())
        .map_while(|part| part.parse::<u32>().ok().filter(|number| *number < 100));
    let major = numbers.next()?;
    Some((major, numbers.next().unwrap_or(0)))
}

#[cfg(test)]
mod tests;
