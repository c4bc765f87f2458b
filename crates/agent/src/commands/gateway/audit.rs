//! `agent gateway audit`: every change by an operator.

use gateway::rfc3339;
use gateway_store::AuditEntry;
use serde_json::{Value, json};
use task_loop::member::credits;

use super::moment::shown;
use super::operator_store::Context;
use crate::diagnostic::Result;
use crate::table::Table;

/// List operator actions, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Entries form a hash chain; `agent gateway ledger check` verifies it.

Examples:
  agent gateway audit
  agent gateway audit --limit 500 --json")]
pub(crate) struct Args {
    /// Maximum number of entries
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// List entries with a number below N
    #[arg(long, value_name = "N")]
    before: Option<i64>,
}

pub(crate) fn run(args: &Args, context: Context<'_>) -> Result {
    let before = args.before.unwrap_or(i64::MAX);
    let entries = context.with(async |books| Ok(books.store.audit(before, args.limit).await?))?;
    let json = json!({ "entries": entries.iter().map(entry_json).collect::<Value>() });
    table(&entries).print(&context.output, &json, "No changes yet.")
}

fn table(entries: &[AuditEntry]) -> Table {
    let row = |entry: &AuditEntry| {
        [
            entry.id.to_string(),
            shown(entry.at),
            entry.actor.name.clone(),
            entry.action.clone(),
            entry.subject.clone(),
            detail(&entry.detail),
        ]
    };
    Table::new(["entry", "when (UTC)", "who", "action", "subject", "detail"])
        .align_right(&["entry"])
        .rows(entries.iter().map(row))
}

/// `name: laptop, scopes: models chat`, without empty values.
fn detail(json: &str) -> String {
    let mut words = Vec::new();
    add_words("", &serde_json::from_str(json).unwrap_or_default(), &mut words);
    words.join(", ")
}

fn add_words(name: &str, value: &Value, words: &mut Vec<String>) {
    let text = match value {
        Value::Null => return,
        Value::Object(fields) => {
            return fields.iter().for_each(|(name, value)| add_words(name, value, words));
        }
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(" "),
        value => match value.as_i64().filter(|_| name.ends_with("_micros")) {
            Some(micros) => format!("{} credits", credits(micros)),
            None => plain(value),
        },
    };
    words.push(format!("{}: {text}", name.trim_end_matches("_micros").replace('_', " ")));
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn entry_json(entry: &AuditEntry) -> Value {
    json!({
        "id": entry.id,
        "at": rfc3339(entry.at),
        "actor": entry.actor.name,
        "request": entry.actor.request,
        "action": entry.action,
        "subject": entry.subject,
        "detail": serde_json::from_str::<Value>(&entry.detail).unwrap_or_default(),
        "digest": entry.digest_text(),
    })
}
