//! Keys of members. Only the response that creates a key contains its secret.

use std::time::Duration;

use axum::body::Body;
use axum::extract::RawQuery;
use axum::response::Response;
use gateway_store::{KeyChange, KeyRecord, LimitsChange, Scope};
use http::Request;
use ledger::{AccountKind, Limits, Micros, Time};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use wire::admin::{IssuedKey, KeyPatch, KeyRecordView, NewKeyBody, Page, Rotation, ScopeWord};
use wire::error::Code;

use super::members;
use super::{Admin, PageQuery, created, missing, parse, secret, strict};
use crate::budget;
use crate::clock;
use crate::endpoints::body;
use crate::endpoints::json::json;
use crate::endpoints::path::Id;
use crate::failure::ApiError;
use crate::operator::{Issued, KeyOrder};

const DEFAULT_NAME: &str = "key";

pub(in crate::endpoints) async fn list(
    admin: Admin,
    Id(id): Id,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let page_query = PageQuery::read(query.as_deref(), "after")?;
    let member = members::find(&admin, &id, AccountKind::Member).await?;
    let keys = admin.store().keys(member.id).await?;
    let start = match &page_query.cursor {
        None => 0,
        Some(cursor) => {
            let place = keys.iter().position(|record| record.key.id == *cursor);
            1 + place.ok_or_else(|| missing("key"))?
        }
    };
    let page = page_query.page(keys.into_iter().skip(start).collect());
    let mut data = Vec::with_capacity(page.data.len());
    for record in &page.data {
        data.push(view(&admin, record).await?);
    }
    Ok(json(&Page { object: page.object, data, has_more: page.has_more }))
}

pub(in crate::endpoints) async fn create(
    admin: Admin,
    Id(id): Id,
    request: Request<Body>,
) -> Result<Response, ApiError> {
    let asked: NewKeyBody = strict(&admin, request).await?;
    let member = members::find(&admin, &id, AccountKind::Member).await?;
    let defaults = admin.config.limits.new_keys.limits();
    let order = KeyOrder {
        member: member.id,
        name: asked.name.unwrap_or_else(|| DEFAULT_NAME.to_owned()),
        scopes: asked.scopes.map_or_else(|| Scope::ALL.to_vec(), |scopes| known(&scopes)),
        models: asked.models,
        expires_at: asked.expires_at.as_deref().map(parse_time).transpose()?,
        limits: Limits {
            spend: asked.spend_limit_micros.map_or(defaults.spend, |it| it.map(Micros::new)),
            requests_per_minute: asked.requests_per_minute.unwrap_or(defaults.requests_per_minute),
            concurrency: asked.concurrency.unwrap_or(defaults.concurrency),
            budget: asked.budget.map_or(defaults.budget, |it| it.map(budget::parse)),
        },
    };
    let hasher = admin.identities.hasher();
    issued(&admin, admin.operator().create_key(hasher, order).await?).await
}

pub(in crate::endpoints) async fn show(admin: Admin, Id(id): Id) -> Result<Response, ApiError> {
    let record = find(&admin, &id).await?;
    Ok(json(&view(&admin, &record).await?))
}

pub(in crate::endpoints) async fn change(
    admin: Admin,
    Id(id): Id,
    request: Request<Body>,
) -> Result<Response, ApiError> {
    let patch: KeyPatch = strict(&admin, request).await?;
    let record = find(&admin, &id).await?;
    let change = change_of(patch)?;
    if change == KeyChange::default() {
        return Ok(json(&view(&admin, &record).await?));
    }
    let record = admin.operator().change_key(&id, change).await?;
    // Keys of the same lineage share the limits.
    admin.identities.forget_all();
    Ok(json(&view(&admin, &record).await?))
}

