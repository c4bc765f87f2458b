//! `list` of members and teams.

use gateway_store::Member;
use ledger::{Account, AccountKind, MemberId};
use serde_json::{Value, json};

use super::{account, member_json};
use crate::commands::gateway::file::Location;
use crate::commands::gateway::operator_store::{OperatorStore, trouble};
use crate::diagnostic::Diagnostic;
use crate::session::Session;
use crate::table::{Alignment, Table};

/// List members and their balances
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agent gateway member list
  agent gateway member list --after mem_100 --limit 50 --json")]
pub(crate) struct Args {
    #[command(flatten)]
    page: PageArgs,
}

/// The part of the list to print.
#[derive(Debug, clap::Args)]
pub(in crate::commands::gateway) struct PageArgs {
    /// Maximum number of members
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// List members after this id
    #[arg(long, value_name = "MEMBER")]
    after: Option<String>,
}

pub(crate) fn run(args: &Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    list(&args.page, AccountKind::Member, location, session)
}

pub(in crate::commands::gateway) fn list(
    args: &PageArgs,
    kind: AccountKind,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    let noun = kind.as_str();
    let members = OperatorStore::with(location, session, async |books| {
        let after = match &args.after {
            Some(word) => books.account(word, kind).await?.id,
            None => MemberId(0),
        };
        let members = match kind {
            AccountKind::Member => books.store.members(after, args.limit).await,
            _ => books.store.teams(after, args.limit).await,
        };
        let mut list: Vec<(Member, Account)> = Vec::new();
        for member in members.map_err(|error| trouble(&error))? {
            let account = account(books, &member).await?;
            list.push((member, account));
        }
        Ok(list)
    })?;
    if session.output.is_json() {
        let list = members.iter().map(|(member, account)| member_json(member, account));
        let list = list.collect::<Vec<Value>>();
        return session.output.json(&json!({ (format!("{noun}s")): list }));
    }
    if members.is_empty() {
        let note = format!("No {noun}s. Create one with `agent gateway {noun} create`.");
        session.output.note(note);
        return Ok(());
    }
    let mut table = Table::new([
        (noun, Alignment::Left),
        ("name", Alignment::Left),
        ("balance", Alignment::Right),
        ("held", Alignment::Right),
        ("available", Alignment::Right),
        ("state", Alignment::Left),
    ]);
    for (member, account) in &members {
        table.row([
            member.id.to_string(),
            member.name.clone(),
            account.balance.to_string(),
            account.held.to_string(),
            account.available().to_string(),
            if member.blocked { "blocked" } else { "active" }.to_owned(),
        ]);
    }
    session.output.text(table.text())?;
    if u32::try_from(members.len()).is_ok_and(|count| count == args.limit)
        && let Some((last, _)) = members.last()
    {
        let last = last.id.to_string();
        session.output.note(format!("There may be more; continue with `--after {last}`."));
    }
    Ok(())
}
