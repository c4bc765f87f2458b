//! Members and teams: list, create, block, money, keys, roles.

use askama::Template;
use axum::extract::Request;
use axum::response::Response;
use gateway_store::{Member, MemberChange, Role, Scope};
use http::StatusCode;
use ledger::{Account, AccountKind, MemberId, Micros, PostingKind, Transfer, TransferResult};
use pages::{Frame, Html, credits};

use crate::clock;
use crate::endpoints::console::budget::{self, BudgetCard, BudgetForm};
use crate::endpoints::console::context::OperatorContext;
use crate::endpoints::console::fields::{FieldValues as _, Fields, WrongField};
use crate::endpoints::console::key_rows::{self, KeyRow};
use crate::endpoints::console::page::{self, PageError, PageResult, Refusal, redirect, refusal};
use crate::endpoints::console::receipts::{self, ReceiptRow};
use crate::endpoints::path::Id;
use crate::operator::KeyOrder;

const PAGE: u32 = 50;
const RECENT: u32 = 20;
const MAX_TEAM: u32 = 500;

#[derive(Template)]
#[template(path = "console/operator/members.html")]
struct MembersPage {
    frame: Frame,
    csrf: String,
    base: &'static str,
    /// `member` or `team`.
    noun: &'static str,
    members: Vec<MemberRow>,
    query: String,
    name: String,
    next: String,
    is_first: bool,
}

struct MemberRow {
    id: String,
    name: String,
    state: Html,
    balance: String,
    held: String,
    month: String,
    created: Html,
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
    members_page(&context, kind, StatusCode::OK, "", None).await
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
    status: StatusCode,
    name: &str,
    refusal: Option<Refusal>,
) -> PageResult {
    let after = MemberId::parse(context.param("after"));
    let first = after.unwrap_or(MemberId(0));
    let mut found = match kind {
        AccountKind::Member => context.store().members(first, PAGE + 1).await?,
        _ => context.store().teams(first, PAGE + 1).await?,
    };
    let has_more = found.len() > PAGE as usize;
    found.truncate(PAGE as usize);
    let mut members = Vec::with_capacity(found.len());
    for member in &found {
        members.push(row(context, member).await?);
    }
    let query = context.param("q");
    let (base, noun) = (base(kind), kind.as_str());
    let title = if kind == AccountKind::Member { "Members" } else { "Teams" };
    let mut frame = context.frame(title, base);
    if let Some(refusal) = refusal {
        frame.notice = Some(page::refused(refusal.message));
    } else if !query.is_empty() {
        frame.notice = Some(page::refused(format!("No {noun} has the name or id “{query}”.")));
    }
    let page = MembersPage {
        frame,
        csrf: context.csrf(),
        base,
        noun,
        next: members.last().filter(|_| has_more).map(|row| row.id.clone()).unwrap_or_default(),
        members,
        query: query.to_owned(),
        name: name.to_owned(),
        is_first: after.is_none(),
    };
    page::show_as(status, &page)
}

async fn account(context: &OperatorContext, member: MemberId) -> PageResult<Account> {
    context.store().account(member).await?.ok_or_else(|| PageError::missing("member"))
}

async fn row(context: &OperatorContext, member: &Member) -> PageResult<MemberRow> {
    let account = account(context, member.id).await?;
    let usage = account.usage.at(clock::now());
    Ok(MemberRow {
        id: member.id.to_string(),
        name: member.name.clone(),
        state: state(member),
        balance: credits(account.balance.get()),
        held: credits(account.held.get()),
        month: credits(usage.month.charged.get()),
        created: pages::moment(member.created_at.micros(), clock::now().micros()),
    })
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
            let refused = Some(refusal(error)?);
            members_page(&context, kind, StatusCode::BAD_REQUEST, name, refused).await
        }
    }
}

/// Leads back to the page of a member or team, which says what was done.
fn done(account: &Member, word: &str) -> Response {
    redirect(&format!("{}/{}?done={word}", base(account.kind), account.id))
}

