//! Changes of members and teams: name, block, budget, role, team.

use gateway::operator::Error;
use gateway_store::{MemberChange, Role};
use ledger::{AccountKind, Budget};
use task_loop::untrusted::printable;

use super::{account, member_json};
use crate::commands::gateway::amount::AmountUnit;
use crate::commands::gateway::budget;
use crate::commands::gateway::file::Location;
use crate::commands::gateway::key::optional;
use crate::commands::gateway::operator_store::{OperatorStore, refused};
use crate::diagnostic::Diagnostic;
use crate::output::GOOD;
use crate::session::Session;

/// Rename a member
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  agent gateway member rename alice 'Alice Ltd'")]
pub(crate) struct Rename {
    /// Member name or id, for example `mem_3`
    member: String,
    /// New name
    name: String,
}

/// Reject all requests of a member
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A running service applies this within two seconds. Credit and keys are kept.

Examples:
  agent gateway member block alice")]
pub(crate) struct Block {
    /// Member name or id, for example `mem_3`
    member: String,
}

/// Accept requests of a blocked member again
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  agent gateway member unblock alice")]
pub(crate) struct Unblock {
    /// Member name or id, for example `mem_3`
    member: String,
}

/// Set what a member may spend per day, week or month
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The budget covers all keys of the member. It resets in the time zone `time_zone` of gateway.yaml. A new \
budget counts requests that begin from now on; a changed amount keeps the count.

Examples:
  agent gateway member budget alice 20/month
  agent gateway member budget alice none")]
pub(crate) struct SetBudget {
    #[command(flatten)]
    wanted: BudgetArgs,
}

/// A budget of a member or a team.
#[derive(Debug, clap::Args)]
pub(in crate::commands::gateway) struct BudgetArgs {
    /// Member name or id, for example `mem_3`
    #[arg(index = 1)]
    member: String,
    /// Amount and period (day, week or month), or `none`
    #[arg(index = 2, value_name = "AMOUNT/PERIOD", allow_hyphen_values = true)]
    budget: String,
    #[command(flatten)]
    unit: AmountUnit,
}

/// Set what a member may do on the web pages
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A manager sees the balance and usage of its team and sets the budgets of its members. An operator \
may use the operator pages after signing in with a key of all scopes.

Examples:
  agent gateway member role alice manager
  agent gateway member role alice member")]
pub(crate) struct SetRole {
    /// Member name or id, for example `mem_3`
    member: String,
    /// New role
    #[arg(value_parser = ["member", "manager", "operator"])]
    role: String,
}

pub(crate) fn budget(
    args: &SetBudget,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    args.wanted.set(AccountKind::Member, location, session)
}

impl BudgetArgs {
    pub(in crate::commands::gateway) fn set(
        &self,
        kind: AccountKind,
        location: &Location,
        session: &Session,
    ) -> Result<(), Diagnostic> {
        let read = |text: &str| budget::read(text, self.unit);
        let wanted: Option<Budget> = optional(Some(&self.budget), read)?.flatten();
        let done = if wanted.is_some() { "Set the budget" } else { "Removed the budget" };
        let change = MemberChange::Budget(wanted);
        change_account(Subject { kind, word: &self.member }, done, &change, location, session)
    }
}

pub(crate) fn role(
    args: &SetRole,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    let wanted = Role::parse(&args.role).unwrap_or_default();
    let done = format!("Set the role to {}", wanted.as_str());
    change(&args.member, &done, &MemberChange::Role(wanted), location, session)
}

pub(crate) fn rename(
    args: &Rename,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    let to = args.name.clone();
    change(&args.member, "Renamed", &MemberChange::Rename(to), location, session)
}

pub(crate) fn block(
    args: &Block,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    change(&args.member, "Blocked", &MemberChange::Block, location, session)
}

pub(crate) fn unblock(
    args: &Unblock,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    change(&args.member, "Unblocked", &MemberChange::Unblock, location, session)
}

fn change(
    member: &str,
    done: &str,
    change: &MemberChange,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    let subject = Subject { kind: AccountKind::Member, word: member };
    change_account(subject, done, change, location, session)
}

/// The member or team that a command changes.
#[derive(Clone, Copy)]
pub(in crate::commands::gateway) struct Subject<'a> {
    pub(in crate::commands::gateway) kind: AccountKind,
    /// A name or an id.
    pub(in crate::commands::gateway) word: &'a str,
}

/// Changes a member or a team and prints it.
pub(in crate::commands::gateway) fn change_account(
    subject: Subject<'_>,
    done: &str,
    change: &MemberChange,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    let (member, account) = OperatorStore::with(location, session, async |books| {
        let member = books.account(subject.word, subject.kind).await?;
        let changed = books.operator().change_member(member.id, change).await;
        let member = changed.map_err(|error| match (error, change) {
            (Error::Exists(_), MemberChange::Rename(to)) => {
                Diagnostic::failed(format!("member `{}` exists already", printable(to)))
            }
            (error, _) => refused(error),
        })?;
        let account = account(books, &member).await?;
        Ok((member, account))
    })?;
    if session.output.is_json() {
        return session.output.json(&member_json(&member, &account));
    }
    let name = printable(&member.name);
    session.output.text(format!("{GOOD}{done}{GOOD:#}: {name} ({}).\n", member.id))
}
