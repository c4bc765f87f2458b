//! The ledger and its check, the audit log, and alerts.

use askama::Template;
use axum::extract::Request;
use gateway_store::{AlertDelivery, AuditEntry, LedgerCheck};
use ledger::Micros;
use pages::Frame;
use serde_json::{Map, Value};

use crate::endpoints::console::context::OperatorContext;
use crate::endpoints::console::filters;
use crate::endpoints::console::page::{self, PageError, PageResult, Pager, Refusal, redirect};

const PAGE: u32 = 50;

#[derive(Template)]
#[template(path = "console/operator/ledger.html")]
struct LedgerPage {
    frame: Frame,
    check: Option<LedgerCheck>,
}

pub(super) async fn show(context: OperatorContext) -> PageResult {
    ledger_page(&context, None)
}

/// Checks the whole ledger. It reads every posting, so it runs only on request.
pub(super) async fn check(context: OperatorContext, request: Request) -> PageResult {
    context.submitted(request).await?;
    let check = context.operator().check_ledger(context.service.config.alerts.as_ref()).await?;
    ledger_page(&context, Some(check))
}

fn ledger_page(context: &OperatorContext, check: Option<LedgerCheck>) -> PageResult {
    page::show(&LedgerPage { frame: context.frame("Ledger", "/operator/ledger"), check })
}

#[derive(Template)]
#[template(path = "console/operator/audit.html")]
struct AuditPage {
    frame: Frame,
    rows: Vec<AuditEntry>,
    pager: Pager,
}

/// The details of an entry as text.
fn detail(json: &str) -> String {
    let fields: Map<String, Value> = serde_json::from_str(json).unwrap_or_default();
    let shown = fields.iter().map(|(name, value)| (name, text(name, value)));
    let shown = shown.filter(|(_, text)| !text.is_empty());
    let shown = shown.map(|(name, text)| {
        format!("{}: {text}", name.trim_end_matches("_micros").replace('_', " "))
    });
    shown.collect::<Vec<_>>().join(" · ")
}

/// A value as text; amounts in credits.
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
    let before = context.before().unwrap_or(i64::MAX);
    let mut rows = context.store().audit(before, PAGE + 1).await?;
    let pager = context.pager(&mut rows, PAGE, |entry| entry.id.to_string());
    page::show(&AuditPage { frame: context.frame("Audit log", "/operator/audit"), rows, pager })
}

#[derive(Template)]
#[template(path = "console/operator/alerts.html")]
struct AlertsPage {
    frame: Frame,
    is_on: bool,
    rows: Vec<AlertDelivery>,
}

pub(super) async fn alerts(context: OperatorContext) -> PageResult {
    alerts_page(&context, None).await
}

pub(super) async fn test_alert(context: OperatorContext, request: Request) -> PageResult {
    context.submitted(request).await?;
    match context.operator().test_alert(context.service.config.alerts.as_ref()).await {
        Ok(_) => Ok(redirect("/operator/alerts?done=alert-stored")),
        Err(error) => {
            let refusal = PageError::from(error).refusal()?.conflict();
            alerts_page(&context, Some(refusal)).await
        }
    }
}

async fn alerts_page(context: &OperatorContext, refusal: Option<Refusal>) -> PageResult {
    let rows = context.store().alerts(i64::MAX, PAGE).await?;
    let (frame, status) = context.form_frame("Alerts", "/operator/alerts", refusal);
    page::show_as(
        status,
        &AlertsPage { frame, is_on: context.service.config.alerts.is_some(), rows },
    )
}
