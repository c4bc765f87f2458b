//! The keys of a member: list, create, limit, rotate, revoke.

use axum::extract::Request;
use std::time::Duration;

use askama::Template;
use gateway_store::{Actor, KeyChange, KeyRecord, LimitsChange, Scope};
use http::StatusCode;
use http::header::SET_COOKIE;
use ledger::Limits;
use pages::{Frame, Html, credits};

use super::super::path::Id;
use super::budget::{self, BudgetCard, BudgetForm};
use super::context::MemberContext;
use super::fields::{Fields, WrongField};
use super::key_bounds;
use super::page::{self, PageError, PageResult, Refusal, redirect, refusal};
use crate::clock;
use crate::operator::{Issued, KeyOrder, Operator};

/// The most valid keys that a member may have and still create one.
const MAX_KEYS: usize = 50;
/// How long an old key stays valid, in seconds.
const OVERLAPS: &[(u64, &str)] =
    &[(0, "Stop at once"), (3600, "Keep for an hour"), (86_400, "Keep for a day")];

#[derive(Template)]
#[template(path = "console/keys.html")]
struct KeysPage {
    frame: Frame,
    keys: Vec<KeyRow>,
}

pub(super) struct KeyRow {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) state: Html,
    pub(super) is_over: bool,
    pub(super) scopes: String,
    pub(super) spent: String,
    pub(super) limit: String,
    pub(super) budgets: Vec<BudgetCard>,
    pub(super) created: Html,
    pub(super) expires: Html,
    pub(super) is_own: bool,
}

pub(super) async fn rows(
    context: &super::context::PageContext,
    mut keys: Vec<KeyRecord>,
) -> PageResult<Vec<KeyRow>> {
    let (now, windows) = (clock::now().micros(), context.billing.windows());
    keys.sort_by_key(|record| (is_over(record), std::cmp::Reverse(record.key.created_at)));
    let mut rows = Vec::with_capacity(keys.len());
    for record in keys {
        let lineage = context.store().lineage(record.key.lineage).await?;
        let key = &record.key;
        rows.push(KeyRow {
            state: state(&record),
            is_over: is_over(&record),
            scopes: scopes_text(&key.scopes),
            spent: credits(lineage.as_ref().map_or(0, |lineage| lineage.spent.get())),
            budgets: lineage
                .and_then(|lineage| lineage.budget_status(&windows))
                .iter()
                .map(BudgetCard::new)
                .collect(),
            limit: record.limits.spend.map_or("no limit".to_owned(), |it| credits(it.get())),
            created: pages::moment(key.created_at.micros(), now),
            expires: key.expires_at.map(|at| pages::moment(at.micros(), now)).unwrap_or_default(),
            is_own: context.session.key.as_ref() == Some(&key.id),
            id: key.id.clone(),
            name: key.name.clone(),
        });
    }
    Ok(rows)
}

fn is_over(record: &KeyRecord) -> bool {
    let is_expired = record.key.expires_at.is_some_and(|end| end <= clock::now());
    record.key.revoked_at.is_some() || is_expired
}

fn state(record: &KeyRecord) -> Html {
    match record.key.revoked_at {
        Some(_) => pages::tag("bad", "revoked"),
        None if is_over(record) => pages::tag("plain", "expired"),
        None => pages::tag("good", "valid"),
    }
}

fn scopes_text(scopes: &[Scope]) -> String {
    if scopes.len() == Scope::ALL.len() {
        return "all".to_owned();
    }
    scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(", ")
}

pub(super) async fn list(context: MemberContext) -> PageResult {
    let keys = context.store().keys(context.caller.key.member).await?;
    let keys = rows(&context, keys).await?;
    page::show(&KeysPage { frame: context.frame("Keys", "/keys"), keys })
}

#[derive(Template)]
#[template(path = "console/key_new.html")]
struct NewKeyPage {
    frame: Frame,
    csrf: String,
    closed: &'static str,
    scopes: Vec<(&'static str, bool)>,
    form: KeyForm,
    bounds: KeyForm,
    wrong: &'static str,
}

#[derive(Default)]
struct KeyForm {
    name: String,
    models: String,
    spend: String,
    rate: String,
    concurrency: String,
    days: String,
    budget: BudgetForm,
}

impl KeyForm {
    fn of(fields: &Fields) -> Self {
        let text = |name| fields.get(name).to_owned();
        Self {
            name: text("name"),
            models: text("models"),
            spend: text("spend"),
            rate: text("rate"),
            concurrency: text("concurrency"),
            days: text("days"),
            budget: BudgetForm::of(fields),
        }
    }

