//! The keys of a member: list, create; and the list of all keys for operators.

use askama::Template;
use axum::body::Body;
use axum::response::Response;
use gateway_store::{KeyRecord, KeySearch, Scope};
use http::{Request, StatusCode};
use ledger::{Limits, Time};
use pages::{Frame, Html, credits};

use super::budget::{self, BudgetCard, BudgetForm};
use super::context::{MemberContext, OperatorContext, PageContext};
use super::fields::{Fields, WrongField};
use super::key::{self, KeyKeeper, is_id};
use super::key_bounds;
use super::operator::member_by_word;
use super::page::{self, PageError, Refusal, redirect, refusal};
use crate::clock;
use crate::operator::KeyOrder;

/// The most valid keys that a member may have and still create one.
const MAX_KEYS: usize = 50;
/// Keys on a page of all keys.
const PAGE: u32 = 50;

#[derive(Template)]
#[template(path = "console/keys.html")]
struct KeysPage {
    frame: Frame,
    /// The path of these pages.
    base: &'static str,
    /// Whether the keys of all members are shown, and the search among them.
    is_all: bool,
    keys: Vec<KeyRow>,
    query: String,
    next: String,
    is_first: bool,
}

/// A key in a table.
pub(super) struct KeyRow {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) state: Html,
    pub(super) is_over: bool,
    pub(super) scopes: String,
    pub(super) spent: String,
    pub(super) limit: String,
    /// All limits in a few words.
    pub(super) limits: String,
    pub(super) budgets: Vec<BudgetCard>,
    pub(super) member: String,
    pub(super) member_name: String,
    /// Empty if it was not used.
    pub(super) used: Html,
    pub(super) created: Html,
    pub(super) expires: Html,
    pub(super) is_own: bool,
}

/// Rows of keys, the valid ones first.
pub(super) async fn rows(
    context: &PageContext,
    mut keys: Vec<KeyRecord>,
) -> Result<Vec<KeyRow>, PageError> {
    let (now, windows) = (clock::now().micros(), context.billing.windows());
    keys.sort_by_key(|record| (is_over(record), std::cmp::Reverse(record.key.created_at)));
    let mut rows = Vec::with_capacity(keys.len());
    for record in keys {
        let lineage = context.store().lineage(record.key.lineage).await?;
        let key = &record.key;
        let used = lineage.as_ref().map(|lineage| lineage.last_used);
        let used = used.filter(|at| *at > Time::default());
        let used = used.map(|at| pages::moment(at.micros(), now)).unwrap_or_default();
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
            limits: limits_text(record.limits),
            member: key.member.to_string(),
            member_name: record.member_name.clone(),
            used,
            created: pages::moment(key.created_at.micros(), now),
            expires: key.expires_at.map(|at| pages::moment(at.micros(), now)).unwrap_or_default(),
            is_own: context.session.key.as_ref() == Some(&key.id),
            id: key.id.clone(),
            name: key.name.clone(),
        });
    }
    Ok(rows)
}

