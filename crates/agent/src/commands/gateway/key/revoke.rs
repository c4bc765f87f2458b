//! `agent gateway key revoke`.

use task_loop::untrusted::printable;

use super::key_json;
use crate::commands::gateway::file::Location;
use crate::commands::gateway::operator_store::{OperatorStore, refused};
use crate::diagnostic::Diagnostic;
use crate::output::GOOD;
use crate::session::Session;

/// Revoke a key permanently
#[derive(Debug, clap::Args)]
#[command(after_help = "\
This cannot be undone. A running service rejects the key within two seconds.

Examples:
  agent gateway key revoke 3fG7aK0pQx2Z")]
pub(crate) struct Args {
    /// Public part of the key, or the whole key
    key: String,
}

pub(crate) fn run(args: &Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let record = OperatorStore::with(location, session, async |books| {
        let id = books.key(&args.key).await?.key.id;
        books.operator().revoke_key(&id).await.map_err(refused)
    })?;
    if session.output.is_json() {
        return session.output.json(&key_json(&record, session));
    }
    let (id, name) = (&record.key.id, printable(&record.key.name));
    let member = printable(&record.member_name);
    session.output.text(format!("{GOOD}Revoked{GOOD:#} key {id} `{name}` of {member}.\n"))
}
