//! Members and teams: list, create, block, money, keys, roles.

use std::collections::HashMap;

use askama::Template;
use axum::extract::Request;
use axum::response::Response;
use gateway_store::{KeyChange, Member, MemberChange, Role, StatementLine};
use ledger::{
    Account, AccountKind, BudgetStatus, MemberId, Micros, PostingKind, Transfer, TransferResult,
};
use pages::{Fields, Frame, Html, Notice};

use crate::clock;
use crate::endpoints::Id;
use crate::endpoints::console::context::OperatorContext;
use crate::endpoints::console::key::{self, KeyRow};
use crate::endpoints::console::page::{self, PageError, PageResult, Pager, Refusal, redirect};
use crate::endpoints::console::receipts::ReceiptRow;
use crate::endpoints::console::{fields, filters};

const PAGE: u32 = 50;
const RECENT: u32 = 20;
const MAX_TEAM: u32 = 500;

#[derive(Template)]
#[template(path = "console/operator/members.html")]
struct MembersPage<'a> {
    frame: Frame,
    base: &'static str,
    /// `member` or `team`.
    noun: &'static str,
    members: Vec<(Member, Account)>,
    query: &'a str,
    name: &'a str,
    pager: Pager,
}

fn base(kind: AccountKind) -> &'static str {
    match kind {
        AccountKind::Member => "/operator/members",
        AccountKind::Team | AccountKind::RemovedTeam => "/operator/teams",
    }
}

pub(super) async fn list(context: OperatorContext, kind: AccountKind) -> PageResult {
    let query = context.param("q");
    if !query.is_empty()
        && let Some(found) = by_word(&context, query).await?
    {
        return Ok(redirect(&format!("{}/{}", base(found.kind), found.id)));
    }
    members_page(&context, kind, "", None).await
}

/// The member or team of a name or an id.
pub(in crate::endpoints::console) async fn by_word(
    context: &OperatorContext,
    word: &str,
) -> PageResult<Option<Member>> {
    let found = match MemberId::parse(word) {
        Some(id) => context.store().member(id).await?,
        None => context.store().member_by_name(word).await?,
    };
    Ok(found.filter(|found| found.kind != AccountKind::RemovedTeam))
}

async fn members_page(
    context: &OperatorContext,
    kind: AccountKind,
    name: &str,
    refusal: Option<Refusal>,
) -> PageResult {
    let after = MemberId::parse(context.param("after")).unwrap_or(MemberId(0));
    let mut found = match kind {
        AccountKind::Member => context.store().members(after, PAGE + 1).await?,
        _ => context.store().teams(after, PAGE + 1).await?,
    };
    let pager = context.pager(&mut found, PAGE, |member| member.id.to_string());
    let mut members = Vec::with_capacity(found.len());
    for member in found {
        let account = account(context, member.id).await?;
        members.push((member, account));
    }
    let (query, base, noun) = (context.param("q"), base(kind), kind.as_str());
    let title = if kind == AccountKind::Member { "Members" } else { "Teams" };
    let (mut frame, status) = context.form_frame(title, base, refusal);
    if frame.notice.is_none() && !query.is_empty() {
        frame.notice = Some(Notice::bad(format!("No {noun} has the name or id “{query}”.")));
    }
    page::show_as(status, &MembersPage { frame, base, noun, members, query, name, pager })
}

/// The account of a member, with its usage of the present periods.
async fn account(context: &OperatorContext, member: MemberId) -> PageResult<Account> {
    let found = context.store().account(member).await?;
    let account = found.ok_or_else(|| PageError::missing("member"))?;
    Ok(Account { usage: account.usage.at(clock::now()), ..account })
}

fn state(member: &Member) -> Html {
    if member.blocked { pages::tag("bad", "blocked") } else { pages::tag("good", "active") }
}

pub(super) async fn create(
    context: OperatorContext,
    kind: AccountKind,
    request: Request,
) -> PageResult {
    let fields = context.submitted(request).await?;
    let name = fields.get("name");
    let created = match kind {
        AccountKind::Member => context.operator().create_member(name).await,
        _ => context.operator().create_team(name).await,
    };
    match created {
        Ok(made) => Ok(done(&made, &format!("{}-created", kind.as_str()))),
        Err(error) => {
            let refusal = PageError::from(error).refusal()?;
            members_page(&context, kind, name, Some(refusal)).await
        }
    }
}

