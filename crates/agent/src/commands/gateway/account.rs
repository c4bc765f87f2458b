//! Members and teams: create, list, change and credit.

use gateway::operator::Error;
use gateway::rfc3339;
use gateway_store::{Member, MemberChange};
use ledger::{Account, AccountKind, MemberId, Micros, PostingKind, Transfer, TransferResult};
use serde_json::{Value, json};
use task_loop::member::credits;
use task_loop::untrusted::printable;

use super::amount::{AmountUnit, budget_json, in_credits, read_budget};
use super::key::optional;
use super::moment::shown;
use super::operator_store::{Context, OperatorStore};
use crate::diagnostic::{Diagnostic, Result};
use crate::output::GOOD;
use crate::table::{Table, details};

pub(super) async fn account(books: &OperatorStore<'_>, member: &Member) -> Result<Account> {
    let found = books.store.account(member.id).await?;
    Ok(found.unwrap_or_else(|| Account::new(member.id)))
}

pub(super) fn state(member: &Member) -> &'static str {
    if member.blocked { "blocked" } else { "active" }
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

/// The first lines about a member or a team.
pub(super) fn heading(member: &Member, account: &Account, more: Vec<(&str, String)>) -> String {
    let mut lines = vec![
        ("since", shown(member.created_at)),
        ("balance", in_credits(account.balance)),
        ("held", in_credits(account.held)),
        ("available", in_credits(account.available())),
    ];
    lines.extend(more);
    let name = printable(&member.name);
    format!("{name} ({}): {}\n{}", member.id, state(member), details(&lines))
}

#[derive(Debug, clap::Args)]
pub(super) struct PageArgs {
    /// Maximum number of members
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// List members after this id
    #[arg(long, value_name = "MEMBER")]
    after: Option<String>,
}

pub(super) async fn list(args: &PageArgs, kind: AccountKind, books: &OperatorStore<'_>) -> Result {
    let noun = kind.as_str();
    let after = match &args.after {
        Some(word) => books.account(word, kind).await?.id,
        None => MemberId(0),
    };
    let found = match kind {
        AccountKind::Member => books.store.members(after, args.limit).await?,
        _ => books.store.teams(after, args.limit).await?,
    };
    let mut members: Vec<(Member, Account)> = Vec::new();
    for member in found {
        let account = account(books, &member).await?;
        members.push((member, account));
    }
    let row = |(member, account): &(Member, Account)| {
        [
            member.id.to_string(),
            member.name.clone(),
            credits(account.balance.get()),
            credits(account.held.get()),
            credits(account.available().get()),
            state(member).to_owned(),
        ]
    };
    let table = Table::new([noun, "name", "balance", "held", "available", "state"])
        .align_right(&["balance", "held", "available"])
        .rows(members.iter().map(row));
    let json = members.iter().map(|(member, account)| member_json(member, account));
    let json = json!({ format!("{noun}s"): json.collect::<Value>() });
    let none = format!("No {noun}s. Create one with `agent gateway {noun} create`.");
    table.print(&books.output, &json, &none)?;
    if u32::try_from(members.len()).is_ok_and(|count| count == args.limit)
        && let Some((last, _)) = members.last()
    {
        books.output.tell(format!("There may be more; continue with `--after {}`.", last.id));
    }
    Ok(())
}

#[derive(Debug, clap::Args)]
pub(super) struct NewAccount {
    /// Unique name
    name: String,
    /// Initial credit
    #[arg(long, value_name = "AMOUNT", allow_hyphen_values = true)]
    credit: Option<String>,
    #[command(flatten)]
    unit: AmountUnit,
}

impl NewAccount {
    pub(super) fn create(&self, kind: AccountKind, context: Context<'_>) -> Result {
        let credit = self.credit.as_deref().map(|text| self.unit.read(text)).transpose()?;
        if credit.is_some_and(Micros::is_negative) {
            return Err(Diagnostic::usage("the initial credit must not be negative"));
        }
        let credit = credit.unwrap_or(Micros::ZERO);
        context.with(async |books| {
            let (member, account) = create(books, kind, &self.name, credit).await?;
            let (id, name, noun) = (member.id, printable(&member.name), kind.as_str());
            let balance = details(&[("balance", in_credits(account.balance))]);
            let text = format!("{GOOD}Created{GOOD:#} {noun} {name} ({id}).\n{balance}");
            books.output.print(&member_json(&member, &account), text)?;
            books.output.tell(match kind {
                AccountKind::Member => {
                    format!("Create a key with `agent gateway key create {name} --name NAME`.")
                }
                _ => format!("Add members with `agent gateway team join {name} MEMBER`."),
            });
            Ok(())
        })
    }
}

