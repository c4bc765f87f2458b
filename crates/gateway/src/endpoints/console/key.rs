//! One key: limit, rotate, revoke. A member manages its own keys, an operator those of all members.

use std::ops::Deref;
use std::time::Duration;

use askama::Template;
use axum::extract::{FromRequestParts, Request};
use gateway_store::{Actor, KeyChange, KeyRecord, LimitsChange};
use http::StatusCode;
use http::header::SET_COOKIE;
use ledger::Limits;
use pages::Frame;

use super::super::path::Id;
use super::super::state::AppState;
use super::context::{MemberContext, OperatorContext, PageContext};
use super::fields::{FieldValues as _, Fields, WrongField};
use super::key_bounds;
use super::key_form::{KeyForm, above, limits};
use super::key_rows::{KeyRow, is_over, rows};
use super::page::{self, PageError, PageResult, Refusal, redirect, refusal};
use crate::operator::{Issued, Operator};

/// How long an old key stays valid, in seconds.
const OVERLAPS: &[(u64, &str)] =
    &[(0, "Stop at once"), (3600, "Keep for an hour"), (86_400, "Keep for a day")];

/// A request of a person who manages keys.
pub(super) trait KeyKeeper:
    Deref<Target = PageContext> + FromRequestParts<AppState> + Send + Sync + 'static
{
    /// The path of the pages.
    const BASE: &'static str;

    /// The actor in the audit log.
    fn actor(&self) -> Actor;

    fn can_see(&self, record: &KeyRecord) -> bool;

    fn can_change(&self, record: &KeyRecord) -> bool;

    /// Checks limits that the person wants for a key.
    fn check(&self, wanted: Limits, record: &KeyRecord) -> Result<(), WrongField>;

    fn operator<'a>(&'a self, by: &'a Actor) -> Operator<'a> {
        Operator { store: self.store(), by }
    }
}

impl KeyKeeper for MemberContext {
    const BASE: &'static str = "/keys";

    fn actor(&self) -> Actor {
        self.member_actor()
    }

    fn can_see(&self, record: &KeyRecord) -> bool {
        record.key.member == self.caller.key.member
    }

    fn can_change(&self, record: &KeyRecord) -> bool {
        key_bounds::covers(&self.caller, record)
    }

    fn check(&self, wanted: Limits, record: &KeyRecord) -> Result<(), WrongField> {
        let most = key_bounds::most(&self.caller, &self.config.limits.new_keys);
        key_bounds::exceeded(wanted, most, record.limits).map_or(Ok(()), |field| Err(above(field)))
    }
}

impl KeyKeeper for OperatorContext {
    const BASE: &'static str = "/operator/keys";

    fn actor(&self) -> Actor {
        self.by.clone()
    }

    fn can_see(&self, _: &KeyRecord) -> bool {
        true
    }

    fn can_change(&self, _: &KeyRecord) -> bool {
        true
    }

    fn check(&self, _: Limits, _: &KeyRecord) -> Result<(), WrongField> {
        Ok(())
    }
}

#[derive(Template)]
#[template(path = "console/key_secret.html")]
struct SecretPage {
    frame: Frame,
    base: &'static str,
    secret: String,
    id: String,
}

/// The only page that contains the secret of a key.
pub(super) fn show_secret<K: KeyKeeper>(
    context: &K,
    issued: &Issued,
    title: &'static str,
) -> PageResult {
    page::show(&SecretPage {
        frame: context.frame(title, K::BASE),
        base: K::BASE,
        secret: issued.key.as_str().to_owned(),
        id: issued.record.key.id.clone(),
    })
}

#[derive(Template)]
#[template(path = "console/key.html")]
struct KeyPage {
    frame: Frame,
    /// The path of these pages.
    base: &'static str,
    /// Whether the key may be that of another member.
    is_all: bool,
    csrf: String,
    row: KeyRow,
    models: String,
    rate: String,
    concurrency: String,
    form: KeyForm,
    /// Whether the person may change it.
    is_open: bool,
    wrong: &'static str,
    overlaps: &'static [(u64, &'static str)],
}

pub(super) async fn show<K: KeyKeeper>(context: K, Id(id): Id) -> PageResult {
    let record = find(&context, &id).await?;
    key_page(&context, record, None, StatusCode::OK, None).await
}