/// Redirects to the page of a member or team with a success notice.
fn done(account: &Member, word: &str) -> Response {
    redirect(&format!("{}/{}?done={word}", base(account.kind), account.id))
}

#[derive(Template)]
#[template(path = "console/operator/member.html")]
struct MemberPage<'a> {
    frame: Frame,
    base: &'static str,
    is_team: bool,
    member: &'a Member,
    account: Account,
    keys: Vec<KeyRow>,
    members: Vec<Member>,
    /// The name of the team of a member; empty for none.
    team: String,
    statement: Vec<ReceiptRow>,
    budget: Option<BudgetStatus>,
    budget_form: Fields,
    shown: Shown,
}

/// What the page of a member shows besides the member.
#[derive(Default)]
struct Shown {
    /// Input of the transfer form, and the resulting balance.
    transfer: Fields,
    balance_after: Option<Micros>,
    budget: Option<Fields>,
    /// The secret of a key that was just created.
    secret: String,
}

pub(super) async fn show(context: OperatorContext, Id(id): Id) -> PageResult {
    let member = find(&context, &id).await?;
    member_page(&context, &member, Shown::default(), None).await
}

async fn find(context: &OperatorContext, id: &str) -> PageResult<Member> {
    let missing = || PageError::missing("member");
    let id = MemberId::parse(id).ok_or_else(missing)?;
    let found = context.store().member(id).await?;
    found.filter(|found| found.kind != AccountKind::RemovedTeam).ok_or_else(missing)
}

/// The statement of a member, or that of a team with the names of those who asked.
async fn statement(context: &OperatorContext, member: &Member) -> PageResult<Vec<ReceiptRow>> {
    let lines = context.store().statement(member.id, i64::MAX, RECENT).await?;
    let askers: Vec<MemberId> = lines.iter().filter_map(|line| line.asked_by).collect();
    let names = match member.kind {
        AccountKind::Member => HashMap::new(),
        _ => context.store().member_names(&askers).await?,
    };
    let row = |line: StatementLine| {
        let asker = line.asked_by.and_then(|asker| names.get(&asker));
        let row = ReceiptRow::from(line);
        match asker {
            Some(name) => ReceiptRow { detail: format!("{name}: {}", row.detail), ..row },
            None => row,
        }
    };
    Ok(lines.into_iter().map(row).collect())
}

async fn team_name(context: &OperatorContext, member: &Member) -> PageResult<String> {
    let Some(team) = member.team else { return Ok(String::new()) };
    let mut names = context.store().member_names(&[team]).await?;
    Ok(names.remove(&team).unwrap_or_default())
}

async fn member_page(
    context: &OperatorContext,
    member: &Member,
    mut shown: Shown,
    refusal: Option<Refusal>,
) -> PageResult {
    let budget_form = shown.budget.take();
    let (frame, status) = context.form_frame(&member.name, base(member.kind), refusal);
    let account = account(context, member.id).await?;
    let keys = context.store().keys(member.id).await?;
    let page = MemberPage {
        frame,
        base: base(member.kind),
        is_team: member.kind == AccountKind::Team,
        member,
        keys: key::rows(context, keys).await?,
        members: context.store().team_members(member.id, MemberId(0), MAX_TEAM).await?,
        team: team_name(context, member).await?,
        statement: statement(context, member).await?,
        budget: account.budget_status(&context.service.billing.windows()),
        budget_form: budget_form.unwrap_or_else(|| fields::of_budget(member.budget)),
        shown,
        account,
    };
    page::show_as(status, &page)
}

/// Changes a member or a team: name, block, budget, role, team, members, removal.
pub(super) async fn change(context: OperatorContext, Id(id): Id, request: Request) -> PageResult {
    let fields = context.submitted(request).await?;
    let member = find(&context, &id).await?;
    match changed(&context, &member, &fields).await {
        Ok(response) => Ok(response),
        Err(error) => {
            let budget = (fields.get("action") == "budget").then_some(fields);
            let shown = Shown { budget, ..Shown::default() };
            member_page(&context, &member, shown, Some(error.refusal()?)).await
        }
    }
}

