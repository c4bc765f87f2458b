//! `agent gateway reload`: all processes of the service read their configuration again.

use gateway_store::ProcessReport;
use serde_json::json;

use super::operator_store::{Context, OperatorStore, wait_for};
use crate::diagnostic::{Diagnostic, Result};

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
    let late = |all: &Vec<ProcessReport>| {
        let late = all.iter().find(|process| process.generation < generation);
        late.map(|process| process.name.clone())
    };
    let done = |all: &Vec<ProcessReport>| late(all).is_none();
    let all = wait_for(async || Ok(books.store.processes().await?), done).await?;
    match late(&all) {
        None => Ok(all),
        Some(name) => {
            let message = format!("the process {name} did not follow the reload");
            Err(Diagnostic::failed(message).hint("look into its log"))
        }
    }
}
