//! `agent gateway key list`.

use gateway_store::KeyRecord;
use ledger::MemberId;
use serde_json::{Value, json};

use super::{key_json, state};
use crate::commands::gateway::file::Location;
use crate::commands::gateway::key::key_table;
use crate::commands::gateway::operator_store::{OperatorStore, trouble};
use crate::diagnostic::Diagnostic;
use crate::session::Session;
use crate::table::{Alignment, Table};

const MAX_LISTED: usize = 10_000;
/// How many members are read at a time.
const PAGE: u32 = 1000;

/// List the keys of one member or of all
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agent gateway key list
  agent gateway key list alice --json")]
pub(crate) struct Args {
    /// Member name or id, for example `mem_3`
    member: Option<String>,
}

pub(crate) fn run(args: &Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let records = OperatorStore::with(location, session, async |books| match &args.member {
        Some(word) => {
            let member = books.member(word).await?;
            books.store.keys(member.id).await.map_err(|error| trouble(&error))
        }
        None => all(books).await,
    })?;
    if session.output.is_json() {
        let list = records.iter().map(|record| key_json(record, session));
        return session.output.json(&json!({ "keys": list.collect::<Vec<Value>>() }));
    }
    if records.is_empty() {
        session.output.note("No keys. Create one with `agent gateway key create`.");
        return Ok(());
    }
    if args.member.is_some() {
        return session.output.text(key_table(&records, session));
    }
    let mut table = Table::new([
        ("key", Alignment::Left),
        ("member", Alignment::Left),
        ("name", Alignment::Left),
        ("state", Alignment::Left),
    ]);
    for record in &records {
        let (key, state) = (&record.key, state(record, session));
        let member = record.member_name.clone();
        table.row([key.id.clone(), member, key.name.clone(), state.to_owned()]);
    }
    session.output.text(table.text())?;
    if records.len() >= MAX_LISTED {
        session.output.warn(format!("only the first {MAX_LISTED} keys are shown"));
    }
    Ok(())
}

async fn all(books: &OperatorStore) -> Result<Vec<KeyRecord>, Diagnostic> {
    let (mut records, mut after) = (Vec::new(), MemberId(0));
    while records.len() < MAX_LISTED {
        let members = books.store.members(after, PAGE).await.map_err(|error| trouble(&error))?;
        let Some(last) = members.last() else { break };
        after = last.id;
        for member in &members {
            records.extend(books.store.keys(member.id).await.map_err(|error| trouble(&error))?);
        }
    }
    records.truncate(MAX_LISTED);
    Ok(records)
}
