//! `agent gateway member show`.

use gateway_store::Role;
use ledger::UsagePeriod;
use serde_json::{Value, json};
use task_loop::untrusted::printable;

use super::{account, member_json};
use crate::commands::gateway::amount::in_credits;
use crate::commands::gateway::budget;
use crate::commands::gateway::file::Location;
use crate::commands::gateway::key::{key_json, key_table};
use crate::commands::gateway::moment::{now, shown};
use crate::commands::gateway::operator_store::{OperatorStore, trouble};
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Show the balance, usage and keys of a member
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agent gateway member show alice
  agent gateway member show mem_3 --json")]
pub(crate) struct Args {
    /// Member name or id, for example `mem_3`
    member: String,
}

pub(crate) fn run(args: &Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let (member, account, keys, team, windows) =
        OperatorStore::with(location, session, async |books| {
            let member = books.member(&args.member).await?;
            let account = account(books, &member).await?;
            let keys = books.store.keys(member.id).await.map_err(|error| trouble(&error))?;
            let team = match member.team {
                Some(team) => books.store.member(team).await.map_err(|error| trouble(&error))?,
                None => None,
            };
            Ok((member, account, keys, team, budget::windows(&books.config, session)))
        })?;
    let usage = account.usage.at(now(session));
    let status = account.budget_status(&windows);
    if session.output.is_json() {
        let period = |period: &UsagePeriod| json!({ "requests": period.requests, "charged_micros": period.charged.get() });
        let mut value = member_json(&member, &account);
        value["usage"] = json!({ "today": period(&usage.day), "month": period(&usage.month) });
        value["budget"] = budget::status_json(status.as_ref());
        value["keys"] =
            keys.iter().map(|key| key_json(key, session)).collect::<Vec<Value>>().into();
        return session.output.json(&value);
    }
    let period = |period: &UsagePeriod| {
        format!("{} requests, {}", period.requests, in_credits(period.charged))
    };
    let state = if member.blocked { "blocked" } else { "active" };
    session.output.text(format!(
        "{} ({}): {state}\n  since      {}\n  balance    {}\n  held       {}\n  available  {}\n  \
         today      {}\n  month      {}\n  budget     {}\n",
        printable(&member.name),
        member.id,
        shown(member.created_at),
        in_credits(account.balance),
        in_credits(account.held),
        in_credits(account.available()),
        period(&usage.day),
        period(&usage.month),
        budget::status_text(status.as_ref()),
    ))?;
    if let Some(team) = &team {
        let name = printable(&team.name);
        session.output.text(format!("  team       {name} ({}), which pays\n", team.id))?;
    }
    if member.role != Role::Member {
        session.output.text(format!("  role       {}\n", member.role.as_str()))?;
    }
    if keys.is_empty() {
        let id = member.id.to_string();
        session
            .output
            .note(format!("No keys. Create one with `agent gateway key create {id} --name NAME`."));
        return Ok(());
    }
    session.output.text(key_table(&keys, session))
}
