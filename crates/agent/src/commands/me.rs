//! `agent me`: the account and the key, as known to the service.

use task_loop::member::credits;
use task_loop::untrusted::printable;
use wire::account::{BudgetView, Me, PeriodView};

use crate::diagnostic::Result;
use crate::duration::moment;
use crate::member::retry::{RetryOptions, RetryingMember};
use crate::runtime::block_on;
use crate::session::Session;
use crate::table::{counted, fields};

pub(crate) fn run(waiting: RetryOptions, session: &Session) -> Result {
    let service = RetryingMember::find(session, waiting)?;
    let answer = block_on(service.get("/me"))?;
    let Some(me) = service.read_or_print(&answer)? else { return Ok(()) };
    session.output.text(text(&me, &service.member.settings.base_url.value))
}

fn text(me: &Me, base: &str) -> String {
    let key = &me.key;
    let mut lines = vec![
        ("service", base.to_owned()),
        ("member", format!("{} ({})", printable(&me.name), printable(&me.id))),
    ];
    lines.extend(me.team.as_ref().map(|team| {
        let (id, available) = (printable(&team.id), credits(team.available_micros));
        ("team", format!("{} ({id}), {available} credits available", printable(&team.name)))
    }));
    let own = if me.team.is_some() { " of your own, not used in a team" } else { "" };
    lines.push(("available", format!("{} credits{own}", credits(me.available_micros))));
    if me.held_micros > 0 {
        lines.push(("held", format!("{} credits", credits(me.held_micros))));
    }
    lines.extend(me.budgets.iter().map(|budget| ("budget", budget_line(budget))));
    lines.push(("today", period(&me.usage.today)));
    lines.push(("this month", period(&me.usage.month)));
    lines.push(("key", format!("{} ({})", printable(&key.name), printable(&key.id))));
    lines.push(("scopes", printable(&key.scopes.join(", "))));
    lines.extend(key.models.as_ref().map(|models| ("models", printable(&models.join(", ")))));
    lines.extend(key.expires_at.as_ref().map(|at| ("expires", moment(at))));
    let limit = key.spend_limit_micros.map(|limit| format!(" of {}", credits(limit)));
    let spent = credits(key.spent_micros);
    lines.push(("key spent", format!("{spent}{} credits", limit.unwrap_or_default())));
    let limits = [
        key.requests_per_minute.map(|most| format!("{most} requests per minute")),
        key.concurrency.map(|most| format!("{most} concurrent requests")),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    if !limits.is_empty() {
        lines.push(("limits", limits.join(", ")));
    }
    fields(&lines)
}

fn budget_line(budget: &BudgetView) -> String {
    let (left, amount) = (credits(budget.left_micros), credits(budget.amount_micros));
    let (scope, period) = (printable(&budget.scope), printable(&budget.period));
    format!(
        "{left} of {amount} credits left this {period} for this {scope}, resets {}",
        moment(&budget.resets_at)
    )
}

fn period(period: &PeriodView) -> String {
    let charged = credits(period.charged_micros);
    let requests = counted(usize::try_from(period.requests).unwrap_or(0), "request");
    format!("{requests}, {charged} credits")
}
