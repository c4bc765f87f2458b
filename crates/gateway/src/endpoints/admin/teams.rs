//! Teams and their members.

use axum::extract::{RawQuery, Request};
use gateway_store::{Member, MemberChange};
use ledger::AccountKind;
use wire::admin::{NewTeam, Page, TeamPatch, TeamView};

use super::members::{self, after, apply, change_account, find};
use super::{Admin, PageQuery, created, missing, strict};
use crate::budget;
use crate::clock;
use crate::endpoints::json::json;
use crate::endpoints::path::Id;
use crate::failure::ApiResult;

pub(super) async fn list(admin: Admin, RawQuery(query): RawQuery) -> ApiResult {
    let page_query = PageQuery::read(query.as_deref(), "after")?;
    let teams = admin.store().teams(after(&page_query)?, page_query.one_more()).await?;
    let page = page_query.page(teams);
    let mut data = Vec::with_capacity(page.data.len());
    for team in &page.data {
        data.push(view(&admin, team).await?);
    }
    Ok(json(&Page { object: page.object, data, has_more: page.has_more }))
}

pub(super) async fn create(admin: Admin, request: Request) -> ApiResult {
    let new: NewTeam = strict(&admin, request).await?;
    let team = admin.operator().create_team(&new.name).await?;
    Ok(created(&view(&admin, &team).await?))
}

pub(super) async fn show(admin: Admin, Id(id): Id) -> ApiResult {
    let team = find(&admin, &id, AccountKind::Team).await?;
    Ok(json(&view(&admin, &team).await?))
}

pub(super) async fn change(admin: Admin, Id(id): Id, request: Request) -> ApiResult {
    let patch: TeamPatch = strict(&admin, request).await?;
    let team = find(&admin, &id, AccountKind::Team).await?;
    let team = change_account(&admin, team, patch).await?;
    Ok(json(&view(&admin, &team).await?))
}

pub(super) async fn remove(admin: Admin, Id(id): Id) -> ApiResult {
    let team = find(&admin, &id, AccountKind::Team).await?;
    let removed = apply(&admin, team.id, MemberChange::Remove).await?;
    Ok(json(&view(&admin, &removed).await?))
}

pub(super) async fn members(admin: Admin, Id(id): Id, RawQuery(query): RawQuery) -> ApiResult {
    let page_query = PageQuery::read(query.as_deref(), "after")?;
    let team = find(&admin, &id, AccountKind::Team).await?;
    let (after, limit) = (after(&page_query)?, page_query.one_more());
    let found = admin.store().team_members(team.id, after, limit).await?;
    members::page(&admin, &page_query, found).await
}

async fn view(admin: &Admin, team: &Member) -> ApiResult<TeamView> {
    let account = admin.store().account(team.id).await?.ok_or_else(|| missing("team"))?;
    Ok(TeamView {
        object: "team".to_owned(),
        id: team.id.to_string(),
        name: team.name.clone(),
        blocked: team.blocked,
        created_at: clock::rfc3339(team.created_at),
        balance_micros: account.balance.get(),
        held_micros: account.held.get(),
        available_micros: account.available().get(),
        budget: account.budget_status(&admin.billing.windows()).as_ref().map(budget::view),
    })
}
