//! The form of a key: its values and limits.

use ledger::Limits;
use pages::credits;

use super::budget::{self, BudgetForm};
use super::fields::{FieldValues as _, Fields, WrongField};

#[derive(Default)]
pub(super) struct KeyForm {
    pub(super) name: String,
    pub(super) models: String,
    pub(super) spend: String,
    pub(super) rate: String,
    pub(super) concurrency: String,
    pub(super) days: String,
    pub(super) budget: BudgetForm,
}

impl KeyForm {
    pub(super) fn of(fields: &Fields) -> Self {
        let text = |name| fields.get(name).to_owned();
        Self {
            name: text("name"),
            models: text("models"),
            spend: text("spend"),
            rate: text("rate"),
            concurrency: text("concurrency"),
            days: text("days"),
            budget: BudgetForm::of(fields),
        }
    }

    pub(super) fn with_limits(self, limits: Limits) -> Self {
        let number = |limit: Option<u32>| limit.map(|it| it.to_string()).unwrap_or_default();
        Self {
            spend: limits.spend.map(|it| plain_credits(it.get())).unwrap_or_default(),
            rate: number(limits.requests_per_minute),
            concurrency: number(limits.concurrency),
            budget: BudgetForm::new(limits.budget),
            ..self
        }
    }
}

/// An amount as a form has it, without separators.
fn plain_credits(micros: i64) -> String {
    credits(micros).replace(',', "")
}

pub(super) fn limits(fields: &Fields) -> Result<Limits, WrongField> {
    Ok(Limits {
        spend: fields.credits("spend")?,
        requests_per_minute: fields.number("rate")?,
        concurrency: fields.number("concurrency")?,
        budget: budget::read(fields)?,
    })
}

pub(super) fn above(field: &'static str) -> WrongField {
    WrongField::new(field, "This limit is higher than your own key or the operator allows.")
}
