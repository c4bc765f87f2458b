//! `agent gateway member`: who may use the service, and what they have.

pub(super) mod change;
pub(super) mod transfer;

use clap::Subcommand;
use gateway::operator::Error;
use gateway::rfc3339;
use gateway_store::{Member, MemberChange, Role};
use ledger::{Account, AccountKind, MemberId, Micros, PostingKind, Transfer, UsagePeriod};
use serde_json::{Value, json};
use task_loop::untrusted::printable;

use self::change::{Subject, change_account};
use super::amount::{AmountUnit, in_credits};
use super::budget::{self, budget_json};
use super::file::Location;
use super::key::{key_json, key_table};
use super::moment::{now, shown};
use super::operator_store::OperatorStore;
use crate::diagnostic::Diagnostic;
use crate::output::GOOD;
use crate::session::Session;
use crate::table::Table;

/// Create, list, limit, block and credit members
#[derive(Debug, Subcommand)]
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
    Budget(change::BudgetArgs),
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
    TopUp(transfer::TransferArgs),
    /// Correct a balance up or down
    #[command(mut_arg("amount", |amount| amount.help("Signed amount in credits")), after_help = "\
Credit held for running requests cannot be removed.

Examples:
  agent gateway member adjust alice -2.5 --reason 'paid twice'
  agent gateway member adjust alice +1 --reason 'outage on 3 May'")]
    Adjust(transfer::TransferArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct MemberArgs {
    /// Member name or id, for example `mem_3`
    pub(super) member: String,
}

pub(crate) fn run(
    command: Command,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    const MEMBER: AccountKind = AccountKind::Member;
    let change = |member: &str, done: &str, change: MemberChange| {
        let subject = Subject { kind: MEMBER, word: member };
        change_account(subject, done, &change, location, session)
    };
    match command {
        Command::Create(args) => args.create(MEMBER, location, session),
        Command::List(args) => list(&args, MEMBER, location, session),
        Command::Show(args) => show(&args, location, session),
        Command::Rename { member, name } => change(&member, "Renamed", MemberChange::Rename(name)),
        Command::Block(args) => change(&args.member, "Blocked", MemberChange::Block),
        Command::Unblock(args) => change(&args.member, "Unblocked", MemberChange::Unblock),
        Command::Budget(args) => args.set(MEMBER, location, session),
        Command::Role { member, role } => {
            let role = Role::parse(&role).unwrap_or_default();
            let done = format!("Set the role to {}", role.as_str());
            change(&member, &done, MemberChange::Role(role))
        }
        Command::TopUp(args) => args.top_up(MEMBER, location, session),
        Command::Adjust(args) => args.run(MEMBER, PostingKind::Adjustment, location, session),
    }
}

pub(super) async fn account(books: &OperatorStore, member: &Member) -> Result<Account, Diagnostic> {
    let found = books.store.account(member.id).await?;
    Ok(found.unwrap_or_else(|| Account::new(member.id)))
}

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

fn show(args: &MemberArgs, location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let (member, account, keys, team, windows) =
        OperatorStore::with(location, session, async |books| {
            let member = books.member(&args.member).await?;
            let account = account(books, &member).await?;
            let keys = books.store.keys(member.id).await?;
            let team = match member.team {
                Some(team) => books.store.member(team).await?,
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

#[derive(Debug, clap::Args)]
pub(in crate::commands::gateway) struct PageArgs {
    /// Maximum number of members
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// List members after this id
    #[arg(long, value_name = "MEMBER")]
    after: Option<String>,
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
        for member in members? {
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
    let mut table = Table::new([noun, "name", "balance", "held", "available", "state"])
        .align_right(&["balance", "held", "available"]);
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

#[derive(Debug, clap::Args)]
pub(in crate::commands::gateway) struct NewAccount {
    /// Unique name
    name: String,
    /// Initial credit
    #[arg(long, value_name = "AMOUNT", allow_hyphen_values = true)]
    credit: Option<String>,
    #[command(flatten)]
    unit: AmountUnit,
}

impl NewAccount {
    pub(in crate::commands::gateway) fn create(
        &self,
        kind: AccountKind,
        location: &Location,
        session: &Session,
    ) -> Result<(), Diagnostic> {
        let credit = self.credit.as_deref().map(|text| self.unit.read(text)).transpose()?;
        if credit.is_some_and(Micros::is_negative) {
            return Err(Diagnostic::usage("the initial credit must not be negative"));
        }
        let credit = credit.unwrap_or(Micros::ZERO);
        let (member, account) = OperatorStore::with(location, session, async |books| {
            create(books, kind, &self.name, credit).await
        })?;
        if session.output.is_json() {
            return session.output.json(&member_json(&member, &account));
        }
        let (id, noun) = (member.id.to_string(), kind.as_str());
        let name = printable(&member.name);
        session.output.text(format!("{GOOD}Created{GOOD:#} {noun} {name} ({id}).\n"))?;
        session.output.text(format!("  balance  {}\n", in_credits(account.balance)))?;
        session.output.note(match kind {
            AccountKind::Member => {
                format!("Create a key with `agent gateway key create {name} --name NAME`.")
            }
            _ => format!("Add members with `agent gateway team join {name} MEMBER`."),
        });
        Ok(())
    }
}

pub(in crate::commands::gateway) async fn create(
    books: &OperatorStore,
    kind: AccountKind,
    name: &str,
    credit: Micros,
) -> Result<(Member, Account), Diagnostic> {
    let made = match kind {
        AccountKind::Member => books.operator().create_member(name).await,
        _ => books.operator().create_team(name).await,
    };
    let member = made.map_err(|error| match error {
        Error::Exists(_) if kind == AccountKind::Member => {
            Diagnostic::failed(format!("member `{}` exists already", printable(name)))
                .hint("add credit with `agent gateway member top-up`")
        }
        Error::Exists(_) => {
            let message = format!("a team or member `{}` exists already", printable(name));
            Diagnostic::failed(message).hint("names of teams and members are unique")
        }
        error => error.into(),
    })?;
    if credit != Micros::ZERO {
        let first = Transfer {
            member: member.id,
            kind: PostingKind::TopUp,
            amount: credit,
            reason: "first credit".to_owned(),
            reference: None,
        };
        books.operator().transfer(first).await?;
    }
    let account = account(books, &member).await?;
    Ok((member, account))
}
