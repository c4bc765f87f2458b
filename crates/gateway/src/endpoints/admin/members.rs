//! Members and teams, and their accounts.

use axum::extract::{RawQuery, Request};
use gateway_store::{Member, MemberChange, Role, StatementLine};
use http::HeaderValue;
use ledger::{AccountKind, MemberId, Micros, Posting, PostingKind, Transfer, TransferResult};
use wire::admin::{
    Adjustment, MemberPatch, MemberView, NewMember, NewTeam, PostingView, StatementView, TeamPatch,
    TeamView, TopUp,
};

use super::{Admin, PageQuery, created, missing, strict};
use crate::budget;
use crate::clock;
use crate::endpoints::{Id, json};
use crate::failure::{ApiError, ApiResult};

pub(super) async fn list(admin: Admin, RawQuery(query): RawQuery) -> ApiResult {
    let (page_query, after) = after(query.as_deref())?;
    let members = admin.store().members(after, page_query.one_more()).await?;
    page_query.list(members, |member| view(&admin, member)).await
}

pub(super) async fn list_teams(admin: Admin, RawQuery(query): RawQuery) -> ApiResult {
    let (page_query, after) = after(query.as_deref())?;
    let teams = admin.store().teams(after, page_query.one_more()).await?;
    page_query.list(teams, |team| team_view(&admin, team)).await
}

pub(super) async fn of_team(admin: Admin, Id(id): Id, RawQuery(query): RawQuery) -> ApiResult {
    let (page_query, after) = after(query.as_deref())?;
    let team = find(&admin, &id, AccountKind::Team).await?;
    let members = admin.store().team_members(team.id, after, page_query.one_more()).await?;
    page_query.list(members, |member| view(&admin, member)).await
}

/// The query of a list of members or teams, and its start cursor.
fn after(query: Option<&str>) -> ApiResult<(PageQuery, MemberId)> {
    let page = PageQuery::read(query, "after")?;
    let wrong = || ApiError::invalid("after", "`after` must be a member id, `mem_<number>`");
    let after = page.cursor.as_deref().map(|cursor| MemberId::parse(cursor).ok_or_else(wrong));
    let after = after.transpose()?.unwrap_or(MemberId(0));
    Ok((page, after))
}

pub(super) async fn create(admin: Admin, request: Request) -> ApiResult {
    let new: NewMember = strict(&admin, request).await?;
    let member = admin.operator().create_member(&new.name).await?;
    Ok(created(&view(&admin, member).await?))
}

pub(super) async fn create_team(admin: Admin, request: Request) -> ApiResult {
    let new: NewTeam = strict(&admin, request).await?;
    let team = admin.operator().create_team(&new.name).await?;
    Ok(created(&team_view(&admin, team).await?))
}

pub(super) async fn show(admin: Admin, Id(id): Id) -> ApiResult {
    let member = find(&admin, &id, AccountKind::Member).await?;
    Ok(json(&view(&admin, member).await?))
}

pub(super) async fn show_team(admin: Admin, Id(id): Id) -> ApiResult {
    let team = find(&admin, &id, AccountKind::Team).await?;
    Ok(json(&team_view(&admin, team).await?))
}

pub(super) async fn change(admin: Admin, Id(id): Id, request: Request) -> ApiResult {
    let patch: MemberPatch = strict(&admin, request).await?;
    let mut member = find(&admin, &id, AccountKind::Member).await?;
    let team = match patch.team {
        Some(Some(team)) => Some(Some(find(&admin, &team, AccountKind::Team).await?.id)),
        Some(None) => Some(None),
        None => None,
    };
    let MemberPatch { name, blocked, budget, .. } = patch;
    member = change_account(&admin, member, TeamPatch { name, blocked, budget }).await?;
    if let Some(team) = team.filter(|team| *team != member.team) {
        member = apply(&admin, member.id, MemberChange::Team(team)).await?;
    }
    if let Some(role) = patch.role.and_then(|role| Role::parse(role.into()))
        && role != member.role
    {
        member = apply(&admin, member.id, MemberChange::Role(role)).await?;
    }
    Ok(json(&view(&admin, member).await?))
}

pub(super) async fn change_team(admin: Admin, Id(id): Id, request: Request) -> ApiResult {
    let patch: TeamPatch = strict(&admin, request).await?;
    let team = find(&admin, &id, AccountKind::Team).await?;
    let team = change_account(&admin, team, patch).await?;
    Ok(json(&team_view(&admin, team).await?))
}

pub(super) async fn remove_team(admin: Admin, Id(id): Id) -> ApiResult {
    let team = find(&admin, &id, AccountKind::Team).await?;
    let removed = apply(&admin, team.id, MemberChange::Remove).await?;
    Ok(json(&team_view(&admin, removed).await?))
}

async fn change_account(admin: &Admin, mut member: Member, patch: TeamPatch) -> ApiResult<Member> {
    // The name first: if it is taken, nothing is changed.
    if let Some(name) = patch.name.filter(|name| *name != member.name) {
        member = apply(admin, member.id, MemberChange::Rename(name)).await?;
    }
    if let Some(blocked) = patch.blocked.filter(|&blocked| blocked != member.blocked) {
        let change = if blocked { MemberChange::Block } else { MemberChange::Unblock };
        member = apply(admin, member.id, change).await?;
    }
    if let Some(budget) = patch.budget {
        let change = MemberChange::Budget(budget.map(budget::parse));
        member = apply(admin, member.id, change).await?;
    }
    Ok(member)
}

