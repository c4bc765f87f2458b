//! Members: list, create, block, money, keys.

use askama::Template;
use axum::body::Body;
use axum::extract::Path;
use axum::response::Response;
use gateway_store::{Member, MemberChange, Scope};
use http::{Request, StatusCode};
use ledger::{Account, Limits, MemberId, Micros, PostingKind, Transfer, TransferResult};
use pages::{Frame, Html, credits};

use crate::clock;
use crate::endpoints::console::budget::{self, BudgetCard, BudgetForm};
use crate::endpoints::console::context::OperatorContext;
use crate::endpoints::console::fields::{Fields, WrongField};
use crate::endpoints::console::keys::{self, KeyRow};
use crate::endpoints::console::page::{self, PageError, Refusal, redirect, refusal};
use crate::endpoints::console::receipts::{self, ReceiptRow};
use crate::endpoints::path::Id;
use crate::operator::{KeyOrder, Operator};

const PAGE: u32 = 50;
/// Postings on the page of a member.
const RECENT: u32 = 20;

#[derive(Template)]
#[template(path = "console/operator/members.html")]
struct MembersPage {
    frame: Frame,
    csrf: String,
    members: Vec<MemberRow>,
    query: String,
    name: String,
    next: String,
    is_first: bool,
}

/// A member in a table.
struct MemberRow {
    id: String,
    name: String,
    state: Html,
    balance: String,
    held: String,
    month: String,
    created: Html,
}

fn operator(context: &OperatorContext) -> Operator<'_> {
    Operator { store: context.store(), by: &context.by }
}

pub(in crate::endpoints) async fn list(context: OperatorContext) -> Result<Response, PageError> {
    let query = context.param("q");
    if !query.is_empty() {
        let found = match MemberId::parse(query) {
            Some(id) => context.store().member(id).await?,
            None => context.store().member_by_name(query).await?,
        };
        if let Some(member) = found {
            return Ok(redirect(&format!("/operator/members/{}", member.id)));
        }
    }
    members_page(&context, StatusCode::OK, "", None).await
}

async fn members_page(
    context: &OperatorContext,
    status: StatusCode,
    name: &str,
    refusal: Option<Refusal>,
) -> Result<Response, PageError> {
    let after = MemberId::parse(context.param("after"));
    let mut found = context.store().members(after.unwrap_or(MemberId(0)), PAGE + 1).await?;
    let has_more = found.len() > PAGE as usize;
    found.truncate(PAGE as usize);
    let mut members = Vec::with_capacity(found.len());
    for member in &found {
        members.push(row(context, member).await?);
    }
    let query = context.param("q");
    let mut frame = context.frame("Members", "/operator/members");
    if let Some(refusal) = refusal {
        frame.notice = Some(page::refused(refusal.message));
    } else if !query.is_empty() {
        frame.notice = Some(page::refused(format!("No member has the name or id “{query}”.")));
    }
    let page = MembersPage {
        frame,
        csrf: context.csrf(),
        next: members.last().filter(|_| has_more).map(|row| row.id.clone()).unwrap_or_default(),
        members,
        query: query.to_owned(),
        name: name.to_owned(),
        is_first: after.is_none(),
    };
    page::show_as(status, &page)
}

async fn account(context: &OperatorContext, member: MemberId) -> Result<Account, PageError> {
    context.store().account(member).await?.ok_or_else(|| PageError::missing("member"))
}

