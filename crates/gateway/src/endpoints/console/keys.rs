//! The keys of a member: list, create; and the list of all keys for operators.

use askama::Template;
use axum::extract::Request;
use gateway_store::KeySearch;
use http::StatusCode;
use pages::Frame;

use super::context::{MemberContext, OperatorContext};
use super::fields::{FieldValues as _, Fields, WrongField};
use super::key::{self, KeyKeeper, is_id};
use super::key_bounds;
use super::key_form::{KeyForm, above, limits};
use super::key_rows::{KeyRow, is_over, rows};
use super::operator::member_by_word;
use super::page::{self, PageError, PageResult, Refusal, redirect, refusal};
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

pub(super) async fn list(context: MemberContext) -> PageResult {
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
pub(super) async fn list_all(context: OperatorContext) -> PageResult {
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
    wrong: &'static str,
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
            let by = context.actor();
            let created = context.operator(&by).create_key(&context.identities.hasher, order).await;
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

fn models(fields: &Fields) -> Option<Vec<String>> {
    let names = fields.get("models").split([',', '\n']).map(str::trim);
    let names: Vec<String> = names.filter(|it| !it.is_empty()).map(str::to_owned).collect();
    (!names.is_empty()).then_some(names)
}
