//! `agent gateway member`: who may use the service, and what they have.

pub(super) mod change;
pub(super) mod create;
pub(super) mod list;
mod show;
pub(super) mod transfer;

use clap::Subcommand;
use gateway::rfc3339;
use gateway_store::Member;
use ledger::{Account, AccountKind};
use serde_json::{Value, json};

use super::budget::budget_json;
use super::file::Location;
use super::operator_store::{OperatorStore, trouble};
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Create, list, limit, block and credit members
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
MEMBER is a name or an id such as mem_3. Amounts are credits with up to six decimals, or \
micro-credits with --micros.

Examples:
  agent gateway member create alice --credit 10
  agent gateway member list
  agent gateway member top-up alice 5 --reason 'invoice 17'
  agent gateway member budget alice 20/month"
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
    Rename(change::Rename),
    Block(change::Block),
    Unblock(change::Unblock),
    Budget(change::SetBudget),
    Role(change::SetRole),
    TopUp(transfer::TopUp),
    Adjust(transfer::Adjust),
}

pub(crate) fn run(args: Args, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    match args.command {
        Command::Create(args) => create::run(&args, location, session),
        Command::List(args) => list::run(&args, location, session),
        Command::Show(args) => show::run(&args, location, session),
        Command::Rename(args) => change::rename(&args, location, session),
        Command::Block(args) => change::block(&args, location, session),
        Command::Unblock(args) => change::unblock(&args, location, session),
        Command::Budget(args) => change::budget(&args, location, session),
        Command::Role(args) => change::role(&args, location, session),
        Command::TopUp(args) => transfer::top_up(&args, location, session),
        Command::Adjust(args) => transfer::adjust(&args, location, session),
    }
}

pub(super) async fn account(books: &OperatorStore, member: &Member) -> Result<Account, Diagnostic> {
    let found = books.store.account(member.id).await.map_err(|error| trouble(&error))?;
    Ok(found.unwrap_or_else(|| Account::new(member.id)))
}

/// A member or a team.
pub(super) fn member_json(member: &Member, account: &Account) -> Value {
    let mut value = json!({
        "id": member.id.to_string(),
        "name": member.name,
        "created_at": rfc3339(member.created_at),
        "blocked": member.blocked,
        "balance_micros": account.balance.get(),
        "held_micros": account.held.get(),
        "available_micros": account.available().get(),
        "budget": budget_json(member.budget),
    });
    if member.kind == AccountKind::Member {
        value["role"] = member.role.as_str().into();
        value["team"] = json!(member.team.map(|team| team.to_string()));
    }
    value
}