pub(super) async fn create(
    books: &OperatorStore<'_>,
    kind: AccountKind,
    name: &str,
    credit: Micros,
) -> Result<(Member, Account)> {
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

#[derive(Debug, clap::Args)]
pub(super) struct BudgetArgs {
    /// Member name or id, for example `mem_3`
    #[arg(index = 1)]
    member: String,
    /// Amount and period (day, week or month), or `none`
    #[arg(index = 2, value_name = "AMOUNT/PERIOD", allow_hyphen_values = true)]
    budget: String,
    #[command(flatten)]
    unit: AmountUnit,
}

impl BudgetArgs {
    pub(super) fn set(&self, kind: AccountKind, context: Context<'_>) -> Result {
        let read = |text: &str| read_budget(text, self.unit);
        let budget = optional(Some(&self.budget), read)?.flatten();
        let done = if budget.is_some() { "Set the budget" } else { "Removed the budget" };
        let change = MemberChange::Budget(budget);
        context.with(async |books| change_account(kind, &self.member, done, &change, books).await)
    }
}

/// Changes the member or team with this name or id.
pub(super) async fn change_account(
    kind: AccountKind,
    word: &str,
    done: &str,
    change: &MemberChange,
    books: &OperatorStore<'_>,
) -> Result {
    let member = books.account(word, kind).await?;
    let changed = books.operator().change_member(member.id, change).await;
    let member = changed.map_err(|error| match (error, change) {
        (Error::Exists(_), MemberChange::Rename(to)) => {
            Diagnostic::failed(format!("member `{}` exists already", printable(to)))
        }
        (error, _) => error.into(),
    })?;
    let account = account(books, &member).await?;
    let text = format!("{GOOD}{done}{GOOD:#}: {} ({}).\n", printable(&member.name), member.id);
    books.output.print(&member_json(&member, &account), text)
}

#[derive(Debug, clap::Args)]
pub(super) struct TransferArgs {
    /// Member name or id, for example `mem_3`
    #[arg(index = 1)]
    member: String,
    /// Amount in credits
    #[arg(index = 2, allow_hyphen_values = true)]
    amount: String,
    /// Reason, recorded in the statement and the audit log
    #[arg(long)]
    reason: String,
    /// Unique reference; repeating the command with it has no effect
    #[arg(long, value_name = "TEXT")]
    reference: Option<String>,
    #[command(flatten)]
    unit: AmountUnit,
}

impl TransferArgs {
    pub(super) fn post(
        &self,
        account: AccountKind,
        kind: PostingKind,
        context: Context<'_>,
    ) -> Result {
        let amount = self.unit.read(&self.amount)?;
        if kind == PostingKind::TopUp && amount <= Micros::ZERO {
            let hint = format!("remove credit with `agent gateway {} adjust`", account.as_str());
            let message = format!("the amount must be positive, found `{}`", self.amount);
            return Err(Diagnostic::usage(message).hint(hint));
        }
        context.with(async |books| {
            let member = books.account(&self.member, account).await?;
            let transfer = Transfer {
                member: member.id,
                kind,
                amount,
                reason: self.reason.trim().to_owned(),
                reference: self.reference.clone(),
            };
            let posted = books.operator().transfer(transfer).await?;
            let is_before = matches!(posted, TransferResult::AlreadyPosted(_));
            let posting = posted.into_posting();
            let json = json!({
                "member": member.id.to_string(),
                "name": member.name,
                "at": rfc3339(posting.at),
                "kind": posting.kind.as_str(),
                "amount_micros": posting.amount.get(),
                "balance_micros": posting.balance.get(),
                "reason": posting.reason,
                "reference": posting.reference,
                "replayed": is_before,
            });
            let word = if posting.kind == PostingKind::TopUp { "Added credit" } else { "Adjusted" };
            let when = if is_before {
                format!(" already on {}, not repeated", rfc3339(posting.at))
            } else {
                String::new()
            };
            let name = printable(&member.name);
            let lines = details(&[
                ("amount", in_credits(posting.amount)),
                ("balance", in_credits(posting.balance)),
            ]);
            let text = format!("{GOOD}{word}{GOOD:#}{when}: {name} ({}).\n{lines}", member.id);
            books.output.print(&json, text)
        })
    }
}
