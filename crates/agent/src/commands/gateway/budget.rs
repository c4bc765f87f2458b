//! Budgets as input and output: an amount and a period, such as `10/month`.

use ledger::{Budget, BudgetStatus, Period};
use serde_json::{Value, json};
use task_loop::member::credits;

use super::amount::AmountUnit;
use super::moment::shown;
use crate::diagnostic::Diagnostic;

pub(crate) fn read(text: &str, unit: AmountUnit) -> Result<Budget, Diagnostic> {
    let (amount, period) = text.split_once('/').unwrap_or((text, ""));
    let Some(period) = Period::parse(period.trim()) else {
        return Err(Diagnostic::usage(format!("invalid budget `{text}`"))
            .hint("write an amount and `day`, `week` or `month`, such as `10/month`, or `none`"));
    };
    Ok(Budget { amount: unit.read(amount)?, period })
}

pub(crate) fn typed(budget: Budget) -> String {
    format!("{}/{}", credits(budget.amount.get()), budget.period.as_str())
}

pub(crate) fn budget_json(budget: Option<Budget>) -> Value {
    let described = |budget: Budget| json!({ "amount_micros": budget.amount.get(), "period": budget.period.as_str() });
    budget.map_or(Value::Null, described)
}

pub(crate) fn status_text(status: Option<&BudgetStatus>) -> String {
    let Some(status) = status else { return "no limit".to_owned() };
    format!(
        "{} of {} credits left this {}, resets {}",
        credits(status.left().get()),
        credits(status.budget.amount.get()),
        status.budget.period.as_str(),
        shown(status.resets_at),
    )
}

pub(crate) fn status_json(status: Option<&BudgetStatus>) -> Value {
    status.map_or(Value::Null, |status| json!(gateway::budget::view(status)))
}
