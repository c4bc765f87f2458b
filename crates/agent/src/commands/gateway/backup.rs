//! `agent gateway backup`: a copy of the database while the service runs.

use std::path::PathBuf;

use gateway::config::{Config, Database};
use gateway_store::Error;
use serde_json::json;

use super::file::Location;
use super::operator_store::{OperatorStore, store_trouble};
use crate::diagnostic::Diagnostic;
use crate::output::GOOD;
use crate::session::Session;

/// Back up the SQLite database to a new file
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The service can keep running. Keys are stored as hashes: back up gateway.secret as well. Use \
pg_dump for PostgreSQL.

Examples:
  agent gateway backup /var/backups/gateway-$(date +%F).sqlite3")]
pub(crate) struct Args {
    /// Path of the new file
    file: PathBuf,
}

pub(crate) fn run(args: &Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let to = &args.file;
    let config = location.load(session)?;
    only_sqlite(&config, "pg_dump")?;
    OperatorStore::of(config, session, async |books| {
        books.store.backup(to).await.map_err(|error| match error {
            Error::Exists(_) => Diagnostic::failed(format!("{} exists already", to.display()))
                .hint("choose another name; a backup never overwrites a file"),
            error => store_trouble(&format!("cannot write {}", to.display()), &error),
        })
    })?;
    let bytes = std::fs::metadata(to).map(|file| file.len()).unwrap_or_default();
    if session.output.is_json() {
        return session.output.json(&json!({ "file": to, "bytes": bytes }));
    }
    session.output.text(format!("{GOOD}Wrote{GOOD:#} {} ({bytes} bytes).\n", to.display()))
}

pub(super) fn only_sqlite(config: &Config, tool: &str) -> Result<(), Diagnostic> {
    match config.database {
        Database::Sqlite { .. } => Ok(()),
        Database::Postgres { .. } => {
            Err(Diagnostic::failed("the database is PostgreSQL, which has its own backup tools")
                .hint(format!("use `{tool}`")))
        }
    }
}
