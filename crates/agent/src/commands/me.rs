//! `agent me`: the account and the key, as the service sees them.

use task_loop::member::credits;
use task_loop::untrusted::printable;
use wire::account::{BudgetView, Me, PeriodView};

use crate::diagnostic::Diagnostic;
use crate::duration::moment;
use crate::member::retry::{RetryOptions, RetryingMember};
use crate::runtime::block_on;
use crate::session::Session;
use crate::table::{counted, fields};

pub(crate) fn run(waiting: RetryOptions, session: &Session) -> Result<(), Diagnostic> {
    let service = RetryingMember::find(session, waiting)?;
    let answer = block_on(service.get("/me"))?;
    if session.output.is_json() {
        return service.print(&answer);
    }
    let me = service.read(&answer)?;
    session.output.text(text(&me, &service.member.settings.base_url.value))
}

fn text(me: &Me, base: &str) -> String {
    let key = &me.key;
    let mut lines = vec![
        ("service", base.to_owned()),
        ("member", format!("{} ({})", printable(&me.name), printable(&me.id))),
    ];
    if let Some(team) = &me.team {
        let (id, available) = (printable(&team.id), credits(team.available_micros));
        let pays = format!("{} ({id}), {available} credits available", printable(&team.name));
        lines.push(("team", pays));
    }
    let own = if me.team.is_some() { " of your own, not used in a team" } else { "" };
    lines.push(("available", format!("{} credits{own}", credits(me.available_micros))));
    if me.held_micros > 0 {
        lines.push(("held", format!("{} credits", credits(me.held_micros))));
    }
    for budget in &me.budgets {
        lines.push(("budget", budget_line(budget)));
    }
    lines.push(("today", period(&me.usage.today)));
    lines.push(("this month", period(&me.usage.month)));
    lines.push(("key", format!("{} ({})", printable(&key.name), printable(&key.id))));
    lines.push(("scopes", printable(&key.scopes.join(", "))));
    if let Some(models) = &key.models {
        lines.push(("models", printable(&models.join(", "))));
    }
    if let Some(at) = &key.expires_at {
        lines.push(("expires", moment(at)));
    }
    let spent = credits(key.spent_micros);
    lines.push((
        "key spent",
        match key.spend_limit_micros {
            Some(limit) => format!("{spent} of {} credits", credits(limit)),
            None => format!("{spent} credits"),
        },
    ));
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
