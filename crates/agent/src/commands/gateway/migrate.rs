//! `agent gateway migrate`: the schema of the database brought up to date.

use gateway::config::Config;
use gateway_store::{Error, SchemaState, Store};
use serde_json::json;

use super::file::Location;
use super::operator_store::{self, store_trouble};
use crate::diagnostic::Diagnostic;
use crate::output::{GOOD, WARNING};
use crate::session::Session;

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

pub(crate) fn run(args: &Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let config = location.load(session)?;
    if args.check {
        let state = operator_store::block_on(state(&config))?;
        return tell_state(state, session);
    }
    let (before, after) = operator_store::block_on(bring_up_to_date(&config))?;
    if session.output.is_json() {
        return session.output.json(&json!({
            "from": version(before),
            "to": version(after),
            "changed": before != after,
        }));
    }
    let to = version(after);
    session.output.text(match before {
        SchemaState::Empty => format!("{GOOD}Created{GOOD:#} the schema, version {to}.\n"),
        SchemaState::Old(from) => {
            format!("{GOOD}Migrated{GOOD:#} from version {from} to version {to}.\n")
        }
        _ => format!("Nothing to do: the schema is at version {to}.\n"),
    })
}

/// Migrates; returns the schema version before and after.
pub(crate) async fn bring_up_to_date(
    config: &Config,
) -> Result<(SchemaState, SchemaState), Diagnostic> {
    let (place, options) = gateway::place(config);
    operator_store::make_folder(&place)?;
    let before = Store::migrate(&place, &options).await.map_err(cannot)?;
    let after = Store::schema(&place, &options).await.map_err(cannot)?;
    Ok((before, after))
}

pub(crate) async fn state(config: &Config) -> Result<SchemaState, Diagnostic> {
    let (place, options) = gateway::place(config);
    Store::schema(&place, &options).await.map_err(cannot)
}

fn cannot(error: Error) -> Diagnostic {
    match error {
        Error::Schema(state) => unknown(state),
        error => store_trouble("cannot migrate the database", &error),
    }
}

fn unknown(state: SchemaState) -> Diagnostic {
    let version = version(state);
    let message = format!("this program does not support the schema of the database: {version}");
    Diagnostic::configuration(message)
        .hint("a newer release or another program created it; nothing was changed")
}

fn tell_state(state: SchemaState, session: &Session) -> Result<(), Diagnostic> {
    if let SchemaState::Unknown(_) = state {
        return Err(unknown(state));
    }
    let is_current = matches!(state, SchemaState::Current(_));
    if session.output.is_json() {
        let version = version(state);
        session.output.json(&json!({ "version": version, "current": is_current }))?;
    } else {
        session.output.text(match state {
            SchemaState::Empty => {
                format!("{WARNING}Not migrated{WARNING:#}: the database has no schema yet.\n")
            }
            SchemaState::Old(version) => {
                format!(
                    "{WARNING}Not migrated{WARNING:#}: the schema is at the old version \
                     {version}.\n"
                )
            }
            state => format!("Up to date: the schema is at version {}.\n", version(state)),
        })?;
    }
    if is_current { Ok(()) } else { Err(Diagnostic::already_told()) }
}

/// The number of a schema; 0 where there is none.
pub(crate) fn version(state: SchemaState) -> i64 {
    match state {
        SchemaState::Empty => 0,
        SchemaState::Old(version)
        | SchemaState::Current(version)
        | SchemaState::Unknown(version) => version,
    }
}