    fn with_limits(self, limits: Limits) -> Self {
        let number = |limit: Option<u32>| limit.map(|it| it.to_string()).unwrap_or_default();
        Self {
            spend: limits.spend.map(|it| plain_credits(it.get())).unwrap_or_default(),
            rate: number(limits.requests_per_minute),
            concurrency: number(limits.concurrency),
            budget: BudgetForm::new(limits.budget),
            ..self
        }
    }
}

/// An amount as a form has it, without separators.
fn plain_credits(micros: i64) -> String {
    credits(micros).replace(',', "")
}

pub(super) async fn form(context: MemberContext) -> PageResult {
    new_key(&context, &Fields::default(), StatusCode::OK, None)
}

fn new_key(
    context: &MemberContext,
    fields: &Fields,
    status: StatusCode,
    refusal: Option<Refusal>,
) -> PageResult {
    let most = key_bounds::most(&context.caller, &context.config.limits.new_keys);
    let is_new = refusal.is_none();
    let chosen: Vec<&str> = fields.all("scope").collect();
    let scopes = context.caller.key.scopes.iter().map(|scope| scope.as_str());
    let (frame, wrong) = context.form_frame("Create a key", "/keys", refusal);
    let page = NewKeyPage {
        frame,
        csrf: context.csrf(),
        closed: key_bounds::no_new_keys(&context.caller).unwrap_or_default(),
        scopes: scopes.map(|scope| (scope, is_new || chosen.contains(&scope))).collect(),
        form: KeyForm::of(fields),
        bounds: KeyForm::default().with_limits(most),
        wrong,
    };
    page::show_as(status, &page)
}

pub(super) async fn create(context: MemberContext, request: Request) -> PageResult {
    let fields = context.submitted(request).await?;
    if let Some(reason) = key_bounds::no_new_keys(&context.caller) {
        return Err(PageError::forbidden(reason));
    }
    let made = match order(&context, &fields).await? {
        Err(wrong) => Err(wrong.into()),
        Ok(order) => {
            let created = operator(&context, &context.actor())
                .create_key(&context.identities.hasher, order)
                .await;
            match created {
                Ok(issued) => Ok(issued),
                Err(error) => Err(refusal(error)?),
            }
        }
    };
    match made {
        Ok(issued) => show_secret(&context, &issued, "The key is created."),
        Err(refusal) => new_key(&context, &fields, StatusCode::BAD_REQUEST, Some(refusal)),
    }
}

async fn order(
    context: &MemberContext,
    fields: &Fields,
) -> PageResult<Result<KeyOrder, WrongField>> {
    let own = &context.caller;
    let keys = context.store().keys(own.key.member).await?;
    if keys.iter().filter(|record| !is_over(record)).count() >= MAX_KEYS {
        let message = format!("There are {MAX_KEYS} valid keys already. Revoke one first.");
        return Ok(Err(WrongField::new("", message)));
    }
    Ok(wanted(context, fields))
}

fn wanted(context: &MemberContext, fields: &Fields) -> Result<KeyOrder, WrongField> {
    let own = &context.caller;
    let most = key_bounds::most(own, &context.config.limits.new_keys);
    let limits = key_bounds::filled(limits(fields)?, most);
    if let Some(field) = key_bounds::exceeded(limits, most, most) {
        return Err(above(field));
    }
    let models = models(fields);
    if let Some(allowed) = &own.key.models
        && !models.as_ref().is_some_and(|chosen| chosen.iter().all(|it| allowed.contains(it)))
    {
        let message = format!("Your own key may use only {}.", allowed.join(", "));
        return Err(WrongField::new("models", message));
    }
    let expires_at = fields.days_from_now("days")?;
    let expires_at = [expires_at, own.key.expires_at].into_iter().flatten().min();
    let scopes = key_bounds::scopes(own, fields.all("scope"));
    let name = fields.get("name").to_owned();
    Ok(KeyOrder { member: own.key.member, name, scopes, models, expires_at, limits })
}

fn limits(fields: &Fields) -> Result<Limits, WrongField> {
    Ok(Limits {
        spend: fields.credits("spend")?,
        requests_per_minute: fields.number("rate")?,
        concurrency: fields.number("concurrency")?,
        budget: budget::read(fields)?,
    })
}

fn models(fields: &Fields) -> Option<Vec<String>> {
    let names = fields.get("models").split([',', '\n']).map(str::trim);
    let names: Vec<String> = names.filter(|it| !it.is_empty()).map(str::to_owned).collect();
    (!names.is_empty()).then_some(names)
}

fn above(field: &'static str) -> WrongField {
    WrongField::new(field, "This limit is higher than your own key or the operator allows.")
}

fn operator<'a>(context: &'a MemberContext, by: &'a Actor) -> Operator<'a> {
    Operator { store: context.store(), by }
}

#[derive(Template)]
#[template(path = "console/key_secret.html")]
struct SecretPage {
    frame: Frame,
    secret: String,
    id: String,
}

/// The only page that contains the secret of a key.
fn show_secret(context: &MemberContext, issued: &Issued, title: &'static str) -> PageResult {
    page::show(&SecretPage {
        frame: context.frame(title, "/keys"),
        secret: issued.key.as_str().to_owned(),
        id: issued.record.key.id.clone(),
    })
}

#[derive(Template)]
#[template(path = "console/key.html")]
struct KeyPage {
    frame: Frame,
    csrf: String,
    row: KeyRow,
    models: String,
    rate: String,
    concurrency: String,
    form: KeyForm,
    /// Whether the signed-in key may change it.
    is_open: bool,
    wrong: &'static str,
    overlaps: &'static [(u64, &'static str)],
}

