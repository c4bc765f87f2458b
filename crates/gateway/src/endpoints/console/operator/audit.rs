//! The audit log.

use askama::Template;
use axum::response::Response;
use gateway_store::AuditEntry;
use pages::{Frame, Html};
use serde_json::{Map, Value};

use crate::clock;
use crate::endpoints::console::context::OperatorContext;
use crate::endpoints::console::page::{self, PageError};

const PAGE: u32 = 50;

#[derive(Template)]
#[template(path = "console/operator/audit.html")]
struct AuditPage {
    frame: Frame,
    rows: Vec<AuditRow>,
    next: i64,
    is_first: bool,
}

/// A change in a table.
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

/// The fields of the details in one line.
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

pub(in crate::endpoints) async fn list(context: OperatorContext) -> Result<Response, PageError> {
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
