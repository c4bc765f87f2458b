//! The team of a manager: balance, budget, members and their budgets.

use askama::Template;
use axum::extract::Request;
use gateway_store::Member;
use ledger::{Account, BudgetStatus, MemberId, UsagePeriod};
use pages::{Fields, Frame};
use wire::usage::UsageSums;

use super::super::Id;
use super::context::ManagerContext;
use super::page::{self, PageError, PageResult, Pager, Refusal, redirect};
use super::{fields, filters, usage};
use crate::clock;

const PAGE: u32 = 100;

#[derive(Template)]
#[template(path = "console/team.html")]
struct TeamPage {
    frame: Frame,
    account: Account,
    month: UsagePeriod,
    budgets: Option<BudgetStatus>,
    members: Vec<MemberRow>,
    pager: Pager,
}

struct MemberRow {
    member: Member,
    /// The usage of the last 30 days.
    used: UsageSums,
    budget: Option<BudgetStatus>,
}

pub(super) async fn show(context: ManagerContext) -> PageResult {
    let (store, team) = (context.store(), context.who.team);
    let missing = || PageError::missing("team");
    let name = store.member(team).await?.ok_or_else(missing)?.name;
    let account = store.account(team).await?.ok_or_else(missing)?;
    let after = MemberId::parse(context.param("after")).unwrap_or(MemberId(0));
    let mut found = store.team_members(team, after, PAGE + 1).await?;
    let pager = context.pager(&mut found, PAGE, |member| member.id.to_string());
    let used = usage::of_members(&context).await?;
    let mut members = Vec::with_capacity(found.len());
    for member in found {
        let used = used.get(&member.id.to_string()).copied().unwrap_or_default();
        members.push(MemberRow { budget: budget_of(&context, &member).await?, member, used });
    }
    page::show(&TeamPage {
        frame: context.frame(&name, "/team"),
        month: account.usage.at(clock::now()).month,
        budgets: account.budget_status(&context.service.billing.windows()),
        account,
        members,
        pager,
    })
}

async fn budget_of(context: &ManagerContext, member: &Member) -> PageResult<Option<BudgetStatus>> {
    let account = context.store().account(member.id).await?;
    Ok(account.and_then(|account| account.budget_status(&context.service.billing.windows())))
}

#[derive(Template)]
#[template(path = "console/team_member.html")]
struct MemberPage {
    frame: Frame,
    member: Member,
    budgets: Option<BudgetStatus>,
    form: Fields,
}

pub(super) async fn member(context: ManagerContext, Id(id): Id) -> PageResult {
    let member = find(&context, &id).await?;
    let form = fields::of_budget(member.budget);
    member_page(&context, member, form, None).await
}

/// A member of the manager's team; others count as unknown.
async fn find(context: &ManagerContext, id: &str) -> PageResult<Member> {
    let missing = || PageError::missing("member in your team");
    let id = MemberId::parse(id).ok_or_else(missing)?;
    let member = context.store().member(id).await?;
    member.filter(|member| member.team == Some(context.who.team)).ok_or_else(missing)
}

async fn member_page(
    context: &ManagerContext,
    member: Member,
    form: Fields,
    refusal: Option<Refusal>,
) -> PageResult {
    let (frame, status) = context.form_frame(&member.name, "/team", refusal);
    let budgets = budget_of(context, &member).await?;
    page::show_as(status, &MemberPage { frame, member, budgets, form })
}

pub(super) async fn set_budget(
    context: ManagerContext,
    Id(id): Id,
    request: Request,
) -> PageResult {
    let fields = context.submitted(request).await?;
    let member = find(&context, &id).await?;
    match save_budget(&context, &member, &fields).await {
        Ok(()) => Ok(redirect("/team?done=budget-saved")),
        Err(error) => member_page(&context, member, fields, Some(error.refusal()?)).await,
    }
}

async fn save_budget(context: &ManagerContext, member: &Member, fields: &Fields) -> PageResult<()> {
    let budget = fields::budget(fields)?;
    let manager = context.who.member;
    context.operator().set_budget_as_manager(manager, member.id, budget).await?;
    Ok(())
}
