//! `agent gateway member`: the members of the service and their accounts.

use clap::Subcommand;
use gateway_store::{MemberChange, Role};
use ledger::{AccountKind, PostingKind, UsagePeriod};
use serde_json::json;

use super::account::{
    BudgetArgs, NewAccount, PageArgs, TransferArgs, account, change_account, heading, list,
    member_json,
};
use super::amount::{budget_status_json, budget_status_text, in_credits};
use super::key::{key_table, keys_json};
use super::moment::now;
use super::operator_store::{Context, OperatorStore};
use crate::diagnostic::Result;

/// Create, list, limit, block and credit members
#[derive(Debug, Subcommand)]
#[command(after_help = "\
MEMBER is a name or an id such as mem_3. Amounts are credits with up to six decimals, or \
micro-credits with --micros.

Examples:
  agent gateway member create alice --credit 10
  agent gateway member list
  agent gateway member top-up alice 5 --reason 'invoice 17'
  agent gateway member budget alice 20/month")]
pub(crate) enum Command {
    /// Create a member
    #[command(after_help = "\
Examples:
  agent gateway member create alice
  agent gateway member create bob --credit 12.5")]
    Create(NewAccount),
    /// List members and their balances
    #[command(after_help = "\
Examples:
  agent gateway member list
  agent gateway member list --after mem_100 --limit 50 --json")]
    List(PageArgs),
    /// Show the balance, usage and keys of a member
    #[command(after_help = "\
Examples:
  agent gateway member show alice
  agent gateway member show mem_3 --json")]
    Show(MemberArgs),
    /// Rename a member
    #[command(after_help = "Examples:\n  agent gateway member rename alice 'Alice Ltd'")]
    Rename {
        /// Member name or id, for example `mem_3`
        member: String,
        /// New name
        name: String,
    },
    /// Reject all requests of a member
    #[command(after_help = "\
A running service applies this within two seconds. Credit and keys are kept.

Examples:
  agent gateway member block alice")]
    Block(MemberArgs),
    /// Accept requests of a blocked member again
    #[command(after_help = "Examples:\n  agent gateway member unblock alice")]
    Unblock(MemberArgs),
    /// Set what a member may spend per day, week or month
    #[command(after_help = "\
The budget covers all keys of the member. It resets in the time zone `time_zone` of gateway.yaml. A new \
budget counts requests that begin from now on; a changed amount keeps the count.

Examples:
  agent gateway member budget alice 20/month
  agent gateway member budget alice none")]
    Budget(BudgetArgs),
    /// Set what a member may do on the web pages
    #[command(after_help = "\
A manager sees the balance and usage of its team and sets the budgets of its members. An operator \
may use the operator pages after signing in with a key of all scopes.

Examples:
  agent gateway member role alice manager
  agent gateway member role alice member")]
    Role {
        /// Member name or id, for example `mem_3`
        member: String,
        /// New role
        #[arg(value_parser = ["member", "manager", "operator"])]
        role: String,
    },
    /// Add credit to a member
    #[command(after_help = "\
Examples:
  agent gateway member top-up alice 10 --reason 'invoice 17' --reference invoice-17
  agent gateway member top-up mem_3 500000 --micros --reason gift")]
    TopUp(TransferArgs),
    /// Correct a balance up or down
    #[command(mut_arg("amount", |amount| amount.help("Signed amount in credits")), after_help = "\
Credit held for running requests cannot be removed.

Examples:
  agent gateway member adjust alice -2.5 --reason 'paid twice'
  agent gateway member adjust alice +1 --reason 'outage on 3 May'")]
    Adjust(TransferArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct MemberArgs {
    /// Member name or id, for example `mem_3`
    pub(super) member: String,
}

pub(crate) fn run(command: Command, context: Context<'_>) -> Result {
    const MEMBER: AccountKind = AccountKind::Member;
    let change = |member: &str, done: &str, change: MemberChange| {
        context.with(async |books| change_account(MEMBER, member, done, &change, books).await)
    };
    match command {
        Command::Create(args) => args.create(MEMBER, context),
        Command::List(args) => context.with(async |books| list(&args, MEMBER, books).await),
        Command::Show(args) => context.with(async |books| show(&args, books).await),
        Command::Rename { member, name } => change(&member, "Renamed", MemberChange::Rename(name)),
        Command::Block(args) => change(&args.member, "Blocked", MemberChange::Block),
        Command::Unblock(args) => change(&args.member, "Unblocked", MemberChange::Unblock),
        Command::Budget(args) => args.set(MEMBER, context),
        Command::Role { member, role } => {
            let role = Role::parse(&role).unwrap_or_default();
            let done = format!("Set the role to {}", role.as_str());
            change(&member, &done, MemberChange::Role(role))
        }
        Command::TopUp(args) => args.post(MEMBER, PostingKind::TopUp, context),
        Command::Adjust(args) => args.post(MEMBER, PostingKind::Adjustment, context),
    }
}

async fn show(args: &MemberArgs, books: &OperatorStore<'_>) -> Result {
    let member = books.member(&args.member).await?;
    let account = account(books, &member).await?;
    let keys = books.store.keys(member.id).await?;
    let team = match member.team {
        Some(team) => books.store.member(team).await?,
        None => None,
    };
    let usage = account.usage.at(now(books));
    let status = account.budget_status(&books.windows());
    let period =
        |it: &UsagePeriod| json!({ "requests": it.requests, "charged_micros": it.charged.get() });
    let mut value = member_json(&member, &account);
    value["usage"] = json!({ "today": period(&usage.day), "month": period(&usage.month) });
    value["budget"] = budget_status_json(status.as_ref());
    value["keys"] = keys_json(&keys, books);
    let period = |it: &UsagePeriod| format!("{} requests, {}", it.requests, in_credits(it.charged));
    let mut lines = vec![
        ("today", period(&usage.day)),
        ("month", period(&usage.month)),
        ("budget", budget_status_text(status.as_ref())),
    ];
    if let Some(team) = &team {
        lines.push(("team", format!("{} ({}), which pays", team.name, team.id)));
    }
    if member.role != Role::Member {
        lines.push(("role", member.role.as_str().to_owned()));
    }
    if !books.output.is_json() {
        books.output.text(heading(&member, &account, lines))?;
    }
    let id = member.id;
    let none = format!("No keys. Create one with `agent gateway key create {id} --name NAME`.");
    key_table(&keys, books).print(&books.output, &value, &none)
}
