//! `agent gateway team`: members who share a balance and a budget.

use clap::{Arg, Subcommand};
use gateway_store::MemberChange;
use ledger::{AccountKind, MemberId, PostingKind};
use serde_json::{Value, json};
use task_loop::untrusted::printable;

use super::amount::in_credits;
use super::budget;
use super::file::Location;
use super::member::change::{BudgetArgs, Subject, change_account};
use super::member::transfer::TransferArgs;
use super::member::{MemberArgs, NewAccount, PageArgs, account, list, member_json};
use super::moment::shown;
use super::operator_store::OperatorStore;
use crate::diagnostic::Diagnostic;
use crate::session::Session;
use crate::table::Table;

const MAX_SHOWN: u32 = 1000;

/// Manage teams, whose members share a balance and a budget
#[derive(Debug, Subcommand)]
#[command(
    arg_required_else_help = true,
    after_help = "\
A team pays for requests of its members. A member is in one team at most and keeps its own balance, \
which is not used meanwhile. TEAM and MEMBER are names or ids such as mem_3.

Examples:
  agent gateway team create research --credit 100
  agent gateway team join research alice
  agent gateway team budget research 50/month
  agent gateway member role alice manager"
)]
pub(crate) enum Command {
    /// Create a team
    #[command(alias = "add")]
    #[command(after_help = "Examples:\n  agent gateway team create research --credit 100")]
    Create(NewAccount),
    /// List teams and their balances
    #[command(
    mut_arg("limit", |limit| limit.help("Maximum number of teams")),
    mut_arg("after", |after| after.help("List teams after this id").value_name("TEAM")),
    after_help = "Examples:\n  agent gateway team list"
)]
    List(PageArgs),
    /// Show the balance, budget and members of a team
    #[command(after_help = "Examples:\n  agent gateway team show research")]
    Show(TeamArgs),
    /// Add a member to a team, or move it there from another one
    #[command(after_help = "\
The team pays for requests that begin from now on. Running requests are paid as they began. A manager \
of another team becomes a member.

Examples:
  agent gateway team join research alice")]
    Join {
        /// Team name or id, for example `mem_3`
        team: String,
        /// Member name or id, for example `mem_3`
        member: String,
    },
    /// Remove a member from its team
    #[command(after_help = "\
The member pays for requests that begin from now on.

Examples:
  agent gateway team leave alice")]
    Leave(MemberArgs),
    /// Set what a team may spend per day, week or month
    #[command(
        mut_arg("member", of_team),
        after_help = "\
The budget covers the requests of all members. Budgets of members and keys apply as well.

Examples:
  agent gateway team budget research 50/month
  agent gateway team budget research none"
    )]
    Budget(BudgetArgs),
    /// Add credit to a team
    #[command(alias = "topup")]
    #[command(
        mut_arg("member", of_team),
        after_help = "Examples:\n  agent gateway team top-up research 100 --reason 'invoice 17'"
    )]
    TopUp(TransferArgs),
    /// Correct the balance of a team up or down
    #[command(
    mut_arg("member", of_team),
    mut_arg("amount", |amount| amount.help("Signed amount in credits")),
    after_help = "Examples:\n  agent gateway team adjust research -100 --reason 'paid back'"
)]
    Adjust(TransferArgs),
    /// Remove a team without members and without a balance
    #[command(after_help = "\
Postings and receipts remain, and the name becomes free.

Examples:
  agent gateway team remove research")]
    Remove(TeamArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct TeamArgs {
    /// Team name or id, for example `mem_3`
    team: String,
}

fn a_member(word: &str) -> Subject<'_> {
    Subject { kind: AccountKind::Member, word }
}

fn of_team(member: Arg) -> Arg {
    member.value_name("TEAM").help("Team name or id, for example `mem_3`")
}

pub(crate) fn run(
    command: Command,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    const TEAM: AccountKind = AccountKind::Team;
    match command {
        Command::Create(args) => args.create(TEAM, location, session),
        Command::List(args) => list(&args, TEAM, location, session),
        Command::Show(args) => show(&args, location, session),
        Command::Join { team, member } => join(&team, &member, location, session),
        Command::Leave(args) => {
            let (done, change) = ("Removed from its team", MemberChange::Team(None));
            change_account(a_member(&args.member), done, &change, location, session)
        }
        Command::Budget(args) => args.set(TEAM, location, session),
        Command::TopUp(args) => args.top_up(TEAM, location, session),
        Command::Adjust(args) => args.run(TEAM, PostingKind::Adjustment, location, session),
        Command::Remove(args) => {
            let subject = Subject { kind: TEAM, word: &args.team };
            change_account(subject, "Removed", &MemberChange::Remove, location, session)
        }
    }
}

fn join(
    team: &str,
    member: &str,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    let team = OperatorStore::with(location, session, async |books| {
        books.account(team, AccountKind::Team).await
    })?;
    let done = format!("Added to team {}", printable(&team.name));
    let change = MemberChange::Team(Some(team.id));
    change_account(a_member(member), &done, &change, location, session)
}

fn show(args: &TeamArgs, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let (team, balance, members, windows) =
        OperatorStore::with(location, session, async |books| {
            let team = books.account(&args.team, AccountKind::Team).await?;
            let balance = account(books, &team).await?;
            let members = books.store.team_members(team.id, MemberId(0), MAX_SHOWN).await;
            let members = members?;
            Ok((team, balance, members, budget::windows(&books.config, session)))
        })?;
    let status = balance.budget_status(&windows);
    if session.output.is_json() {
        let mut value = member_json(&team, &balance);
        value["budget"] = budget::status_json(status.as_ref());
        let member = |it: &gateway_store::Member| {
            json!({
                "id": it.id.to_string(),
                "name": it.name,
                "role": it.role.as_str(),
                "budget": budget::budget_json(it.budget),
            })
        };
        value["members"] = members.iter().map(member).collect::<Vec<Value>>().into();
        return session.output.json(&value);
    }
    let state = if team.blocked { "blocked" } else { "active" };
    session.output.text(format!(
        "{} ({}): {state}\n  since      {}\n  balance    {}\n  held       {}\n  available  {}\n  \
         budget     {}\n",
        printable(&team.name),
        team.id,
        shown(team.created_at),
        in_credits(balance.balance),
        in_credits(balance.held),
        in_credits(balance.available()),
        budget::status_text(status.as_ref()),
    ))?;
    if members.is_empty() {
        let name = printable(&team.name);
        let note = format!("No members. Add one with `agent gateway team join {name} MEMBER`.");
        session.output.note(note);
        return Ok(());
    }
    let mut table = Table::new(["member", "name", "role", "budget"]);
    for member in &members {
        table.row([
            member.id.to_string(),
            member.name.clone(),
            member.role.as_str().to_owned(),
            member.budget.map_or_else(|| "-".to_owned(), budget::typed),
        ]);
    }
    session.output.text(table.text())
}