/// PostgreSQL rejects a text with a zero byte.
pub(super) fn is_id(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

async fn find<K: KeyKeeper>(context: &K, id: &str) -> PageResult<KeyRecord> {
    let record = if is_id(id) { context.store().key(id).await? } else { None };
    let record = record.filter(|record| context.can_see(record));
    record.ok_or_else(|| PageError::missing("key"))
}

/// A key that the person may change.
async fn find_open<K: KeyKeeper>(context: &K, id: &str) -> PageResult<KeyRecord> {
    let record = find(context, id).await?;
    if context.can_change(&record) {
        return Ok(record);
    }
    Err(PageError::forbidden(
        "The key you signed in with is narrower than this one, so it cannot change it.",
    ))
}

async fn key_page<K: KeyKeeper>(
    context: &K,
    record: KeyRecord,
    fields: Option<&Fields>,
    status: StatusCode,
    refusal: Option<Refusal>,
) -> PageResult {
    let (frame, wrong) = context.form_frame(&record.key.name, K::BASE, refusal);
    let number = |limit: Option<u32>| limit.map_or("no limit".to_owned(), |it| it.to_string());
    let form = KeyForm { name: record.key.name.clone(), ..KeyForm::default() };
    let page = KeyPage {
        frame,
        base: K::BASE,
        is_all: K::BASE == OperatorContext::BASE,
        csrf: context.csrf(),
        models: record.key.models.as_ref().map_or("all".to_owned(), |models| models.join(", ")),
        rate: number(record.limits.requests_per_minute),
        concurrency: number(record.limits.concurrency),
        form: fields.map_or_else(|| form.with_limits(record.limits), KeyForm::of),
        is_open: !is_over(&record) && context.can_change(&record),
        wrong,
        overlaps: OVERLAPS,
        row: rows(context, vec![record]).await?.remove(0),
    };
    page::show_as(status, &page)
}

pub(super) async fn change<K: KeyKeeper>(context: K, Id(id): Id, request: Request) -> PageResult {
    let fields = context.submitted(request).await?;
    let record = find_open(&context, &id).await?;
    let refused = match changed(&context, &record, &fields) {
        Err(wrong) => wrong.into(),
        Ok(change) => {
            let done = context.operator(&context.actor()).change_key(&id, change).await;
            let Err(error) = done else {
                // Keys of the same lineage share the limits.
                context.identities.forget_all();
                return Ok(redirect(&format!("{}/{id}?done=key-changed", K::BASE)));
            };
            refusal(error)?
        }
    };
    key_page(&context, record, Some(&fields), StatusCode::BAD_REQUEST, Some(refused)).await
}

fn changed<K: KeyKeeper>(
    context: &K,
    record: &KeyRecord,
    fields: &Fields,
) -> Result<KeyChange, WrongField> {
    let limits = limits(fields)?;
    context.check(limits, record)?;
    Ok(KeyChange {
        name: Some(fields.get("name").to_owned()),
        limits: LimitsChange::to(limits),
        ..KeyChange::default()
    })
}

pub(super) async fn rotate<K: KeyKeeper>(context: K, Id(id): Id, request: Request) -> PageResult {
    let headers = request.headers().clone();
    let fields = context.submitted(request).await?;
    let record = find_open(&context, &id).await?;
    let seconds = match fields.number("overlap") {
        Ok(seconds) => seconds.unwrap_or_default(),
        Err(wrong) => {
            let refused = Some(wrong.into());
            return key_page(&context, record, None, StatusCode::BAD_REQUEST, refused).await;
        }
    };
    let (by, hasher) = (context.actor(), &context.identities.hasher);
    let overlap = Duration::from_secs(seconds.into());
    let rotated = context.operator(&by).rotate_key(hasher, &id, overlap).await;
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

pub(super) async fn revoke<K: KeyKeeper>(context: K, Id(id): Id, request: Request) -> PageResult {
    context.submitted(request).await?;
    find_open(&context, &id).await?;
    let revoked = context.operator(&context.actor()).revoke_key(&id).await;
    context.identities.forget(&id);
    match revoked {
        Ok(_) => Ok(redirect(&format!("{}/{id}?done=key-revoked", K::BASE))),
        Err(error) => {
            let refused = Some(refusal(error)?);
            let record = find(&context, &id).await?;
            key_page(&context, record, None, StatusCode::CONFLICT, refused).await
        }
    }
}