pub(in crate::endpoints) async fn rotate(
    admin: Admin,
    Id(id): Id,
    request: Request<Body>,
) -> Result<Response, ApiError> {
    let (head, body) = request.into_parts();
    let bytes = body::read(&admin.config.limits, &head.headers, body).await?;
    let asked: Rotation = if bytes.is_empty() { Rotation::default() } else { parse(&bytes)? };
    find(&admin, &id).await?;
    let overlap = Duration::from_secs(asked.overlap_seconds.into());
    let (operator, hasher) = (admin.operator(), admin.identities.hasher());
    let new = operator.rotate_key(hasher, &id, overlap).await?;
    admin.identities.forget(&id);
    issued(&admin, new).await
}

pub(in crate::endpoints) async fn revoke(admin: Admin, Id(id): Id) -> Result<Response, ApiError> {
    find(&admin, &id).await?;
    let record = admin.operator().revoke_key(&id).await?;
    admin.identities.forget(&id);
    Ok(json(&view(&admin, &record).await?))
}

async fn find(admin: &Admin, id: &str) -> Result<KeyRecord, ApiError> {
    // PostgreSQL rejects a text with a zero byte.
    let is_id = id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let record = if is_id { admin.store().key(id).await? } else { None };
    record.ok_or_else(|| missing("key"))
}

async fn issued(admin: &Admin, new: Issued) -> Result<Response, ApiError> {
    let record = view(admin, &new.record).await?;
    Ok(secret(created(&IssuedKey { record, key: new.key.as_str().to_owned() })))
}

fn change_of(patch: KeyPatch) -> Result<KeyChange, ApiError> {
    let limits = LimitsChange {
        spend: patch.spend_limit_micros.map(|limit| limit.map(Micros::new)),
        requests_per_minute: patch.requests_per_minute,
        concurrency: patch.concurrency,
        budget: patch.budget.map(|budget| budget.map(budget::parse)),
    };
    let expires_at = match patch.expires_at {
        None => None,
        Some(None) => Some(None),
        Some(Some(text)) => Some(Some(parse_time(&text)?)),
    };
    Ok(KeyChange {
        name: patch.name,
        scopes: patch.scopes.as_deref().map(known),
        models: patch.models,
        expires_at,
        limits,
    })
}

fn known(words: &[ScopeWord]) -> Vec<Scope> {
    words.iter().filter_map(|word| Scope::parse(word.word())).collect()
}

fn parse_time(text: &str) -> Result<Time, ApiError> {
    let wrong = || {
        let message = "`expires_at` must be an RFC 3339 timestamp, such as 2030-01-31T12:00:00Z";
        ApiError::of_param(Code::InvalidRequest, "expires_at", message)
    };
    let at = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| wrong())?;
    let micros = i64::try_from(at.unix_timestamp_nanos() / 1000).map_err(|_| wrong())?;
    Ok(Time::from_micros(micros))
}

async fn view(admin: &Admin, record: &KeyRecord) -> Result<KeyRecordView, ApiError> {
    let key = &record.key;
    let lineage = admin.store().lineage(key.lineage).await?.ok_or_else(|| missing("key"))?;
    Ok(KeyRecordView {
        object: "key".to_owned(),
        id: key.id.clone(),
        member: key.member.to_string(),
        name: key.name.clone(),
        scopes: key.scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
        models: key.models.clone(),
        created_at: clock::rfc3339(key.created_at),
        expires_at: key.expires_at.map(clock::rfc3339),
        revoked_at: key.revoked_at.map(clock::rfc3339),
        spend_limit_micros: record.limits.spend.map(Micros::get),
        spent_micros: lineage.spent.get(),
        last_used_at: Some(lineage.last_used)
            .filter(|at| *at > Time::default())
            .map(clock::rfc3339),
        requests_per_minute: record.limits.requests_per_minute,
        concurrency: record.limits.concurrency,
        budget: lineage.budget_status(&admin.billing.windows()).as_ref().map(budget::view),
    })
}

#[cfg(test)]
mod tests;
