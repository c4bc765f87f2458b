//! `agent gateway reload`: all processes of the service read their configuration again.

use std::time::Duration;

use gateway_store::ProcessReport;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::file::Location;
use super::operator_store::OperatorStore;
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// How long processes may take to follow, and how often they are asked.
const MAX_WAIT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) fn run(location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let followed = OperatorStore::with(location, session, follow)?;
    let failed: Vec<&ProcessReport> =
        followed.iter().filter(|process| !process.problems.is_empty()).collect();
    if !failed.is_empty() {
        let message = "the configuration was not reloaded";
        let mut diagnostic = Diagnostic::configuration(message);
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
    if session.output.is_json() {
        let names: Vec<&str> = followed.iter().map(|process| process.name.as_str()).collect();
        let generation = followed.iter().map(|process| process.generation).max();
        return session.output.json(&json!({ "generation": generation, "processes": names }));
    }
    session.output.note(match followed.as_slice() {
        [_] => "Configuration reloaded.".to_owned(),
        all => format!("Configuration reloaded by {} processes.", all.len()),
    });
    Ok(())
}

/// Asks for a reload, and waits until every process has followed it.
async fn follow(books: &OperatorStore) -> Result<Vec<ProcessReport>, Diagnostic> {
    let processes = async || books.store.processes().await;
    if processes().await?.is_empty() {
        return Err(Diagnostic::failed("no process is serving from this database")
            .hint("start the service with `agent gateway serve` or `agent up`"));
    }
    let generation = books.operator().request_reload().await?;
    let until = Instant::now() + MAX_WAIT;
    loop {
        let all = processes().await?;
        let mut late = all.iter().filter(|process| process.generation < generation);
        let Some(process) = late.next() else { return Ok(all) };
        if Instant::now() >= until {
            let message = format!("the process {} did not follow the reload", process.name);
            return Err(Diagnostic::failed(message).hint("look into its log"));
        }
        sleep(POLL_INTERVAL).await;
    }
}