async fn apply(admin: &Admin, id: MemberId, change: MemberChange) -> ApiResult<Member> {
    let member = admin.operator().change_member(id, &change).await?;
    // Any of its keys may be cached.
    admin.service.identities.forget_all();
    Ok(member)
}

pub(super) async fn top_up(admin: Admin, Id(id): Id, request: Request) -> ApiResult {
    let TopUp { amount_micros, reason, reference } = strict(&admin, request).await?;
    let kind = PostingKind::TopUp;
    post(&admin, &id, Adjustment { amount_micros, reason, reference }, kind).await
}

pub(super) async fn adjust(admin: Admin, Id(id): Id, request: Request) -> ApiResult {
    let asked = strict(&admin, request).await?;
    post(&admin, &id, asked, PostingKind::Adjustment).await
}

/// Transfers money, once for a reference: a repeated request gets the same answer.
async fn post(admin: &Admin, id: &str, asked: Adjustment, kind: PostingKind) -> ApiResult {
    let Adjustment { amount_micros, reason, reference } = asked;
    let (member, amount) = (member(id)?, Micros::new(amount_micros));
    let transfer = Transfer { member, kind, amount, reason, reference };
    match admin.operator().transfer(transfer).await? {
        TransferResult::Posted(posting) => Ok(created(&posting_view(&posting))),
        TransferResult::AlreadyPosted(posting) => {
            let mut response = json(&posting_view(&posting));
            let replayed = HeaderValue::from_static("true");
            response.headers_mut().insert("idempotent-replayed", replayed);
            Ok(response)
        }
    }
}

pub(super) async fn statement(admin: Admin, Id(id): Id, RawQuery(query): RawQuery) -> ApiResult {
    let (page_query, before) = PageQuery::before(query.as_deref())?;
    let member = self::member(&id)?;
    admin.store().account(member).await?.ok_or_else(|| missing("member"))?;
    let lines = admin.store().statement(member, before, page_query.one_more()).await?;
    Ok(json(&page_query.page(lines.iter().map(line_view).collect())))
}

pub(super) async fn find(admin: &Admin, id: &str, kind: AccountKind) -> ApiResult<Member> {
    let missing = || missing(kind.as_str());
    let id = MemberId::parse(id).ok_or_else(missing)?;
    let found = admin.store().member(id).await?.filter(|found| found.kind == kind);
    found.ok_or_else(missing)
}

fn member(id: &str) -> ApiResult<MemberId> {
    MemberId::parse(id).ok_or_else(|| missing("member"))
}

async fn view(admin: &Admin, member: Member) -> ApiResult<MemberView> {
    let account = admin.store().account(member.id).await?.ok_or_else(|| missing("member"))?;
    Ok(MemberView {
        object: "member".to_owned(),
        id: member.id.to_string(),
        name: member.name,
        blocked: member.blocked,
        role: member.role.as_str().to_owned(),
        team: member.team.map(|team| team.to_string()),
        created_at: clock::rfc3339(member.created_at),
        balance_micros: account.balance.get(),
        held_micros: account.held.get(),
        available_micros: account.available().get(),
        budget: account.budget_status(&admin.service.billing.windows()).as_ref().map(budget::view),
    })
}

async fn team_view(admin: &Admin, team: Member) -> ApiResult<TeamView> {
    let account = admin.store().account(team.id).await?.ok_or_else(|| missing("team"))?;
    Ok(TeamView {
        object: "team".to_owned(),
        id: team.id.to_string(),
        name: team.name,
        blocked: team.blocked,
        created_at: clock::rfc3339(team.created_at),
        balance_micros: account.balance.get(),
        held_micros: account.held.get(),
        available_micros: account.available().get(),
        budget: account.budget_status(&admin.service.billing.windows()).as_ref().map(budget::view),
    })
}

fn posting_view(posting: &Posting) -> PostingView {
    PostingView {
        object: "posting".to_owned(),
        member: posting.member.to_string(),
        kind: posting.kind.as_str().to_owned(),
        amount_micros: posting.amount.get(),
        balance_micros: posting.balance.get(),
        reason: posting.reason.clone(),
        reference: posting.reference.clone(),
        at: clock::rfc3339(posting.at),
    }
}

fn line_view(line: &StatementLine) -> StatementView {
    let posting = &line.posting;
    StatementView {
        id: line.id,
        at: clock::rfc3339(posting.at),
        kind: posting.kind.as_str().to_owned(),
        amount_micros: posting.amount.get(),
        balance_micros: posting.balance.get(),
        reason: posting.reason.clone(),
        reference: posting.reference.clone(),
        request: posting.hold.map(|hold| hold.to_string()),
        operation: line.operation.clone(),
        model: line.model.clone(),
        asked_by: line.asked_by.map(|member| member.to_string()),
    }
}
