//! `reasoning_effort` as the thinking settings of the model's generation.

use serde_json::{Value, json};

use super::super::Untranslatable;
use super::super::fields::{Object, Result, present};

/// Minimum thinking budget of the API.
const MIN_BUDGET_TOKENS: u64 = 1024;

/// First generation whose models control thinking by effort instead of a budget.
const FIRST_ADAPTIVE: (u32, u32) = (4, 6);

/// Adds what the wished effort means to the body; a `thinking` the client wrote itself stays.
pub(super) fn translate(
    chat: &Object,
    model: &str,
    max_tokens: u64,
    body: &mut Object,
) -> Result<()> {
    let Some(effort) = present(chat, "reasoning_effort") else { return Ok(()) };
    let Some(effort) = effort.as_str().and_then(Effort::parse) else {
        let message = "this model does not support this effort";
        return Err(Untranslatable::new("reasoning_effort", message));
    };
    if body.contains_key("thinking") {
        return Ok(());
    }
    let thinking = if effort == Effort::None {
        Some(json!({ "type": "disabled" }))
    } else if generation(model).is_none_or(|generation| generation >= FIRST_ADAPTIVE) {
        set_output(body, "effort", effort.level().into());
        Some(json!({ "type": "adaptive", "display": "summarized" }))
    } else {
        budget(chat, effort, max_tokens)
            .map(|tokens| json!({ "type": "enabled", "budget_tokens": tokens }))
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effort {
    None,
    Low,
    Medium,
    High,
    ExtraHigh,
    Max,
}

impl Effort {
    fn parse(effort: &str) -> Option<Self> {
        Some(match effort {
            "none" => Self::None,
            "minimal" | "low" => Self::Low,
            "medium" => Self::Medium,
            "high" => Self::High,
            "xhigh" => Self::ExtraHigh,
            "max" => Self::Max,
            _ => return None,
        })
    }

    fn level(self) -> &'static str {
        match self {
            Self::None | Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::ExtraHigh => "xhigh",
            Self::Max => "max",
        }
    }
}

/// Thinking budget of an older model, or `None` if it cannot think in this request.
fn budget(chat: &Object, effort: Effort, max_tokens: u64) -> Option<u64> {
    // With a fixed budget, a turn after a tool call must begin with the signed thinking before it,
    // which chat completions cannot carry.
    let last = chat.get("messages").and_then(Value::as_array).and_then(|list| list.last());
    if last.and_then(|message| message.get("role")).and_then(Value::as_str) == Some("tool") {
        return None;
    }
    let share = match effort {
        Effort::None | Effort::Low => max_tokens / 4,
        Effort::Medium => max_tokens / 2,
        Effort::High | Effort::ExtraHigh | Effort::Max => max_tokens / 4 * 3,
    };
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
