//! The ledger and its check, and the audit log.

use askama::Template;
use axum::extract::Request;
use gateway_store::{AuditEntry, LedgerCheck};
use ledger::Micros;
use pages::{Frame, Html, credits};
use serde_json::{Map, Value};

use crate::clock;
use crate::endpoints::console::context::OperatorContext;
use crate::endpoints::console::page::{self, PageError, PageResult};
use crate::failure::ApiError;

const PAGE: u32 = 50;

#[derive(Template)]
#[template(path = "console/operator/ledger.html")]
struct LedgerPage {
    frame: Frame,
    csrf: String,
    check: Option<CheckView>,
}

struct CheckView {
    is_good: bool,
    members: String,
    postings: String,
    holds: String,
    members_total: String,
    sum: String,
    house: Vec<(String, String)>,
    wrong: u64,
    findings: Vec<(String, String, i64, i64)>,
}

pub(super) async fn show(context: OperatorContext) -> PageResult {
    ledger_page(&context, None)
}

/// Checks the whole ledger. It reads every posting, so that it runs only when it is asked for.
pub(super) async fn check(context: OperatorContext, request: Request) -> PageResult {
    context.submitted(request).await?;
    let check = context.operator().check_ledger(context.config.alerts.as_ref()).await;
    let check = check.map_err(|error| PageError::from(ApiError::from(error)))?;
    ledger_page(&context, Some(check_view(check)))
}

fn ledger_page(context: &OperatorContext, check: Option<CheckView>) -> PageResult {
    let frame = context.frame("Ledger", "/operator/ledger");
    page::show(&LedgerPage { frame, csrf: context.csrf(), check })
}

fn check_view(check: LedgerCheck) -> CheckView {
    let house = check.house.iter().map(|(name, total)| (name.clone(), credits(total.get())));
    let findings = check.findings.into_iter();
    CheckView {
        is_good: check.wrong == 0 && check.sum == Micros::ZERO,
        members: pages::count(check.members),
        postings: pages::count(check.postings),
        holds: pages::count(check.holds),
        members_total: credits(check.members_total.get()),
        sum: credits(check.sum.get()),
        house: house.collect(),
        wrong: check.wrong,
        findings: findings.map(|it| (it.what, it.figure, it.stored, it.added_up)).collect(),
    }
}

#[derive(Template)]
#[template(path = "console/operator/audit.html")]
struct AuditPage {
    frame: Frame,
    rows: Vec<AuditRow>,
    next: i64,
    is_first: bool,
}

pub(super) struct AuditRow {
    pub(super) id: i64,
    pub(super) at: Html,
    pub(super) actor: String,
    pub(super) action: String,
    pub(super) subject: String,
    pub(super) detail: String,
    /// The page of the subject; empty if it has none.
    pub(super) link: String,
}

pub(super) fn rows(entries: &[AuditEntry]) -> Vec<AuditRow> {
    let now = clock::now().micros();
    let row = |entry: &AuditEntry| AuditRow {
        id: entry.id,
        at: pages::moment(entry.at.micros(), now),
        actor: entry.actor.name.clone(),
        action: entry.action.clone(),
        subject: entry.subject.clone(),
        detail: detail(&entry.detail),
        link: if entry.subject.starts_with("mem_") {
            format!("/operator/members/{}", entry.subject)
        } else {
            String::new()
        },
    };
    entries.iter().map(row).collect()
}

fn detail(json: &str) -> String {
    let fields: Map<String, Value> = serde_json::from_str(json).unwrap_or_default();
    let shown = fields.iter().map(|(name, value)| (name, text(name, value)));
    let shown = shown.filter(|(_, text)| !text.is_empty());
    let shown = shown.map(|(name, text)| {
        format!("{}: {text}", name.trim_end_matches("_micros").replace('_', " "))
    });
    shown.collect::<Vec<_>>().join(" · ")
}

/// A value in words; amounts in credits.
fn text(name: &str, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            items.iter().map(|item| text(name, item)).collect::<Vec<_>>().join(", ")
        }
        Value::Object(_) => detail(&value.to_string()),
        Value::Number(number) if name.ends_with("_micros") => {
            number.as_i64().map(pages::credits).unwrap_or_default()
        }
        Value::Number(number) if name.ends_with("_at") => {
            let millis = number.as_i64().unwrap_or_default();
            pages::exact_time(millis.saturating_mul(1000))
        }
        value => value.to_string(),
    }
}

pub(super) async fn audit(context: OperatorContext) -> PageResult {
    let before = context.param("before").parse().ok().filter(|&before: &i64| before > 0);
    let entries = context.store().audit(before.unwrap_or(i64::MAX), PAGE).await?;
    let is_full = entries.len() >= PAGE as usize;
    page::show(&AuditPage {
        frame: context.frame("Audit log", "/operator/audit"),
        next: entries.last().filter(|entry| is_full && entry.id > 1).map_or(0, |entry| entry.id),
        rows: rows(&entries),
        is_first: before.is_none(),
    })
}
