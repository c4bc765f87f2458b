//! The team of a manager: balance, budget, members and their budgets.

use askama::Template;
use axum::extract::Request;
use gateway_store::Member;
use http::StatusCode;
use ledger::MemberId;
use pages::{Frame, credits};

use super::super::path::Id;
use super::budget::{self, BudgetCard, BudgetForm};
use super::context::ManagerContext;
use super::page::{self, PageError, PageResult, Refusal, redirect, refusal};
use super::usage;
use crate::clock;
use crate::operator::Operator;

const PAGE: u32 = 100;

#[derive(Template)]
#[template(path = "console/team.html")]
struct TeamPage {
    frame: Frame,
    name: String,
    available: String,
    balance: String,
    held: String,
    month: String,
    month_requests: String,
    budgets: Vec<BudgetCard>,
    members: Vec<MemberRow>,
    /// The cursor of the next page; empty for none.
    next: String,
    is_first: bool,
}

/// A member of the team, with its usage of the last 30 days.
struct MemberRow {
    id: String,
    name: String,
    role: &'static str,
    requests: String,
    spent: String,
    budget: String,
}

pub(super) async fn show(context: ManagerContext) -> PageResult {
    let (store, team) = (context.store(), context.managed);
    let missing = || PageError::missing("team");
    let name = store.member(team).await?.ok_or_else(missing)?.name;
    let account = store.account(team).await?.ok_or_else(missing)?;
    let windows = context.billing.windows();
    let after = MemberId::parse(context.param("after"));
    let mut found = store.team_members(team, after.unwrap_or(MemberId(0)), PAGE + 1).await?;
    let has_more = found.len() > PAGE as usize;
    found.truncate(PAGE as usize);
    let used = usage::of_members(&context).await?;
    let mut members = Vec::with_capacity(found.len());
    for member in found {
        let account = store.account(member.id).await?;
        let budget = account.and_then(|account| account.budget_status(&windows));
        let id = member.id.to_string();
        let sums = used.get(&id).copied().unwrap_or_default();
        members.push(MemberRow {
            name: member.name,
            role: member.role.as_str(),
            requests: pages::count(sums.requests.unsigned_abs()),
            spent: credits(sums.charged_micros),
            budget: budget.as_ref().map_or_else(|| "none".to_owned(), left),
            id,
        });
    }
    let month = account.usage.at(clock::now()).month;
    page::show(&TeamPage {
        frame: context.frame(&name, "/team"),
        name,
        available: credits(account.available().get()),
        balance: credits(account.balance.get()),
        held: credits(account.held.get()),
        month: credits(month.charged.get()),
        month_requests: pages::count(month.requests.unsigned_abs()),
        budgets: account.budget_status(&windows).iter().map(BudgetCard::new).collect(),
        next: members.last().filter(|_| has_more).map(|row| row.id.clone()).unwrap_or_default(),
        members,
        is_first: after.is_none(),
    })
}

fn left(status: &ledger::BudgetStatus) -> String {
    let (left, amount) = (credits(status.left().get()), credits(status.budget.amount.get()));
    format!("{left} of {amount} left this {}", status.budget.period.as_str())
}

#[derive(Template)]
#[template(path = "console/team_member.html")]
struct MemberPage {
    frame: Frame,
    csrf: String,
    id: String,
    name: String,
    budgets: Vec<BudgetCard>,
    budget: BudgetForm,
    wrong: &'static str,
}

pub(super) async fn member(context: ManagerContext, Id(id): Id) -> PageResult {
    let member = find(&context, &id).await?;
    let form = BudgetForm::new(member.budget);
    member_page(&context, member, form, None).await
}

/// A member of the own team. Others are as good as unknown.
async fn find(context: &ManagerContext, id: &str) -> PageResult<Member> {
    let missing = || PageError::missing("member in your team");
    let id = MemberId::parse(id).ok_or_else(missing)?;
    let member = context.store().member(id).await?;
    member.filter(|member| member.team == Some(context.managed)).ok_or_else(missing)
}

async fn member_page(
    context: &ManagerContext,
    member: Member,
    budget: BudgetForm,
    refusal: Option<Refusal>,
) -> PageResult {
    let account = context.store().account(member.id).await?;
    let windows = context.billing.windows();
    let status = account.and_then(|account| account.budget_status(&windows));
    let code = if refusal.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let (frame, wrong) = context.form_frame(&member.name, "/team", refusal);
    let page = MemberPage {
        frame,
        csrf: context.csrf(),
        id: member.id.to_string(),
        name: member.name,
        budgets: status.iter().map(BudgetCard::new).collect(),
        budget,
        wrong,
    };
    page::show_as(code, &page)
}

pub(super) async fn set_budget(
    context: ManagerContext,
    Id(id): Id,
    request: Request,
) -> PageResult {
    let fields = context.submitted(request).await?;
    let member = find(&context, &id).await?;
    let refused = match budget::read(&fields) {
        Ok(budget) => {
            let operator = Operator { store: context.store(), by: &context.by };
            let manager = context.caller.key.member;
            match operator.set_budget_as_manager(manager, member.id, budget).await {
                Ok(_) => return Ok(redirect("/team?done=budget-saved")),
                Err(error) => refusal(error)?,
            }
        }
        Err(wrong) => wrong.into(),
    };
    member_page(&context, member, BudgetForm::of(&fields), Some(refused)).await
}