async fn changed(context: &OperatorContext, member: &Member, fields: &Fields) -> PageResult {
    let mut changed_id = member.id;
    let change = match fields.get("action") {
        "block" => MemberChange::Block,
        "unblock" => MemberChange::Unblock,
        "remove" => MemberChange::Remove,
        "role" => MemberChange::Role(Role::parse(fields.get("role")).unwrap_or_default()),
        "team" => MemberChange::Team(requested_team(context, fields.get("team")).await?),
        action @ ("join" | "leave") => {
            let word = fields.get("member");
            let of_team = |it: &Member| action == "join" || it.team == Some(member.id);
            let wanted = by_word(context, word).await?;
            let wanted = wanted.filter(|it| it.kind == AccountKind::Member && of_team(it));
            let refused = || Refusal::new("member", format!("There is no member “{word}”."));
            changed_id = wanted.ok_or_else(refused)?.id;
            MemberChange::Team((action == "join").then_some(member.id))
        }
        "budget" => MemberChange::Budget(fields::budget(fields)?),
        _ => MemberChange::Rename(fields.get("name").to_owned()),
    };
    let changed = context.operator().change_member(changed_id, &change).await;
    context.service.identities.forget_all();
    changed?;
    Ok(match change {
        MemberChange::Remove => redirect("/operator/teams?done=team-removed"),
        _ => done(member, &format!("{}-changed", member.kind.as_str())),
    })
}

/// The team named in a form; `None` if the field is empty.
async fn requested_team(context: &OperatorContext, word: &str) -> PageResult<Option<MemberId>> {
    if word.is_empty() {
        return Ok(None);
    }
    let found = by_word(context, word).await?.filter(|found| found.kind == AccountKind::Team);
    let refused = || Refusal::new("team", format!("There is no team “{word}”."));
    Ok(Some(found.ok_or_else(refused)?.id))
}

/// Moves money: the first form is shown again with the balance before and after, the second posts.
pub(super) async fn transfer(context: OperatorContext, Id(id): Id, request: Request) -> PageResult {
    let fields = context.submitted(request).await?;
    let member = find(&context, &id).await?;
    let wanted = requested_transfer(&member, &fields);
    let is_confirmed = fields.get("confirmed") == "yes";
    let mut shown = Shown { transfer: fields, ..Shown::default() };
    let transfer = match wanted {
        Ok(transfer) => transfer,
        Err(refusal) => return member_page(&context, &member, shown, Some(refusal)).await,
    };
    if !is_confirmed {
        let balance = account(&context, member.id).await?.balance.get();
        shown.balance_after = Some(Micros::new(balance.saturating_add(transfer.amount.get())));
        return member_page(&context, &member, shown, None).await;
    }
    match context.operator().transfer(transfer).await {
        Ok(TransferResult::Posted(_)) => Ok(done(&member, "posted")),
        Ok(TransferResult::AlreadyPosted(_)) => Ok(done(&member, "already-posted")),
        Err(error) => {
            let refusal = PageError::from(error).refusal()?;
            member_page(&context, &member, shown, Some(refusal)).await
        }
    }
}

fn requested_transfer(member: &Member, fields: &Fields) -> Result<Transfer, Refusal> {
    let missing = || Refusal::new("amount", "Write the amount in credits.");
    let amount = fields::amount(fields, "amount")?.ok_or_else(missing)?;
    if amount == Micros::ZERO {
        return Err(Refusal::new("amount", "The amount must not be zero."));
    }
    if fields.get("reason").is_empty() {
        return Err(Refusal::new("reason", "Write a reason: the member sees it."));
    }
    let reference = Some(fields.get("reference")).filter(|text| !text.is_empty());
    Ok(Transfer {
        member: member.id,
        kind: if amount > Micros::ZERO { PostingKind::TopUp } else { PostingKind::Adjustment },
        amount,
        reason: fields.get("reason").to_owned(),
        reference: reference.map(str::to_owned),
    })
}

/// Creates a key of all scopes with the limits of the configuration.
pub(super) async fn create_key(
    context: OperatorContext,
    Id(id): Id,
    request: Request,
) -> PageResult {
    let fields = context.submitted(request).await?;
    let member = find(&context, &id).await?;
    let wanted = KeyChange { name: Some(fields.get("name").to_owned()), ..KeyChange::default() };
    let (hasher, limits) =
        (&context.service.identities.hasher, context.service.config.limits.new_keys.limits());
    let (mut shown, mut refusal) = (Shown::default(), None);
    match context.operator().create_key(hasher, member.id, wanted, limits).await {
        Ok(issued) => issued.key.as_str().clone_into(&mut shown.secret),
        Err(error) => refusal = Some(PageError::from(error).refusal()?),
    }
    member_page(&context, &member, shown, refusal).await
}
