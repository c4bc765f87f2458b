//! `agent gateway reload`: all processes of the service read their configuration again.

use std::time::Duration;

use gateway_store::ProcessReport;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::operator_store::{Context, OperatorStore};
use crate::diagnostic::{Diagnostic, Result};

/// Timeout for all processes to reload, and the poll interval.
const MAX_WAIT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) fn run(context: Context<'_>) -> Result {
    let followed = context.with(follow)?;
    let failed: Vec<&ProcessReport> =
        followed.iter().filter(|process| !process.problems.is_empty()).collect();
    if !failed.is_empty() {
        let mut diagnostic = Diagnostic::configuration("the configuration was not reloaded");
        for process in &failed {
            let lines = process.problems.lines();
            let shown = lines.map(|line| match failed.len() {
                1 => line.to_owned(),
                _ => format!("{}: {line}", process.name),
            });
            diagnostic.causes.extend(shown);
        }
        return Err(diagnostic);
    }
    let names: Vec<&str> = followed.iter().map(|process| process.name.as_str()).collect();
    let generation = followed.iter().map(|process| process.generation).max();
    let note = match followed.as_slice() {
        [_] => "Configuration reloaded.".to_owned(),
        all => format!("Configuration reloaded by {} processes.", all.len()),
    };
    let json = json!({ "generation": generation, "processes": names });
    context.output.print_or_note(&json, note)
}

/// Requests a reload, and waits until every process has completed it.
async fn follow(books: &OperatorStore<'_>) -> Result<Vec<ProcessReport>> {
    books.processes().await?;
    let generation = books.operator().request_reload().await?;
    let until = Instant::now() + MAX_WAIT;
    loop {
        let all = books.store.processes().await?;
        let mut late = all.iter().filter(|process| process.generation < generation);
        let Some(process) = late.next() else { return Ok(all) };
        if Instant::now() >= until {
            let message = format!("the process {} did not follow the reload", process.name);
            return Err(Diagnostic::failed(message).hint("look into its log"));
        }
        sleep(POLL_INTERVAL).await;
    }
}
