//! `agent gateway alerts`: sent alerts, and a test of the channels.

use clap::Subcommand;
use gateway::rfc3339;
use gateway_store::AlertDelivery;
use serde_json::{Value, json};

use super::moment::shown;
use super::operator_store::{Context, OperatorStore, wait_for};
use crate::diagnostic::{Diagnostic, Result};
use crate::table::Table;

/// List alerts and test their delivery
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Alerts are configured in the section `alerts` of gateway.yaml.

Examples:
  agent gateway alerts list
  agent gateway alerts test")]
pub(crate) enum Command {
    /// List alerts and their deliveries, newest first
    #[command(after_help = "Examples:\n  agent gateway alerts list --limit 20")]
    List {
        /// Maximum number of alerts
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
    },
    /// Send a test alert through all channels
    #[command(after_help = "\
The running service sends it.

Exit codes: 0 all channels accepted it, 1 a channel failed or no process is running.

Examples:
  agent gateway alerts test")]
    Test,
}

pub(crate) fn run(command: &Command, context: Context<'_>) -> Result {
    let rows = context.with(async |books| match command {
        Command::List { limit } => Ok(books.store.alerts(i64::MAX, *limit).await?),
        Command::Test => test(books).await,
    })?;
    let json = json!({ "deliveries": rows.iter().map(row_json).collect::<Value>() });
    table(&rows).print(&context.output, &json, "No alerts.")?;
    let has_failed = |row: &AlertDelivery| row.outcome.as_deref() != Some("delivered");
    if matches!(command, Command::Test) && rows.iter().any(has_failed) {
        return Err(Diagnostic::failed("a channel did not accept the alert")
            .hint("the service tries again; see `agent gateway alerts list`"));
    }
    Ok(())
}

async fn test(books: &OperatorStore<'_>) -> Result<Vec<AlertDelivery>> {
    books.processes().await?;
    let alerts = books.config.alerts.as_ref();
    let id = books.operator().test_alert(alerts).await?;
    let is_tried = |row: &AlertDelivery| row.outcome.is_some() || !row.error.is_empty();
    wait_for(
        async || Ok(books.store.alerts(id + 1, 1).await?),
        |rows: &Vec<AlertDelivery>| rows.iter().all(is_tried),
    )
    .await
}

fn table(rows: &[AlertDelivery]) -> Table {
    let row = |row: &AlertDelivery| {
        let state = match (&row.channel, &row.outcome) {
            (None, _) => "-".to_owned(),
            (_, Some(outcome)) => outcome.replace('_', " "),
            (_, None) => "pending".to_owned(),
        };
        let why = if row.error.is_empty() { String::new() } else { format!(": {}", row.error) };
        [
            row.alert.id.to_string(),
            shown(row.alert.at),
            row.alert.kind.clone(),
            row.alert.message.clone(),
            row.channel.clone().unwrap_or_else(|| "-".to_owned()),
            format!("{state}{why}"),
        ]
    };
    Table::new(["alert", "when (UTC)", "kind", "message", "channel", "delivery"])
        .align_right(&["alert"])
        .rows(rows.iter().map(row))
}

fn row_json(row: &AlertDelivery) -> Value {
    json!({
        "id": row.alert.id,
        "at": rfc3339(row.alert.at),
        "kind": row.alert.kind,
        "subject": row.alert.subject,
        "message": row.alert.message,
        "channel": row.channel,
        "state": row.outcome.as_deref().unwrap_or("pending"),
        "tries": row.tries,
        "error": row.error,
    })
}
