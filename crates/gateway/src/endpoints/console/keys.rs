//! The keys of a member: list, create; and the list of all keys for operators.

use askama::Template;
use axum::extract::Request;
use gateway_store::{KeyChange, KeySearch};
use ledger::Limits;
use pages::{Fields, Frame};

use super::context::{MemberContext, OperatorContext};
use super::key::{ALL_KEYS, KeyRow, OWN_KEYS, is_id, is_over, rows, show_secret};
use super::operator::member_by_word;
use super::page::{self, PageError, PageResult, Pager, Refusal, redirect};
use super::{fields, filters, key_bounds};
use crate::operator::Issued;

/// Maximum valid keys with which a member can create another one.
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
    pager: Pager,
}

pub(super) async fn list(context: MemberContext) -> PageResult {
    let keys = context.store().keys(context.who.caller.key.member).await?;
    page::show(&KeysPage {
        frame: context.frame("Keys", OWN_KEYS),
        base: OWN_KEYS,
        is_all: false,
        keys: rows(&context, keys).await?,
        query: String::new(),
        pager: Pager::default(),
    })
}

/// The keys of all members, or those of a name or of a member. An id leads to its key.
pub(super) async fn list_all(context: OperatorContext) -> PageResult {
    // PostgreSQL rejects a text with a zero byte.
    let query = context.param("q").replace('\0', "");
    let id = query.trim_start_matches("agk_").trim_end_matches('…');
    if !id.is_empty() && is_id(id) && context.store().key(id).await?.is_some() {
        return Ok(redirect(&format!("{ALL_KEYS}/{id}")));
    }
    let member = match query.as_str() {
        "" => None,
        word => member_by_word(&context, word).await?.map(|it| it.id),
    };
    let after = Some(context.param("after")).filter(|after| is_id(after)).unwrap_or_default();
    let search = KeySearch { name: query.clone(), member, after: after.to_owned() };
    let mut found = context.store().find_keys(&search, PAGE + 1).await?;
    let pager = context.pager(&mut found, PAGE, |record| record.key.id.clone());
    page::show(&KeysPage {
        frame: context.frame("Keys", ALL_KEYS),
        base: ALL_KEYS,
        is_all: true,
        keys: rows(&context, found).await?,
        query,
        pager,
    })
}

#[derive(Template)]
#[template(path = "console/key_new.html")]
struct NewKeyPage {
    frame: Frame,
    /// Why no key can be created.
    closed: Option<&'static str>,
    scopes: Vec<(&'static str, bool)>,
    form: Fields,
    bounds: Fields,
}

pub(super) async fn form(context: MemberContext) -> PageResult {
    new_key(&context, Fields::default(), None)
}

fn new_key(context: &MemberContext, form: Fields, refusal: Option<Refusal>) -> PageResult {
    let most = key_bounds::most(&context.who.caller, &context.service.config.limits.new_keys);
    let is_new = refusal.is_none();
    let scopes = context.who.caller.key.scopes.iter().map(|scope| scope.as_str());
    let is_chosen = |scope: &str| is_new || form.all("scope").any(|chosen| chosen == scope);
    let scopes = scopes.map(|scope| (scope, is_chosen(scope))).collect();
    let (frame, status) = context.form_frame("Create a key", OWN_KEYS, refusal);
    let closed = key_bounds::no_new_keys(&context.who.caller);
    let bounds = fields::of_key("", most);
    page::show_as(status, &NewKeyPage { frame, closed, scopes, form, bounds })
}

pub(super) async fn create(context: MemberContext, request: Request) -> PageResult {
    let fields = context.submitted(request).await?;
    if let Some(reason) = key_bounds::no_new_keys(&context.who.caller) {
        return Err(PageError::forbidden(reason));
    }
    match created(&context, &fields).await {
        Ok(issued) => show_secret(&context, OWN_KEYS, &issued, "The key is created."),
        Err(error) => new_key(&context, fields, Some(error.refusal()?)),
    }
}

async fn created(context: &MemberContext, fields: &Fields) -> PageResult<Issued> {
    let keys = context.store().keys(context.who.caller.key.member).await?;
    if keys.iter().filter(|record| !is_over(record)).count() >= MAX_KEYS {
        let message = format!("There are {MAX_KEYS} valid keys already. Revoke one first.");
        return Err(Refusal::new("", message).into());
    }
    let (hasher, member) = (&context.service.identities.hasher, context.who.caller.key.member);
    let (wanted, limits) = requested_key(context, fields)?;
    Ok(context.operator().create_key(hasher, member, wanted, limits).await?)
}

/// The key that a form describes, and its limits.
fn requested_key(context: &MemberContext, fields: &Fields) -> Result<(KeyChange, Limits), Refusal> {
    let own = &context.who.caller;
    let most = key_bounds::most(own, &context.service.config.limits.new_keys);
    let limits = key_bounds::filled(fields::limits(fields)?, most);
    key_bounds::check(limits, most, most)?;
    let models = models(fields);
    if let Some(allowed) = &own.key.models
        && !models.as_ref().is_some_and(|chosen| chosen.iter().all(|it| allowed.contains(it)))
    {
        let message = format!("Your own key may use only {}.", allowed.join(", "));
        return Err(Refusal::new("models", message));
    }
    let expires_at = fields::days_from_now(fields, "days")?;
    let expires_at = [expires_at, own.key.expires_at].into_iter().flatten().min();
    let wanted = KeyChange {
        name: Some(fields.get("name").to_owned()),
        scopes: Some(key_bounds::scopes(own, fields.all("scope"))),
        models: Some(models),
        expires_at: Some(expires_at),
        ..KeyChange::default()
    };
    Ok((wanted, limits))
}

fn models(fields: &Fields) -> Option<Vec<String>> {
    let names = fields.get("models").split([',', '\n']).map(str::trim);
    let names: Vec<String> = names.filter(|it| !it.is_empty()).map(str::to_owned).collect();
    (!names.is_empty()).then_some(names)
}
