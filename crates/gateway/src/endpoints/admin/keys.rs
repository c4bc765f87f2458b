//! Keys of members. Only the response that creates a key contains its secret.

use std::time::Duration;

use axum::extract::{RawQuery, Request};
use gateway_store::{KeyChange, KeyRecord, LimitsChange, Scope};
use http::HeaderValue;
use http::header::CACHE_CONTROL;
use ledger::{AccountKind, Micros, Time};
use wire::admin::{IssuedKey, KeyBody, KeyRecordView, Rotation, ScopeWord};

use super::{Admin, PageQuery, created, members, missing, parse, strict};
use crate::budget;
use crate::clock;
use crate::endpoints::{Id, body, json};
use crate::failure::{ApiError, ApiResult};
use crate::operator::Issued;

const DEFAULT_NAME: &str = "key";

pub(super) async fn list(admin: Admin, Id(id): Id, RawQuery(query): RawQuery) -> ApiResult {
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
    let keys = keys.into_iter().skip(start).collect();
    page_query.list(keys, |record| view(&admin, record)).await
}

pub(super) async fn create(admin: Admin, Id(id): Id, request: Request) -> ApiResult {
    let asked: KeyBody = strict(&admin, request).await?;
    let member = members::find(&admin, &id, AccountKind::Member).await?;
    let mut wanted = change_of(asked)?;
    wanted.name.get_or_insert_with(|| DEFAULT_NAME.to_owned());
    let defaults = admin.service.config.limits.new_keys.limits();
    let (operator, hasher) = (admin.operator(), &admin.service.identities.hasher);
    issued(&admin, operator.create_key(hasher, member.id, wanted, defaults).await?).await
}

pub(super) async fn show(admin: Admin, Id(id): Id) -> ApiResult {
    let record = find(&admin, &id).await?;
    Ok(json(&view(&admin, record).await?))
}

pub(super) async fn change(admin: Admin, Id(id): Id, request: Request) -> ApiResult {
    let patch: KeyBody = strict(&admin, request).await?;
    let record = find(&admin, &id).await?;
    let change = change_of(patch)?;
    if change == KeyChange::default() {
        return Ok(json(&view(&admin, record).await?));
    }
    let record = admin.operator().change_key(&id, change).await?;
    // Keys of the same lineage share the limits.
    admin.service.identities.forget_all();
    Ok(json(&view(&admin, record).await?))
}

pub(super) async fn rotate(admin: Admin, Id(id): Id, request: Request) -> ApiResult {
    let (head, body) = request.into_parts();
    let bytes = body::read(&admin.service.config.limits, &head.headers, body).await?;
    let asked: Rotation = if bytes.is_empty() { Rotation::default() } else { parse(&bytes)? };
    find(&admin, &id).await?;
    let overlap = Duration::from_secs(asked.overlap_seconds.into());
    let (operator, hasher) = (admin.operator(), &admin.service.identities.hasher);
    let new = operator.rotate_key(hasher, &id, overlap).await?;
    admin.service.identities.forget(&id);
    issued(&admin, new).await
}

pub(super) async fn revoke(admin: Admin, Id(id): Id) -> ApiResult {
    find(&admin, &id).await?;
    let record = admin.operator().revoke_key(&id).await?;
    admin.service.identities.forget(&id);
    Ok(json(&view(&admin, record).await?))
}

async fn find(admin: &Admin, id: &str) -> ApiResult<KeyRecord> {
    // PostgreSQL rejects a text with a zero byte.
    let is_id = id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let record = if is_id { admin.store().key(id).await? } else { None };
    record.ok_or_else(|| missing("key"))
}

async fn issued(admin: &Admin, new: Issued) -> ApiResult {
    let record = view(admin, new.record).await?;
    let mut response = created(&IssuedKey { record, key: new.key.as_str().to_owned() });
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

fn change_of(patch: KeyBody) -> ApiResult<KeyChange> {
    let limits = LimitsChange {
        spend: patch.spend_limit_micros.map(|limit| limit.map(Micros::new)),
        requests_per_minute: patch.requests_per_minute,
        concurrency: patch.concurrency,
        budget: patch.budget.map(|budget| budget.map(budget::parse)),
    };
    let expires_at = patch.expires_at.map(|end| end.as_deref().map(parse_time).transpose());
    Ok(KeyChange {
        name: patch.name,
        scopes: patch.scopes.as_deref().map(known_scopes),
        models: patch.models,
        expires_at: expires_at.transpose()?,
        limits,
    })
}

fn known_scopes(words: &[ScopeWord]) -> Vec<Scope> {
    words.iter().filter_map(|word| Scope::parse(word.into())).collect()
}

fn parse_time(text: &str) -> ApiResult<Time> {
    clock::parse_rfc3339(text).ok_or_else(|| {
        let message = "`expires_at` must be an RFC 3339 timestamp, such as 2030-01-31T12:00:00Z";
        ApiError::invalid("expires_at", message)
    })
}

async fn view(admin: &Admin, record: KeyRecord) -> ApiResult<KeyRecordView> {
    let key = record.key;
    let lineage = admin.store().lineage(key.lineage).await?.ok_or_else(|| missing("key"))?;
    Ok(KeyRecordView {
        object: "key".to_owned(),
        id: key.id,
        member: key.member.to_string(),
        name: key.name,
        scopes: key.scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
        models: key.models,
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
        budget: lineage.budget_status(&admin.service.billing.windows()).as_ref().map(budget::view),
    })
}

#[cfg(test)]
mod tests;