fn limits_text(limits: Limits) -> String {
    let parts = [
        limits.spend.map(|it| format!("{} credits", credits(it.get()))),
        limits.budget.map(|it| format!("{} per {}", credits(it.amount.get()), it.period.as_str())),
        limits.requests_per_minute.map(|it| format!("{it} requests/min")),
        limits.concurrency.map(|it| format!("{it} at once")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

pub(super) fn is_over(record: &KeyRecord) -> bool {
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

pub(super) async fn list(context: MemberContext) -> Result<Response, PageError> {
    let keys = context.store().keys(context.caller.key.member).await?;
    page::show(&KeysPage {
        frame: context.frame("Keys", MemberContext::BASE),
        base: MemberContext::BASE,
        is_all: false,
        keys: rows(&context, keys).await?,
        query: String::new(),
        next: String::new(),
        is_first: true,
    })
}

/// The keys of all members, or those of a name or of a member. An id leads to its key.
pub(super) async fn list_all(context: OperatorContext) -> Result<Response, PageError> {
    // PostgreSQL rejects a text with a zero byte.
    let query = context.param("q").replace('\0', "");
    let id = query.trim_start_matches("agk_").trim_end_matches('…');
    if !id.is_empty() && is_id(id) && context.store().key(id).await?.is_some() {
        return Ok(redirect(&format!("{}/{id}", OperatorContext::BASE)));
    }
    let member = match query.as_str() {
        "" => None,
        word => member_by_word(&context, word).await?.map(|it| it.id),
    };
    let after = Some(context.param("after")).filter(|after| is_id(after)).unwrap_or_default();
    let search = KeySearch { name: query.clone(), member, after: after.to_owned() };
    let mut found = context.store().find_keys(&search, PAGE + 1).await?;
    let has_more = found.len() > PAGE as usize;
    found.truncate(PAGE as usize);
    let last = found.last().filter(|_| has_more).map(|record| record.key.id.clone());
    page::show(&KeysPage {
        frame: context.frame("Keys", OperatorContext::BASE),
        base: OperatorContext::BASE,
        is_all: true,
        keys: rows(&context, found).await?,
        query,
        next: last.unwrap_or_default(),
        is_first: after.is_empty(),
    })
}

#[derive(Template)]
#[template(path = "console/key_new.html")]
struct NewKeyPage {
    frame: Frame,
    csrf: String,
    /// Why no key can be created.
    closed: &'static str,
    scopes: Vec<(&'static str, bool)>,
    form: KeyForm,
    bounds: KeyForm,
    /// The field that was refused.
    wrong: &'static str,
}

/// The texts of a form.
#[derive(Default)]
pub(super) struct KeyForm {
    pub(super) name: String,
    pub(super) models: String,
    pub(super) spend: String,
    pub(super) rate: String,
    pub(super) concurrency: String,
    pub(super) days: String,
    pub(super) budget: BudgetForm,
}

impl KeyForm {
    pub(super) fn of(fields: &Fields) -> Self {
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

    pub(super) fn with_limits(self, limits: Limits) -> Self {
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

pub(super) async fn form(context: MemberContext) -> Result<Response, PageError> {
    new_key(&context, &Fields::default(), StatusCode::OK, None)
}

fn new_key(
    context: &MemberContext,
    fields: &Fields,
    status: StatusCode,
    refusal: Option<Refusal>,
) -> Result<Response, PageError> {
    let most = key_bounds::most(&context.caller, &context.config.limits.new_keys);
    let is_new = refusal.is_none();
    let chosen: Vec<&str> = fields.all("scope").collect();
    let scopes = context.caller.key.scopes.iter().map(|scope| scope.as_str());
    let mut frame = context.frame("Create a key", "/keys");
    let wrong = refusal.as_ref().map_or("", |refusal| refusal.field);
    if let Some(refusal) = refusal {
        frame.notice = Some(page::refused(refusal.message));
    }
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

pub(super) async fn create(
    context: MemberContext,
    request: Request<Body>,
) -> Result<Response, PageError> {
    let fields = context.submitted(request).await?;
    if let Some(reason) = key_bounds::no_new_keys(&context.caller) {
        return Err(PageError::forbidden(reason));
    }
    let made = match order(&context, &fields).await? {
        Err(wrong) => Err(wrong.into()),
        Ok(order) => {
            let by = context.actor();
            let created =
                context.operator(&by).create_key(context.identities.hasher(), order).await;
            match created {
                Ok(issued) => Ok(issued),
                Err(error) => Err(refusal(error)?),
            }
        }
    };
    match made {
        Ok(issued) => key::show_secret(&context, &issued, "The key is created."),
        Err(refusal) => new_key(&context, &fields, StatusCode::BAD_REQUEST, Some(refusal)),
    }
}

/// The key that a form asks for, within the bounds.
async fn order(
    context: &MemberContext,
    fields: &Fields,
) -> Result<Result<KeyOrder, WrongField>, PageError> {
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

pub(super) fn limits(fields: &Fields) -> Result<Limits, WrongField> {
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

pub(super) fn above(field: &'static str) -> WrongField {
    WrongField::new(field, "This limit is higher than your own key or the operator allows.")
}
