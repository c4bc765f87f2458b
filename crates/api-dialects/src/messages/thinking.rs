//! Thinking settings as `reasoning_effort`.

use serde_json::Value;

use super::super::Untranslatable;
use super::super::fields::{Object, object_at, present, text_at};

/// Budgets below this are low effort, those below the next one medium.
const MEDIUM_BUDGET_TOKENS: u64 = 4096;
const HIGH_BUDGET_TOKENS: u64 = 16_384;

/// The effort that the request asks for, if any.
///
/// `output_config.effort` is said in the same words; a budget is mapped by its size. Without either
/// the field is left out: the model decides, and models that do not think refuse the field. So do
/// many models that do with `none`, which is why disabled thinking sends nothing.
pub(super) fn effort(body: &Object) -> Result<Option<&str>, Untranslatable> {
    let effort = present(body, "output_config").and_then(|config| config.get("effort"));
    let thinking = match present(body, "thinking") {
        None => None,
        Some(thinking) => Some(object_at(thinking, "thinking")?),
    };
    let kind = thinking.map(|thinking| text_at(thinking, "type", "thinking")).transpose()?;
    match (kind, effort.and_then(Value::as_str)) {
        (Some("disabled"), _) => Ok(None),
        (Some("enabled"), None) => {
            let budget = thinking.and_then(|thinking| thinking.get("budget_tokens"));
            Ok(budget.and_then(Value::as_u64).map(of_budget))
        }
        // Chat completions have no higher effort.
        (None | Some("adaptive" | "enabled"), Some("max")) => Ok(Some("xhigh")),
        (None | Some("adaptive" | "enabled"), effort) => Ok(effort),
        (Some(kind), _) => {
            let message = format!("unknown thinking type {kind}");
            Err(Untranslatable::new("thinking.type", message))
        }
    }
}

fn of_budget(tokens: u64) -> &'static str {
    match tokens {
        ..MEDIUM_BUDGET_TOKENS => "low",
        MEDIUM_BUDGET_TOKENS..HIGH_BUDGET_TOKENS => "medium",
        HIGH_BUDGET_TOKENS.. => "high",
    }
}
