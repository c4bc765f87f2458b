//! Amounts and budgets as input and output: credits with up to six decimals, or whole
//! micro-credits; a budget has a period, such as `10/month`.

use ledger::{Budget, BudgetStatus, Micros, Period};
use serde_json::{Value, json};
use task_loop::member::credits;

use super::moment::shown;
use crate::diagnostic::{Diagnostic, Result};

const MICROS_OF_A_CREDIT: i64 = 1_000_000;
const PLACES: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::Args)]
pub(crate) struct AmountUnit {
    /// Read amounts as micro-credits (1 credit = 1000000)
    #[arg(long)]
    micros: bool,
}

impl AmountUnit {
    pub(crate) fn read(self, text: &str) -> Result<Micros> {
        let read = if self.micros { text.trim().parse().ok() } else { parse_credits(text.trim()) };
        let amount = read.map(Micros::new).and_then(|amount| amount.plus(Micros::ZERO));
        amount.ok_or_else(|| {
            let diagnostic = Diagnostic::usage(format!("invalid amount `{text}`"));
            if self.micros {
                diagnostic.hint("use whole micro-credits, such as `1500000`")
            } else {
                diagnostic
                    .hint("use credits with at most six decimal places, such as `10` or `0.5`")
            }
        })
    }
}

/// Micro-credits of a text such as `12.5`.
fn parse_credits(text: &str) -> Option<i64> {
    let (is_negative, size) = match text.strip_prefix('-') {
        Some(size) => (true, size),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, rest) = size.split_once('.').unwrap_or((size, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(rest) || rest.len() > PLACES {
        return None;
    }
    let whole = whole.parse::<i64>().ok()?.checked_mul(MICROS_OF_A_CREDIT)?;
    let micros = whole.checked_add(format!("{rest:0<PLACES$}").parse().ok()?)?;
    Some(if is_negative { -micros } else { micros })
}

/// An amount for a person, without trailing zeros.
pub(crate) fn in_credits(amount: Micros) -> String {
    format!("{} credits", credits(amount.get()))
}

pub(crate) fn read_budget(text: &str, unit: AmountUnit) -> Result<Budget> {
    let (amount, period) = text.split_once('/').unwrap_or((text, ""));
    let Some(period) = Period::parse(period.trim()) else {
        return Err(Diagnostic::usage(format!("invalid budget `{text}`"))
            .hint("write an amount and `day`, `week` or `month`, such as `10/month`, or `none`"));
    };
    Ok(Budget { amount: unit.read(amount)?, period })
}

pub(crate) fn typed_budget(budget: Budget) -> String {
    format!("{}/{}", credits(budget.amount.get()), budget.period.as_str())
}

pub(crate) fn budget_json(budget: Option<Budget>) -> Value {
    let described = |budget: Budget| json!({ "amount_micros": budget.amount.get(), "period": budget.period.as_str() });
    budget.map_or(Value::Null, described)
}

pub(crate) fn budget_status_text(status: Option<&BudgetStatus>) -> String {
    let Some(status) = status else { return "no limit".to_owned() };
    format!(
        "{} of {} credits left this {}, resets {}",
        credits(status.left().get()),
        credits(status.budget.amount.get()),
        status.budget.period.as_str(),
        shown(status.resets_at),
    )
}

pub(crate) fn budget_status_json(status: Option<&BudgetStatus>) -> Value {
    status.map_or(Value::Null, |status| json!(gateway::budget::view(status)))
}

#[cfg(test)]
mod tests;
