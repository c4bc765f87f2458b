//! `agent gateway team`: members who share a balance and a budget.

use clap::{Arg, Subcommand};
use gateway_store::{Member, MemberChange};
use ledger::{AccountKind, MemberId, PostingKind};
use serde_json::json;
use task_loop::untrusted::printable;

use super::account::{
    BudgetArgs, NewAccount, PageArgs, TransferArgs, account, change_account, heading, list,
    member_json,
};
use super::amount::{budget_json, budget_status_json, budget_status_text, typed_budget};
use super::member::MemberArgs;
use super::operator_store::{Context, OperatorStore};
use crate::diagnostic::Result;
use crate::table::Table;

const MAX_SHOWN: u32 = 1000;

/// Manage teams, whose members share a balance and a budget
#[derive(Debug, Subcommand)]
#[command(after_help = "\
A team pays for requests of its members. A member is in one team at most and keeps its own balance, \
which is not used meanwhile. TEAM and MEMBER are names or ids such as mem_3.

Examples:
  agent gateway team create research --credit 100
  agent gateway team join research alice
  agent gateway team budget research 50/month
  agent gateway member role alice manager")]
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

fn of_team(member: Arg) -> Arg {
    member.value_name("TEAM").help("Team name or id, for example `mem_3`")
}

pub(crate) fn run(command: Command, context: Context<'_>) -> Result {
    const TEAM: AccountKind = AccountKind::Team;
    const MEMBER: AccountKind = AccountKind::Member;
    match command {
        Command::Create(args) => args.create(TEAM, context),
        Command::List(args) => context.with(async |books| list(&args, TEAM, books).await),
        Command::Show(args) => context.with(async |books| show(&args, books).await),
        Command::Join { team, member } => context.with(async |books| {
            let team = books.account(&team, TEAM).await?;
            let done = format!("Added to team {}", printable(&team.name));
            let change = MemberChange::Team(Some(team.id));
            change_account(MEMBER, &member, &done, &change, books).await
        }),
        Command::Leave(args) => context.with(async |books| {
            let (done, change) = ("Removed from its team", MemberChange::Team(None));
            change_account(MEMBER, &args.member, done, &change, books).await
        }),
        Command::Budget(args) => args.set(TEAM, context),
        Command::TopUp(args) => args.post(TEAM, PostingKind::TopUp, context),
        Command::Adjust(args) => args.post(TEAM, PostingKind::Adjustment, context),
        Command::Remove(args) => context.with(async |books| {
            change_account(TEAM, &args.team, "Removed", &MemberChange::Remove, books).await
        }),
    }
}

async fn show(args: &TeamArgs, books: &OperatorStore<'_>) -> Result {
    let team = books.account(&args.team, AccountKind::Team).await?;
    let account = account(books, &team).await?;
    let members = books.store.team_members(team.id, MemberId(0), MAX_SHOWN).await?;
    let status = account.budget_status(&books.windows());
    let member = |it: &Member| {
        json!({
            "id": it.id.to_string(),
            "name": it.name,
            "role": it.role.as_str(),
            "budget": budget_json(it.budget),
        })
    };
    let mut value = member_json(&team, &account);
    value["budget"] = budget_status_json(status.as_ref());
    value["members"] = members.iter().map(member).collect();
    if !books.output.is_json() {
        let budget = budget_status_text(status.as_ref());
        books.output.text(heading(&team, &account, vec![("budget", budget)]))?;
    }
    let row = |member: &Member| {
        [
            member.id.to_string(),
            member.name.clone(),
            member.role.as_str().to_owned(),
            member.budget.map_or_else(|| "-".to_owned(), typed_budget),
        ]
    };
    let name = printable(&team.name);
    let none = format!("No members. Add one with `agent gateway team join {name} MEMBER`.");
    let table = Table::new(["member", "name", "role", "budget"]).rows(members.iter().map(row));
    table.print(&books.output, &value, &none)
}
