//! Budgets on pages: form fields, and cards with what is left.

use ledger::{Budget, BudgetStatus, Period};
use pages::{Html, credits};

use super::fields::{FieldValues as _, Fields, WrongField};
use crate::clock;

#[derive(Default)]
pub(super) struct BudgetForm {
    pub(super) amount: String,
    pub(super) period: String,
}

impl BudgetForm {
    pub(super) fn of(fields: &Fields) -> Self {
        Self { amount: fields.get("budget").to_owned(), period: fields.get("period").to_owned() }
    }

    pub(super) fn new(budget: Option<Budget>) -> Self {
        let Some(budget) = budget else { return Self::default() };
        let amount = credits(budget.amount.get()).replace(',', "");
        Self { amount, period: budget.period.as_str().to_owned() }
    }

    /// The periods to choose from: value, name, whether it is chosen.
    pub(super) fn periods(&self) -> [(&'static str, String, bool); 3] {
        let chosen = Period::parse(&self.period).unwrap_or(Period::Month);
        Period::ALL.map(|it| (it.as_str(), format!("per {}", it.as_str()), it == chosen))
    }
}

/// The budget that a form sets; `None` if the amount is empty.
pub(super) fn read(fields: &Fields) -> Result<Option<Budget>, WrongField> {
    let Some(amount) = fields.credits("budget")? else { return Ok(None) };
    if amount.is_negative() {
        return Err(WrongField::new("budget", "The budget must not be negative."));
    }
    let period = Period::parse(fields.get("period"));
    let period = period.ok_or_else(|| WrongField::new("period", "Choose day, week or month."))?;
    Ok(Some(Budget { amount, period }))
}

pub(super) struct BudgetCard {
    pub(super) title: String,
    pub(super) left: String,
    pub(super) amount: String,
    pub(super) percent: u32,
    pub(super) resets: Html,
}

impl BudgetCard {
    pub(super) fn new(status: &BudgetStatus) -> Self {
        let (scope, period) = (status.scope.as_str(), status.budget.period.as_str());
        let now = clock::now().micros();
        Self {
            title: format!("Left this {period}, budget of the {scope}"),
            left: credits(status.left().get()),
            amount: credits(status.budget.amount.get()),
            percent: status.percent_used().min(100),
            resets: pages::moment(status.resets_at.micros(), now),
        }
    }
}