#[derive(Template)]
#[template(path = "console/operator/member.html")]
struct MemberPage {
    frame: Frame,
    csrf: String,
    base: &'static str,
    is_team: bool,
    row: MemberRow,
    available: String,
    is_blocked: bool,
    keys: Vec<KeyRow>,
    members: Vec<TeamMemberRow>,
    /// The role and the team of a member.
    roles: [(&'static str, bool); 3],
    team: String,
    statement: Vec<ReceiptRow>,
    form: TransferForm,
    budget: BudgetForm,
    budgets: Vec<BudgetCard>,
    /// The secret of a key that was just created.
    secret: String,
    wrong: &'static str,
}

struct TeamMemberRow {
    id: String,
    name: String,
    role: &'static str,
}

#[derive(Default)]
struct TransferForm {
    amount: String,
    reason: String,
    reference: String,
    /// What the balance would become.
    after: String,
    is_checked: bool,
}

pub(super) async fn show(context: OperatorContext, Id(id): Id) -> PageResult {
    let member = find(&context, &id).await?;
    member_page(&context, &member, Shown::default()).await
}

/// What the page of a member shows besides the member.
#[derive(Default)]
struct Shown {
    form: TransferForm,
    budget: Option<BudgetForm>,
    refusal: Option<Refusal>,
    secret: String,
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
    let askers: Vec<Option<MemberId>> = lines.iter().map(|line| line.asked_by).collect();
    let mut rows = receipts::rows(lines);
    if member.kind == AccountKind::Member {
        return Ok(rows);
    }
    let ids: Vec<MemberId> = askers.iter().copied().flatten().collect();
    let names = context.store().member_names(&ids).await?;
    for (row, asker) in rows.iter_mut().zip(askers) {
        if let Some(name) = asker.and_then(|asker| names.get(&asker)) {
            row.detail = format!("{name}: {}", row.detail);
        }
    }
    Ok(rows)
}

async fn team_name(context: &OperatorContext, member: &Member) -> PageResult<String> {
    let Some(team) = member.team else { return Ok(String::new()) };
    let mut names = context.store().member_names(&[team]).await?;
    Ok(names.remove(&team).unwrap_or_default())
}

async fn member_page(context: &OperatorContext, member: &Member, shown: Shown) -> PageResult {
    let keys = context.store().keys(member.id).await?;
    let members = context.store().team_members(member.id, MemberId(0), MAX_TEAM).await?;
    let members = members.into_iter().map(|it| TeamMemberRow {
        id: it.id.to_string(),
        name: it.name,
        role: it.role.as_str(),
    });
    let status = if shown.refusal.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let (frame, wrong) = context.form_frame(&member.name, base(member.kind), shown.refusal);
    let account = account(context, member.id).await?;
    let budget = account.budget_status(&context.billing.windows());
    let page = MemberPage {
        frame,
        csrf: context.csrf(),
        base: base(member.kind),
        is_team: member.kind == AccountKind::Team,
        members: members.collect(),
        roles: Role::ALL.map(|role| (role.as_str(), role == member.role)),
        team: team_name(context, member).await?,
        available: credits(account.available().get()),
        budget: shown.budget.unwrap_or_else(|| BudgetForm::new(member.budget)),
        budgets: budget.iter().map(BudgetCard::new).collect(),
        row: row(context, member).await?,
        is_blocked: member.blocked,
        keys: key_rows::rows(context, keys).await?,
        statement: statement(context, member).await?,
        form: shown.form,
        secret: shown.secret,
        wrong,
    };
    page::show_as(status, &page)
}

/// Changes a member or a team: name, block, budget, role, team, members, removal.
pub(super) async fn change(context: OperatorContext, Id(id): Id, request: Request) -> PageResult {
    let fields = context.submitted(request).await?;
    let member = find(&context, &id).await?;
    let mut changed_id = member.id;
    let change = match fields.get("action") {
        "block" => MemberChange::Block,
        "unblock" => MemberChange::Unblock,
        "remove" => MemberChange::Remove,
        "role" => MemberChange::Role(Role::parse(fields.get("role")).unwrap_or_default()),
        "team" => match wanted_team(&context, fields.get("team")).await? {
            Ok(team) => MemberChange::Team(team),
            Err(refused) => return refused_page(&context, &member, refused).await,
        },
        action @ ("join" | "leave") => {
            let wanted = by_word(&context, fields.get("member")).await?;
            let of_team = |it: &Member| action == "join" || it.team == Some(member.id);
            let wanted = wanted.filter(|it| it.kind == AccountKind::Member && of_team(it));
            let Some(wanted) = wanted else {
                let message = format!("There is no member “{}”.", fields.get("member"));
                let refused = Refusal { field: "member", message };
                return refused_page(&context, &member, refused).await;
            };
            changed_id = wanted.id;
            MemberChange::Team((action == "join").then_some(member.id))
        }
        "budget" => match budget::read(&fields) {
            Ok(budget) => MemberChange::Budget(budget),
            Err(wrong) => {
                let budget = Some(BudgetForm::of(&fields));
                let shown = Shown { budget, refusal: Some(wrong.into()), ..Shown::default() };
                return member_page(&context, &member, shown).await;
            }
        },
        _ => MemberChange::Rename(fields.get("name").to_owned()),
    };
    let changed = context.operator().change_member(changed_id, &change).await;
    context.identities.forget_all();
    match changed {
        Ok(_) if change == MemberChange::Remove => {
            Ok(redirect("/operator/teams?done=team-removed"))
        }
        Ok(_) => Ok(done(&member, &format!("{}-changed", member.kind.as_str()))),
        Err(error) => refused_page(&context, &member, refusal(error)?).await,
    }
}

async fn refused_page(context: &OperatorContext, member: &Member, refusal: Refusal) -> PageResult {
    member_page(context, member, Shown { refusal: Some(refusal), ..Shown::default() }).await
}

/// The team that a form names; `None` if the field is empty.
async fn wanted_team(
    context: &OperatorContext,
    word: &str,
) -> PageResult<Result<Option<MemberId>, Refusal>> {
    if word.is_empty() {
        return Ok(Ok(None));
    }
    let found = by_word(context, word).await?.filter(|found| found.kind == AccountKind::Team);
    let refused = || Refusal { field: "team", message: format!("There is no team “{word}”.") };
    Ok(found.map(|team| Some(team.id)).ok_or_else(refused))
}

/// Moves money: the first form is shown again with the balance before and after, the second posts.
pub(super) async fn transfer(context: OperatorContext, Id(id): Id, request: Request) -> PageResult {
    let fields = context.submitted(request).await?;
    let member = find(&context, &id).await?;
    let mut form = TransferForm {
        amount: fields.get("amount").to_owned(),
        reason: fields.get("reason").to_owned(),
        reference: fields.get("reference").to_owned(),
        ..TransferForm::default()
    };
    let transfer = match wanted(&member, &fields) {
        Ok(transfer) => transfer,
        Err(wrong) => {
            let shown = Shown { form, refusal: Some(wrong.into()), ..Shown::default() };
            return member_page(&context, &member, shown).await;
        }
    };
    if fields.get("confirmed") != "yes" {
        let balance = account(&context, member.id).await?.balance;
        form.after = credits(balance.get().saturating_add(transfer.amount.get()));
        form.is_checked = true;
        return member_page(&context, &member, Shown { form, ..Shown::default() }).await;
    }
    match context.operator().transfer(transfer).await {
        Ok(TransferResult::Posted(_)) => Ok(done(&member, "posted")),
        Ok(TransferResult::AlreadyPosted(_)) => Ok(done(&member, "already-posted")),
        Err(error) => {
            let shown = Shown { form, refusal: Some(refusal(error)?), ..Shown::default() };
            member_page(&context, &member, shown).await
        }
    }
}

fn wanted(member: &Member, fields: &Fields) -> Result<Transfer, WrongField> {
    let missing = || WrongField::new("amount", "Write the amount in credits.");
    let amount = fields.credits("amount")?.ok_or_else(missing)?;
    if amount == Micros::ZERO {
        return Err(WrongField::new("amount", "The amount must not be zero."));
    }
    if fields.get("reason").is_empty() {
        return Err(WrongField::new("reason", "Write a reason: the member sees it."));
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
    let order = KeyOrder {
        member: member.id,
        name: fields.get("name").to_owned(),
        scopes: Scope::ALL.to_vec(),
        models: None,
        expires_at: None,
        limits: context.config.limits.new_keys.limits(),
    };
    let mut shown = Shown::default();
    match context.operator().create_key(&context.identities.hasher, order).await {
        Ok(issued) => issued.key.as_str().clone_into(&mut shown.secret),
        Err(error) => shown.refusal = Some(refusal(error)?),
    }
    member_page(&context, &member, shown).await
}
