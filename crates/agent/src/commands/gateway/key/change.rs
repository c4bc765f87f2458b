//! `agent gateway key change`.

use gateway_store::KeyChange;
use task_loop::untrusted::printable;

use super::options::KeyOptions;
use super::{KeyArgs, key_json, key_table};
use crate::commands::gateway::file::Location;
use crate::commands::gateway::operator_store::OperatorStore;
use crate::diagnostic::Diagnostic;
use crate::output::GOOD;
use crate::session::Session;

/// Change the limits and permissions of a key
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Omitted settings stay unchanged. Rotated keys share their limits.

Examples:
  agent gateway key change 3fG7aK0pQx2Z --rpm 120
  agent gateway key change 3fG7aK0pQx2Z --expires never --spend-limit none")]
pub(crate) struct Args {
    /// Public part of the key, or the whole key
    key: String,
    /// New name
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    given: KeyOptions,
}

pub(crate) fn run(args: &Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    if args.name.is_none() && args.given.is_empty() {
        return Err(Diagnostic::usage("nothing to change")
            .hint("see `agent gateway key change --help` for the options"));
    }
    let scopes = args.given.scopes()?;
    let expires_at = args.given.expires(session)?;
    let record = OperatorStore::with(location, session, async |books| {
        let record = books.key(&args.key).await?;
        let change = KeyChange {
            name: args.name.clone(),
            scopes,
            models: args.given.models(&books.config, session),
            expires_at,
            limits: args.given.limits()?,
        };
        Ok(books.operator().change_key(&record.key.id, change).await?)
    })?;
    if session.output.is_json() {
        return session.output.json(&key_json(&record, session));
    }
    session.output.note(format!("{GOOD}Changed{GOOD:#} key {}.", record.key.id));
    session.output.text(key_table(&[record], session))
}

pub(crate) fn revoke(
    args: &KeyArgs,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    let record = OperatorStore::with(location, session, async |books| {
        let id = books.key(&args.key).await?.key.id;
        Ok(books.operator().revoke_key(&id).await?)
    })?;
    if session.output.is_json() {
        return session.output.json(&key_json(&record, session));
    }
    let (id, name) = (&record.key.id, printable(&record.key.name));
    let member = printable(&record.member_name);
    session.output.text(format!("{GOOD}Revoked{GOOD:#} key {id} `{name}` of {member}.\n"))
}
