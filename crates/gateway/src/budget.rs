//! Budgets as the API and the pages show them.

use ledger::{Budget, BudgetStatus, Micros, Period};
use wire::account::{BudgetBody, BudgetView, PeriodWord};

use crate::clock;

pub(crate) fn parse(body: BudgetBody) -> Budget {
    let period = match body.period {
        PeriodWord::Day => Period::Day,
        PeriodWord::Week => Period::Week,
        PeriodWord::Month => Period::Month,
    };
    Budget { amount: Micros::new(body.amount_micros), period }
}

pub fn view(status: &BudgetStatus) -> BudgetView {
    BudgetView {
        scope: status.scope.as_str().to_owned(),
        amount_micros: status.budget.amount.get(),
        period: status.budget.period.as_str().to_owned(),
        used_micros: status.used.get(),
        left_micros: status.left().get(),
        resets_at: clock::rfc3339(status.resets_at),
    }
}