async fn row(context: &OperatorContext, member: &Member) -> Result<MemberRow, PageError> {
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

pub(in crate::endpoints) async fn create(
    context: OperatorContext,
    request: Request<Body>,
) -> Result<Response, PageError> {
    let fields = context.submitted(request).await?;
    match operator(&context).create_member(fields.get("name")).await {
        Ok(member) => Ok(redirect(&format!("/operator/members/{}?done=member-created", member.id))),
        Err(error) => {
            let refused = Some(refusal(error)?);
            members_page(&context, StatusCode::BAD_REQUEST, fields.get("name"), refused).await
        }
    }
}

#[derive(Template)]
#[template(path = "console/operator/member.html")]
struct MemberPage {
    frame: Frame,
    csrf: String,
    row: MemberRow,
    available: String,
    is_blocked: bool,
    keys: Vec<KeyRow>,
    statement: Vec<ReceiptRow>,
    form: TransferForm,
    budget: BudgetForm,
    budgets: Vec<BudgetCard>,
    /// The secret of a key that was just created.
    secret: String,
    wrong: &'static str,
}

/// The texts of the form that moves money.
#[derive(Default)]
struct TransferForm {
    amount: String,
    reason: String,
    reference: String,
    /// What the balance would become.
    after: String,
    is_checked: bool,
}

pub(in crate::endpoints) async fn show(
    context: OperatorContext,
    Id(id): Id,
) -> Result<Response, PageError> {
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

async fn find(context: &OperatorContext, id: &str) -> Result<Member, PageError> {
    let missing = || PageError::missing("member");
    let id = MemberId::parse(id).ok_or_else(missing)?;
    context.store().member(id).await?.ok_or_else(missing)
}

async fn member_page(
    context: &OperatorContext,
    member: &Member,
    shown: Shown,
) -> Result<Response, PageError> {
    let keys = context.store().keys(member.id).await?;
    let lines = context.store().statement(member.id, i64::MAX, RECENT).await?;
    let mut frame = context.frame(&member.name, "/operator/members");
    let wrong = shown.refusal.as_ref().map_or("", |refusal| refusal.field);
    let status = if shown.refusal.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    if let Some(refusal) = shown.refusal {
        frame.notice = Some(page::refused(refusal.message));
    }
    let account = account(context, member.id).await?;
    let budget = account.budget_status(&context.billing.windows());
    let page = MemberPage {
        frame,
        csrf: context.csrf(),
        available: credits(account.available().get()),
        budget: shown.budget.unwrap_or_else(|| BudgetForm::new(member.budget)),
        budgets: budget.iter().map(BudgetCard::new).collect(),
        row: row(context, member).await?,
        is_blocked: member.blocked,
        keys: keys::rows(context, keys).await?,
        statement: receipts::rows(lines),
        form: shown.form,
        secret: shown.secret,
        wrong,
    };
    page::show_as(status, &page)
}

/// Renames, blocks or unblocks a member, or sets its budget.
pub(in crate::endpoints) async fn change(
    context: OperatorContext,
    Id(id): Id,
    request: Request<Body>,
) -> Result<Response, PageError> {
    let fields = context.submitted(request).await?;
    let member = find(&context, &id).await?;
    let change = match fields.get("action") {
        "block" => MemberChange::Block,
        "unblock" => MemberChange::Unblock,
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
    let changed = operator(&context).change_member(member.id, &change).await;
    context.identities.forget_all();
    match changed {
        Ok(_) => Ok(redirect(&format!("/operator/members/{id}?done=member-changed"))),
        Err(error) => {
            let shown = Shown { refusal: Some(refusal(error)?), ..Shown::default() };
            member_page(&context, &member, shown).await
        }
    }
}

/// Moves money: the first form is shown again with the balance before and after, the second posts.
pub(in crate::endpoints) async fn transfer(
    context: OperatorContext,
    Id(id): Id,
    request: Request<Body>,
) -> Result<Response, PageError> {
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
    match operator(&context).transfer(transfer).await {
        Ok(TransferResult::Posted(_)) => {
            Ok(redirect(&format!("/operator/members/{id}?done=posted")))
        }
        Ok(TransferResult::AlreadyPosted(_)) => {
            Ok(redirect(&format!("/operator/members/{id}?done=already-posted")))
        }
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
pub(in crate::endpoints) async fn create_key(
    context: OperatorContext,
    Id(id): Id,
    request: Request<Body>,
) -> Result<Response, PageError> {
    let fields = context.submitted(request).await?;
    let member = find(&context, &id).await?;
    let defaults = context.config.limits.new_keys;
    let order = KeyOrder {
        member: member.id,
        name: fields.get("name").to_owned(),
        scopes: Scope::ALL.to_vec(),
        models: None,
        expires_at: None,
        limits: Limits {
            spend: defaults.spend_micros.map(Micros::new),
            requests_per_minute: defaults.requests_per_minute,
            concurrency: defaults.concurrency,
            budget: None,
        },
    };
    let mut shown = Shown::default();
    match operator(&context).create_key(context.identities.hasher(), order).await {
        Ok(issued) => issued.key.as_str().clone_into(&mut shown.secret),
        Err(error) => shown.refusal = Some(refusal(error)?),
    }
    member_page(&context, &member, shown).await
}

pub(in crate::endpoints) async fn revoke_key(
    context: OperatorContext,
    Path((id, key)): Path<(String, String)>,
    request: Request<Body>,
) -> Result<Response, PageError> {
    context.submitted(request).await?;
    let member = find(&context, &id).await?;
    let keys = context.store().keys(member.id).await?;
    if !keys.iter().any(|record| record.key.id == key) {
        return Err(PageError::missing("key"));
    }
    match operator(&context).revoke_key(&key).await {
        Ok(_) => {
            context.identities.forget(&key);
            Ok(redirect(&format!("/operator/members/{id}?done=key-revoked")))
        }
        Err(error) => {
            let shown = Shown { refusal: Some(refusal(error)?), ..Shown::default() };
            member_page(&context, &member, shown).await
        }
    }
}
