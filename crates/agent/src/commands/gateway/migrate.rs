//! `agent gateway migrate`: updates the schema of the database.

use gateway::config::Config;
use gateway_store::{Error, SchemaState, Store};
use serde_json::json;

use super::operator_store::{Context, block_on, make_folder, store_failure};
use crate::diagnostic::{Diagnostic, Result};
use crate::output::{GOOD, WARNING};

/// Migrate the database schema
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Creates a missing SQLite file. Migrations cannot be undone: make a backup first. An unknown \
schema is not touched.

Exit codes: 0 up to date, 1 a migration is needed (with --check), 3 the migration failed.

Examples:
  agent gateway migrate
  agent gateway migrate --check")]
pub(crate) struct Args {
    /// Report whether a migration is needed and change nothing
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args, context: Context<'_>) -> Result {
    let config = context.load()?;
    if args.check {
        let (place, options) = gateway::database_location(&config);
        let state = async { Store::schema(&place, &options).await.map_err(cannot) };
        return show_state(block_on(state)?, context);
    }
    let (before, after) = block_on(bring_up_to_date(&config))?;
    let to = version(after);
    let text = match before {
        SchemaState::Empty => format!("{GOOD}Created{GOOD:#} the schema, version {to}.\n"),
        SchemaState::Old(from) => {
            format!("{GOOD}Migrated{GOOD:#} from version {from} to version {to}.\n")
        }
        _ => format!("Nothing to do: the schema is at version {to}.\n"),
    };
    context
        .output
        .print(&json!({ "from": version(before), "to": to, "changed": before != after }), text)
}

/// Migrates; returns the schema version before and after.
pub(crate) async fn bring_up_to_date(config: &Config) -> Result<(SchemaState, SchemaState)> {
    let (place, options) = gateway::database_location(config);
    make_folder(&place)?;
    let before = Store::migrate(&place, &options).await.map_err(cannot)?;
    let after = Store::schema(&place, &options).await.map_err(cannot)?;
    Ok((before, after))
}

fn cannot(error: Error) -> Diagnostic {
    match error {
        Error::Schema(state) => unknown(state),
        error => store_failure("cannot migrate the database", &error),
    }
}

fn unknown(state: SchemaState) -> Diagnostic {
    let version = version(state);
    let message = format!("this program does not support the schema of the database: {version}");
    Diagnostic::configuration(message)
        .hint("a newer release or another program created it; nothing was changed")
}

fn show_state(state: SchemaState, context: Context<'_>) -> Result {
    let version = version(state);
    let text = match state {
        SchemaState::Unknown(_) => return Err(unknown(state)),
        SchemaState::Empty => {
            format!("{WARNING}Not migrated{WARNING:#}: the database has no schema yet.\n")
        }
        SchemaState::Old(_) => format!(
            "{WARNING}Not migrated{WARNING:#}: the schema is at the old version {version}.\n"
        ),
        SchemaState::Current(_) => format!("Up to date: the schema is at version {version}.\n"),
    };
    let is_current = matches!(state, SchemaState::Current(_));
    context.output.print(&json!({ "version": version, "current": is_current }), text)?;
    if is_current { Ok(()) } else { Err(Diagnostic::already_reported()) }
}

/// The schema version; 0 if there is none.
pub(crate) fn version(state: SchemaState) -> i64 {
    match state {
        SchemaState::Empty => 0,
        SchemaState::Old(version)
        | SchemaState::Current(version)
        | SchemaState::Unknown(version) => version,
    }
}
