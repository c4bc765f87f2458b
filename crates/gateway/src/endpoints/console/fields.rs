//! Parsing of form fields, and forms filled with current values.

use ledger::{Budget, Limits, Micros, Period, Time};
use pages::{Fields, credits};

use super::page::Refusal;
use crate::clock;

const DAY_MICROS: i64 = 86_400 * 1_000_000;

/// A whole number; `None` if the field is empty.
pub(super) fn number(fields: &Fields, name: &'static str) -> Result<Option<u32>, Refusal> {
    match fields.get(name) {
        "" => Ok(None),
        text => text
            .replace(',', "")
            .parse()
            .map(Some)
            .map_err(|_| Refusal::new(name, format!("“{text}” is not a whole number"))),
    }
}

/// An amount in credits; `None` if the field is empty.
pub(super) fn amount(fields: &Fields, name: &'static str) -> Result<Option<Micros>, Refusal> {
    match fields.get(name) {
        "" => Ok(None),
        text => parse_credits(text).map(Some).ok_or_else(|| {
            let message = format!(
                "“{text}” is not an amount: write credits as 12 or 12.5, with at most 6 decimals"
            );
            Refusal::new(name, message)
        }),
    }
}

/// The end of a number of days from now; `None` if the field is empty.
pub(super) fn days_from_now(fields: &Fields, name: &'static str) -> Result<Option<Time>, Refusal> {
    let end = |days| clock::now().plus_micros(i64::from(days).saturating_mul(DAY_MICROS));
    Ok(number(fields, name)?.map(end))
}

/// A budget; `None` if its amount is empty.
pub(super) fn budget(fields: &Fields) -> Result<Option<Budget>, Refusal> {
    let Some(amount) = amount(fields, "budget")? else { return Ok(None) };
    if amount.is_negative() {
        return Err(Refusal::new("budget", "The budget must not be negative."));
    }
    let period = Period::parse(fields.get("period"));
    let period = period.ok_or_else(|| Refusal::new("period", "Choose day, week or month."))?;
    Ok(Some(Budget { amount, period }))
}

pub(super) fn limits(fields: &Fields) -> Result<Limits, Refusal> {
    Ok(Limits {
        spend: amount(fields, "spend")?,
        requests_per_minute: number(fields, "rate")?,
        concurrency: number(fields, "concurrency")?,
        budget: budget(fields)?,
    })
}

/// The fields of a form that show a key; those of missing limits are left out.
pub(super) fn of_key(name: &str, limits: Limits) -> Fields {
    let amount = |amount: Micros| credits(amount.get()).replace(',', "");
    let values = [
        ("name", Some(name.to_owned())),
        ("spend", limits.spend.map(amount)),
        ("rate", limits.requests_per_minute.map(|limit| limit.to_string())),
        ("concurrency", limits.concurrency.map(|limit| limit.to_string())),
        ("budget", limits.budget.map(|budget| amount(budget.amount))),
        ("period", limits.budget.map(|budget| budget.period.as_str().to_owned())),
    ];
    values.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

pub(super) fn of_budget(budget: Option<Budget>) -> Fields {
    of_key("", Limits { budget, ..Limits::default() })
}

fn parse_credits(text: &str) -> Option<Micros> {
    let (sign, digits) = match text.strip_prefix(['-', '\u{2212}']) {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = whole.replace(',', "");
    let digits = format!("{whole}{fraction:0<6}");
    let is_valid = (!whole.is_empty() || !fraction.is_empty())
        && fraction.len() <= 6
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    let micros: i64 = digits.parse().ok().filter(|_| is_valid)?;
    Some(Micros::new(sign * micros))
}

#[cfg(test)]
mod tests;
