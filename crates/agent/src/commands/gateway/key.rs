//! `agent gateway key`: what members show to be let in.

mod change;
pub(super) mod create;
mod list;
mod options;
mod revoke;
mod rotate;
pub(crate) mod secret;
mod show;

use clap::Subcommand;
use gateway::rfc3339;
use gateway_store::{KeyRecord, Scope};
use ledger::Micros;
use serde_json::{Value, json};

use super::budget::{self, budget_json};
use super::file::Location;
use super::moment::{now, shown};
use crate::diagnostic::Diagnostic;
use crate::session::Session;
use crate::table::{Alignment, Table};
pub(super) use options::optional;

/// Create, limit, rotate and revoke API keys
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
KEY is the public part shown by `key list`, or the whole key. A running service applies changes \
within two seconds.

Examples:
  agent gateway key create alice --name laptop
  agent gateway key list alice
  agent gateway key rotate 3fG7aK0pQx2Z --overlap 24h"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Create(create::Args),
    List(list::Args),
    Show(show::Args),
    Change(change::Args),
    Rotate(rotate::Args),
    Revoke(revoke::Args),
}

pub(crate) fn run(args: Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    match args.command {
        Command::Create(args) => create::run(&args, location, session),
        Command::List(args) => list::run(&args, location, session),
        Command::Show(args) => show::run(&args, location, session),
        Command::Change(args) => change::run(&args, location, session),
        Command::Rotate(args) => rotate::run(&args, location, session),
        Command::Revoke(args) => revoke::run(&args, location, session),
    }
}

/// `active`, `expired`, `revoked` or `member blocked`.
fn state(record: &KeyRecord, session: &Session) -> &'static str {
    let key = &record.key;
    if key.revoked_at.is_some() {
        "revoked"
    } else if key.expires_at.is_some_and(|at| at <= now(session)) {
        "expired"
    } else if record.member_blocked {
        "member blocked"
    } else {
        "active"
    }
}

/// What a key may be used for, in a word or a list.
fn scopes(record: &KeyRecord) -> String {
    if Scope::ALL.iter().all(|scope| record.key.scopes.contains(scope)) {
        return "all".to_owned();
    }
    record.key.scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(",")
}

/// A key for programs; never its secret.
pub(super) fn key_json(record: &KeyRecord, session: &Session) -> Value {
    let (key, limits) = (&record.key, &record.limits);
    json!({
        "id": key.id,
        "name": key.name,
        "member": key.member.to_string(),
        "member_name": record.member_name,
        "state": state(record, session),
        "scopes": key.scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>(),
        "models": key.models,
        "created_at": rfc3339(key.created_at),
        "expires_at": key.expires_at.map(rfc3339),
        "revoked_at": key.revoked_at.map(rfc3339),
        "spend_limit_micros": limits.spend.map(Micros::get),
        "requests_per_minute": limits.requests_per_minute,
        "concurrency": limits.concurrency,
        "budget": budget_json(limits.budget),
    })
}

pub(super) fn key_table(records: &[KeyRecord], session: &Session) -> String {
    let mut table = Table::new([
        ("key", Alignment::Left),
        ("name", Alignment::Left),
        ("state", Alignment::Left),
        ("expires", Alignment::Left),
        ("spend limit", Alignment::Right),
        ("budget", Alignment::Right),
        ("rpm", Alignment::Right),
        ("concurrency", Alignment::Right),
        ("scopes", Alignment::Left),
        ("models", Alignment::Left),
    ]);
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    for record in records {
        let (key, limits) = (&record.key, &record.limits);
        table.row([
            key.id.clone(),
            key.name.clone(),
            state(record, session).to_owned(),
            or_dash(key.expires_at.map(shown)),
            or_dash(limits.spend.map(|spend| spend.to_string())),
            or_dash(limits.budget.map(budget::typed)),
            or_dash(limits.requests_per_minute.map(|limit| limit.to_string())),
            or_dash(limits.concurrency.map(|limit| limit.to_string())),
            scopes(record),
            key.models.as_ref().map_or_else(|| "all".to_owned(), |models| models.join(",")),
        ]);
    }
    table.text()
}
