//! `agent gateway backup` and `restore`: copy and restore the database.

use std::path::{Path, PathBuf};

use gateway::config::{Config, Database};
use gateway_store::{Error, Store};
use serde_json::json;

use super::operator_store::{Context, block_on, make_folder, store_failure};
use crate::diagnostic::{Diagnostic, Exit, Result};
use crate::output::GOOD;
use crate::prompt::Prompt;

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

pub(crate) fn run(args: &Args, context: Context<'_>) -> Result {
    let to = &args.file;
    let config = context.load()?;
    only_sqlite(&config, "pg_dump")?;
    context.with_config(config, async |books| {
        books.store.backup(to).await.map_err(|error| match error {
            Error::Exists(_) => Diagnostic::failed(format!("{} exists already", to.display()))
                .hint("choose another name; a backup never overwrites a file"),
            error => store_failure(&format!("cannot write {}", to.display()), &error),
        })
    })?;
    let bytes = std::fs::metadata(to).map(|file| file.len()).unwrap_or_default();
    let text = format!("{GOOD}Wrote{GOOD:#} {} ({bytes} bytes).\n", to.display());
    context.output.print(&json!({ "file": to.to_string_lossy(), "bytes": bytes }), text)
}

fn only_sqlite(config: &Config, tool: &str) -> Result {
    if matches!(config.database, Database::Sqlite { .. }) {
        return Ok(());
    }
    Err(Diagnostic::failed("the database is PostgreSQL, which has its own backup tools")
        .hint(format!("use `{tool}`")))
}

/// Restore the SQLite database from a backup
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Stop the service first. The current database is kept under another name. Migrate an older backup \
afterwards.

Examples:
  agent gateway restore /var/backups/gateway-2027-01-31.sqlite3 --yes")]
pub(crate) struct RestoreArgs {
    /// Backup file
    file: PathBuf,
    /// Skip the confirmation
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn restore(args: &RestoreArgs, context: Context<'_>) -> Result {
    let config = context.load()?;
    only_sqlite(&config, "pg_restore")?;
    let from = &args.file;
    if !from.is_file() {
        return Err(Diagnostic::no_file(Exit::Failed, from));
    }
    let question = format!("Replace the database with {}?", from.display());
    if !args.yes && !Prompt::confirmed(&context.output, &question, "the restore")? {
        context.output.note("Nothing was changed.");
        return Ok(());
    }
    let (place, options) = gateway::database_location(&config);
    make_folder(&place)?;
    let aside = block_on(async {
        Store::restore(from, &place, &options).await.map_err(|error| cannot_restore(from, &error))
    })?;
    let json = json!({
        "restored": from.to_string_lossy(),
        "before": aside.as_ref().map(|aside| aside.to_string_lossy()),
    });
    context.output.print(&json, format!("{GOOD}Restored{GOOD:#} {}.\n", from.display()))?;
    if let Some(aside) = aside {
        context.output.tell(format!("The previous database is now {}.", aside.display()));
    }
    Ok(())
}

fn cannot_restore(from: &Path, error: &Error) -> Diagnostic {
    match error {
        Error::InUse => Diagnostic::failed("the service is using this database")
            .hint("stop the service first; nothing was changed"),
        Error::Schema(_) | Error::Refused(_) | Error::Damaged(_) => {
            Diagnostic::failed(format!("{} is not a usable backup", from.display()))
                .because(error)
                .hint("nothing was changed")
        }
        error => store_failure(&format!("cannot restore {}", from.display()), error),
    }
}
