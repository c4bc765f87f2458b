//! Keys as rows of a table.

use gateway_store::{KeyRecord, Scope};
use ledger::{Limits, Time};
use pages::{Html, credits};

use super::budget::BudgetCard;
use super::context::PageContext;
use super::page::PageResult;
use crate::clock;

pub(super) struct KeyRow {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) state: Html,
    pub(super) is_over: bool,
    pub(super) scopes: String,
    pub(super) spent: String,
    pub(super) limit: String,
    /// All limits in a few words.
    pub(super) limits: String,
    pub(super) budgets: Vec<BudgetCard>,
    pub(super) member: String,
    pub(super) member_name: String,
    /// Empty if it was not used.
    pub(super) used: Html,
    pub(super) created: Html,
    pub(super) expires: Html,
    pub(super) is_own: bool,
}

/// Rows of keys, the valid ones first.
pub(super) async fn rows(
    context: &PageContext,
    mut keys: Vec<KeyRecord>,
) -> PageResult<Vec<KeyRow>> {
    let (now, windows) = (clock::now().micros(), context.billing.windows());
    keys.sort_by_key(|record| (is_over(record), std::cmp::Reverse(record.key.created_at)));
    let mut rows = Vec::with_capacity(keys.len());
    for record in keys {
        let lineage = context.store().lineage(record.key.lineage).await?;
        let key = &record.key;
        let used = lineage.as_ref().map(|lineage| lineage.last_used);
        let used = used.filter(|at| *at > Time::default());
        let used = used.map(|at| pages::moment(at.micros(), now)).unwrap_or_default();
        rows.push(KeyRow {
            state: state(&record),
            is_over: is_over(&record),
            scopes: scopes_text(&key.scopes),
            spent: credits(lineage.as_ref().map_or(0, |lineage| lineage.spent.get())),
            budgets: lineage
                .and_then(|lineage| lineage.budget_status(&windows))
                .iter()
                .map(BudgetCard::new)
                .collect(),
            limit: record.limits.spend.map_or("no limit".to_owned(), |it| credits(it.get())),
            limits: limits_text(record.limits),
            member: key.member.to_string(),
            member_name: record.member_name.clone(),
            used,
            created: pages::moment(key.created_at.micros(), now),
            expires: key.expires_at.map(|at| pages::moment(at.micros(), now)).unwrap_or_default(),
            is_own: context.session.key.as_ref() == Some(&key.id),
            id: key.id.clone(),
            name: key.name.clone(),
        });
    }
    Ok(rows)
}

fn limits_text(limits: Limits) -> String {
    let parts = [
        limits.spend.map(|it| format!("{} credits", credits(it.get()))),
        limits.budget.map(|it| format!("{} per {}", credits(it.amount.get()), it.period.as_str())),
        limits.requests_per_minute.map(|it| format!("{it} requests/min")),
        limits.concurrency.map(|it| format!("{it} at once")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

pub(super) fn is_over(record: &KeyRecord) -> bool {
    let is_expired = record.key.expires_at.is_some_and(|end| end <= clock::now());
    record.key.revoked_at.is_some() || is_expired
}

fn state(record: &KeyRecord) -> Html {
    match record.key.revoked_at {
        Some(_) => pages::tag("bad", "revoked"),
        None if is_over(record) => pages::tag("plain", "expired"),
        None => pages::tag("good", "valid"),
    }
}

fn scopes_text(scopes: &[Scope]) -> String {
    if scopes.len() == Scope::ALL.len() {
        return "all".to_owned();
    }
    scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(", ")
}
