//! `agent gateway restore`: a backup in the place of the database.

use std::path::{Path, PathBuf};

use gateway_store::{Error, Store};
use serde_json::json;

use super::backup::only_sqlite;
use super::file::Location;
use super::operator_store::{block_on, make_folder, store_trouble};
use crate::diagnostic::Diagnostic;
use crate::output::GOOD;
use crate::prompt::Prompt;
use crate::session::Session;

/// Restore the SQLite database from a backup
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Stop the service first. The current database is kept under another name. Migrate an older backup \
afterwards.

Examples:
  agent gateway restore /var/backups/gateway-2027-01-31.sqlite3 --yes")]
pub(crate) struct Args {
    /// Backup file
    file: PathBuf,
    /// Skip the confirmation
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(args: &Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let config = location.load(session)?;
    only_sqlite(&config, "pg_restore")?;
    let from = &args.file;
    if !from.is_file() {
        return Err(Diagnostic::failed(format!("{} does not exist", from.display())));
    }
    if !args.yes && !confirmed(session, from)? {
        session.output.note("Nothing was changed.");
        return Ok(());
    }
    let (place, options) = gateway::place(&config);
    make_folder(&place)?;
    let aside = block_on(async {
        Store::restore(from, &place, &options).await.map_err(|error| cannot(from, &error))
    })?;
    if session.output.is_json() {
        return session.output.json(&json!({ "restored": from, "before": aside }));
    }
    session.output.text(format!("{GOOD}Restored{GOOD:#} {}.\n", from.display()))?;
    if let Some(aside) = aside {
        session.output.note(format!("The previous database is now {}.", aside.display()));
    }
    Ok(())
}

fn cannot(from: &Path, error: &Error) -> Diagnostic {
    match error {
        Error::InUse => Diagnostic::failed("the service is using this database")
            .hint("stop the service first; nothing was changed"),
        Error::Schema(_) | Error::Refused(_) | Error::Damaged(_) => {
            Diagnostic::failed(format!("{} is not a usable backup", from.display()))
                .because(error)
                .hint("nothing was changed")
        }
        error => store_trouble(&format!("cannot restore {}", from.display()), error),
    }
}

fn confirmed(session: &Session, from: &Path) -> Result<bool, Diagnostic> {
    let from = from.display();
    match Prompt::find(&session.output) {
        Some(prompt) => prompt.confirm(&format!("Replace the database with {from}?")),
        None => {
            Err(Diagnostic::failed("the restore needs confirmation, but no terminal is attached")
                .hint("confirm with `--yes`"))
        }
    }
}
