//! `agent gateway key show`.

use ledger::Micros;
use task_loop::untrusted::printable;

use super::{key_json, scopes, state};
use crate::commands::gateway::amount::in_credits;
use crate::commands::gateway::budget;
use crate::commands::gateway::file::Location;
use crate::commands::gateway::moment::shown;
use crate::commands::gateway::operator_store::{OperatorStore, trouble};
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Show the permissions, limits and spend of a key
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  agent gateway key show 3fG7aK0pQx2Z")]
pub(crate) struct Args {
    /// Public part of the key, or the whole key
    key: String,
}

pub(crate) fn run(args: &Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let (record, lineage, windows) = OperatorStore::with(location, session, async |books| {
        let record = books.key(&args.key).await?;
        let lineage = books.store.lineage(record.key.lineage).await;
        let windows = budget::windows(&books.config, session);
        Ok((record, lineage.map_err(|error| trouble(&error))?, windows))
    })?;
    let status = lineage.as_ref().and_then(|found| found.budget_status(&windows));
    let (spent, held, running) = lineage
        .map_or((Micros::ZERO, Micros::ZERO, 0), |found| (found.spent, found.held, found.running));
    if session.output.is_json() {
        let mut value = key_json(&record, session);
        value["spent_micros"] = spent.get().into();
        value["held_micros"] = held.get().into();
        value["running"] = running.into();
        value["budget"] = budget::status_json(status.as_ref());
        return session.output.json(&value);
    }
    let (key, limits) = (&record.key, &record.limits);
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "no limit".to_owned());
    let models = key.models.as_ref().map_or_else(|| "all".to_owned(), |models| models.join(", "));
    let lines = [
        ("member", format!("{} ({})", record.member_name, key.member)),
        ("since", shown(key.created_at)),
        ("expires", key.expires_at.map_or_else(|| "never".to_owned(), shown)),
        ("scopes", scopes(&record)),
        ("models", models),
        ("spent", in_credits(spent)),
        ("spend limit", or_none(limits.spend.map(in_credits))),
        ("budget", budget::status_text(status.as_ref())),
        ("per minute", or_none(limits.requests_per_minute.map(|limit| limit.to_string()))),
        ("concurrency", or_none(limits.concurrency.map(|limit| limit.to_string()))),
        ("running", running.to_string()),
    ];
    let mut text = format!("{} `{}`: {}\n", key.id, printable(&key.name), state(&record, session));
    for (label, value) in lines {
        text.push_str(&format!("  {label:<11}  {}\n", printable(&value)));
    }
    session.output.text(text)
}
