//! Thinking settings as `reasoning_effort`.

use serde_json::Value;

use super::super::fields::{Node, Object, Result};

/// Budgets below this are low effort, up to the next one medium.
const MEDIUM_BUDGET_TOKENS: u64 = 4096;
const HIGH_BUDGET_TOKENS: u64 = 16_384;

/// The requested effort, if any.
///
/// `output_config.effort` has the same values; a budget is mapped by its size. Without either
/// the field is omitted: the model decides, and models without thinking refuse the field. Many
/// thinking models refuse `none`, so disabled thinking also sends nothing.
pub(super) fn effort(body: &Object) -> Result<Option<&str>> {
    let body = Node::root(body);
    let effort = body.get("output_config").and_then(|config| config.get("effort"));
    let effort = effort.and_then(Value::as_str);
    let Some(thinking) = body.optional_object("thinking")? else {
        return Ok(effort.map(of_effort));
    };
    match (thinking.text("type")?, effort) {
        ("disabled", _) => Ok(None),
        ("enabled", None) => {
            Ok(thinking.get("budget_tokens").and_then(Value::as_u64).map(of_budget))
        }
        ("adaptive" | "enabled", effort) => Ok(effort.map(of_effort)),
        (kind, _) => Err(thinking.error("type", format!("unknown thinking type {kind}"))),
    }
}

/// Chat completions have no higher effort.
fn of_effort(effort: &str) -> &str {
    if effort == "max" { "xhigh" } else { effort }
}

fn of_budget(tokens: u64) -> &'static str {
    match tokens {
        ..MEDIUM_BUDGET_TOKENS => "low",
        MEDIUM_BUDGET_TOKENS..HIGH_BUDGET_TOKENS => "medium",
        HIGH_BUDGET_TOKENS.. => "high",
    }
}