pub(super) async fn show(context: MemberContext, Id(id): Id) -> PageResult {
    let record = find(&context, &id).await?;
    key_page(&context, record, None, StatusCode::OK, None).await
}

async fn find(context: &MemberContext, id: &str) -> PageResult<KeyRecord> {
    // PostgreSQL rejects a text with a zero byte.
    let is_id = id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let record = if is_id { context.store().key(id).await? } else { None };
    let record = record.filter(|record| record.key.member == context.caller.key.member);
    record.ok_or_else(|| PageError::missing("key"))
}

async fn find_open(context: &MemberContext, id: &str) -> PageResult<KeyRecord> {
    let record = find(context, id).await?;
    if key_bounds::covers(&context.caller, &record) {
        return Ok(record);
    }
    Err(PageError::forbidden(
        "The key you signed in with is narrower than this one, so it cannot change it.",
    ))
}

async fn key_page(
    context: &MemberContext,
    record: KeyRecord,
    fields: Option<&Fields>,
    status: StatusCode,
    refusal: Option<Refusal>,
) -> PageResult {
    let (frame, wrong) = context.form_frame(&record.key.name, "/keys", refusal);
    let number = |limit: Option<u32>| limit.map_or("no limit".to_owned(), |it| it.to_string());
    let form = KeyForm { name: record.key.name.clone(), ..KeyForm::default() };
    let page = KeyPage {
        frame,
        csrf: context.csrf(),
        models: record.key.models.as_ref().map_or("all".to_owned(), |models| models.join(", ")),
        rate: number(record.limits.requests_per_minute),
        concurrency: number(record.limits.concurrency),
        form: fields.map_or_else(|| form.with_limits(record.limits), KeyForm::of),
        is_open: !is_over(&record) && key_bounds::covers(&context.caller, &record),
        wrong,
        overlaps: OVERLAPS,
        row: rows(context, vec![record]).await?.remove(0),
    };
    page::show_as(status, &page)
}

pub(super) async fn change(context: MemberContext, Id(id): Id, request: Request) -> PageResult {
    let fields = context.submitted(request).await?;
    let record = find_open(&context, &id).await?;
    let refused = match changed(&context, &record, &fields) {
        Err(wrong) => wrong.into(),
        Ok(change) => {
            let done = operator(&context, &context.actor()).change_key(&id, change).await;
            let Err(error) = done else {
                // Keys of the same lineage share the limits.
                context.identities.forget_all();
                return Ok(redirect(&format!("/keys/{id}?done=key-changed")));
            };
            refusal(error)?
        }
    };
    key_page(&context, record, Some(&fields), StatusCode::BAD_REQUEST, Some(refused)).await
}

fn changed(
    context: &MemberContext,
    record: &KeyRecord,
    fields: &Fields,
) -> Result<KeyChange, WrongField> {
    let limits = limits(fields)?;
    let most = key_bounds::most(&context.caller, &context.config.limits.new_keys);
    if let Some(field) = key_bounds::exceeded(limits, most, record.limits) {
        return Err(above(field));
    }
    Ok(KeyChange {
        name: Some(fields.get("name").to_owned()),
        limits: LimitsChange::to(limits),
        ..KeyChange::default()
    })
}

pub(super) async fn rotate(context: MemberContext, Id(id): Id, request: Request) -> PageResult {
    let headers = request.headers().clone();
    let fields = context.submitted(request).await?;
    find_open(&context, &id).await?;
    let seconds = fields.get("overlap").parse().unwrap_or_default();
    let hasher = &context.identities.hasher;
    let by = context.actor();
    let rotated =
        operator(&context, &by).rotate_key(hasher, &id, Duration::from_secs(seconds)).await;
    context.identities.forget(&id);
    let issued = match rotated {
        Ok(issued) => issued,
        Err(error) => {
            let refused = Some(refusal(error)?);
            let record = find(&context, &id).await?;
            return key_page(&context, record, None, StatusCode::CONFLICT, refused).await;
        }
    };
    let mut response = show_secret(&context, &issued, "The key is rotated.")?;
    if context.session.key.as_ref() == Some(&id) {
        // The session continues with the new key.
        let caller = context.identities.signed_in(&issued.record.key.id).await?;
        let cookie = context.starter(&headers).start(Some(&caller)).await?;
        response.headers_mut().append(SET_COOKIE, cookie);
        context.store().end_session(context.session.member, context.session.hash).await?;
    }
    Ok(response)
}

pub(super) async fn revoke(context: MemberContext, Id(id): Id, request: Request) -> PageResult {
    context.submitted(request).await?;
    find_open(&context, &id).await?;
    let revoked = operator(&context, &context.actor()).revoke_key(&id).await;
    context.identities.forget(&id);
    match revoked {
        Ok(_) => Ok(redirect(&format!("/keys/{id}?done=key-revoked"))),
        Err(error) => {
            let refused = Some(refusal(error)?);
            let record = find(&context, &id).await?;
            key_page(&context, record, None, StatusCode::CONFLICT, refused).await
        }
    }
}
