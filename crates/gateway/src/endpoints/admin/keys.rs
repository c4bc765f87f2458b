//! Keys of members. The secret of a key is in the answer that makes it, and nowhere else.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use gateway_store::{KeyChange, KeyRecord, LimitsChange, NewKey, Scope};
use http::Request;
use ledger::{Limits, Micros, Time};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use wire::admin::{
    IssuedKey, KeyPatch, KeyRecordView, MAX_AMOUNT_MICROS, MAX_KEY_MODELS, MAX_KEY_RATE,
    MAX_NAME_CHARS, MAX_OVERLAP_SECONDS, NewKeyBody, Page, Rotation, ScopeWord,
};
use wire::error::Code;
use wire::key::ApiKey;

use super::members;
use super::{Admin, Asked, check_range, check_text, created, missing, parse, secret, strict, told};
use crate::clock;
use crate::endpoints::body;
use crate::endpoints::operations::json;
use crate::endpoints::path::Id;
use crate::failure::ApiError;
use crate::key_secret;
use crate::service::Service;

/// What a key is called that was given no name.
const DEFAULT_NAME: &str = "key";
const MICROS_A_SECOND: i64 = 1_000_000;

pub(in crate::endpoints) async fn list(
    State(service): State<Arc<Service>>,
    _: Admin,
    Id(id): Id,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let asked = Asked::read(query.as_deref(), "after")?;
    let member = members::find(&service, &id).await?;
    let keys = service.store.keys(member.id).await?;
    let start = match &asked.cursor {
        None => 0,
        Some(cursor) => {
            let place = keys.iter().position(|record| record.key.id == *cursor);
            1 + place.ok_or_else(|| missing("key"))?
        }
    };
    let page = asked.page(keys.into_iter().skip(start).collect());
    let mut data = Vec::with_capacity(page.data.len());
    for record in &page.data {
        data.push(view(&service, record).await?);
    }
    Ok(json(&Page { object: page.object, data, has_more: page.has_more }))
}

pub(in crate::endpoints) async fn create(
    State(service): State<Arc<Service>>,
    admin: Admin,
    Id(id): Id,
    request: Request<Body>,
) -> Result<Response, ApiError> {
    let asked: NewKeyBody = strict(&service, request).await?;
    let member = members::find(&service, &id).await?;
    let name = asked.name.unwrap_or_else(|| DEFAULT_NAME.to_owned());
    check_text("name", &name, MAX_NAME_CHARS)?;
    if let Some(models) = &asked.models {
        check_models(models)?;
    }
    if let Some(scopes) = &asked.scopes {
        check_scopes(scopes)?;
    }
    let defaults = service.config.limits.new_keys;
    let limits = Limits {
        spend: asked.spend_limit_micros.unwrap_or(defaults.spend_micros).map(Micros::new),
        requests_per_minute: asked.requests_per_minute.unwrap_or(defaults.requests_per_minute),
        concurrency: asked.concurrency.unwrap_or(defaults.concurrency),
    };
    check_limits(&limits)?;
    let key = draw()?;
    let new = NewKey {
        id: key.public_id().to_owned(),
        hash: service.identities.hasher().hash(&key),
        member: member.id,
        name,
        scopes: asked.scopes.map_or_else(|| Scope::ALL.to_vec(), |scopes| known(&scopes)),
        models: asked.models,
        expires_at: asked.expires_at.as_deref().map(parse_time).transpose()?,
        limits,
    };
    service.store.create_key(&new, &admin.by).await.map_err(told)?;
    issued(&service, &key).await
}

pub(in crate::endpoints) async fn show(
    State(service): State<Arc<Service>>,
    _: Admin,
    Id(id): Id,
) -> Result<Response, ApiError> {
    let record = find(&service, &id).await?;
    Ok(json(&view(&service, &record).await?))
}

pub(in crate::endpoints) async fn change(
    State(service): State<Arc<Service>>,
    admin: Admin,
    Id(id): Id,
    request: Request<Body>,
) -> Result<Response, ApiError> {
    let patch: KeyPatch = strict(&service, request).await?;
    let record = find(&service, &id).await?;
    let change = change_of(patch)?;
    if change == KeyChange::default() {
        return Ok(json(&view(&service, &record).await?));
    }
    let record = service.store.change_key(&id, &change, &admin.by).await.map_err(told)?;
    // The limits are those of other keys too.
    service.identities.forget_all();
    Ok(json(&view(&service, &record).await?))
}

pub(in crate::endpoints) async fn rotate(
    State(service): State<Arc<Service>>,
    admin: Admin,
    Id(id): Id,
    request: Request<Body>,
) -> Result<Response, ApiError> {
    let (head, body) = request.into_parts();
    let bytes = body::read(&service, &head.headers, body).await?;
    let asked: Rotation = if bytes.is_empty() { Rotation::default() } else { parse(&bytes)? };
    check_range("overlap_seconds", &asked.overlap_seconds, (0, MAX_OVERLAP_SECONDS))?;
    let old = find(&service, &id).await?;
    if old.key.revoked_at.is_some() || old.key.expires_at.is_some_and(|end| end <= clock::now()) {
        let message = "this key is revoked or expired; make a new one";
        return Err(ApiError::new(Code::Conflict, message));
    }
    let key = draw()?;
    let new = (key.public_id(), service.identities.hasher().hash(&key));
    let overlap = i64::from(asked.overlap_seconds) * MICROS_A_SECOND;
    service.store.rotate_key(&id, new, overlap, &admin.by).await.map_err(told)?;
    service.identities.forget(&id);
    issued(&service, &key).await
}

pub(in crate::endpoints) async fn revoke(
    State(service): State<Arc<Service>>,
    admin: Admin,
    Id(id): Id,
) -> Result<Response, ApiError> {
    find(&service, &id).await?;
    let record = service.store.revoke_key(&id, &admin.by).await.map_err(told)?;
    service.identities.forget(&id);
    Ok(json(&view(&service, &record).await?))
}

async fn find(service: &Service, id: &str) -> Result<KeyRecord, ApiError> {
    // A database may refuse a text with a zero in it.
    let is_id = id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let record = if is_id { service.store.key(id).await? } else { None };
    record.ok_or_else(|| missing("key"))
}

async fn issued(service: &Service, key: &ApiKey) -> Result<Response, ApiError> {
    let record = find(service, key.public_id()).await?;
    let record = view(service, &record).await?;
    Ok(secret(created(&IssuedKey { record, key: key.as_str().to_owned() })))
}

/// A key that nobody has.
fn draw() -> Result<ApiKey, ApiError> {
    key_secret::draw().ok_or_else(|| {
        tracing::error!("the machine gives no random bytes");
        ApiError::internal()
    })
}

fn change_of(patch: KeyPatch) -> Result<KeyChange, ApiError> {
    if let Some(name) = &patch.name {
        check_text("name", name, MAX_NAME_CHARS)?;
    }
    if let Some(Some(models)) = &patch.models {
        check_models(models)?;
    }
    if let Some(scopes) = &patch.scopes {
        check_scopes(scopes)?;
    }
    let limits = LimitsChange {
        spend: patch.spend_limit_micros.map(|limit| limit.map(Micros::new)),
        requests_per_minute: patch.requests_per_minute,
        concurrency: patch.concurrency,
    };
    check_limits(&limits.applied(Limits::default()))?;
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

/// Scopes as the store knows them, each once.
fn known(words: &[ScopeWord]) -> Vec<Scope> {
    let is_named = |scope: &Scope| words.iter().any(|word| word.word() == scope.word());
    Scope::ALL.into_iter().filter(is_named).collect()
}

fn check_scopes(scopes: &[ScopeWord]) -> Result<(), ApiError> {
    if (1..=Scope::ALL.len()).contains(&scopes.len()) {
        return Ok(());
    }
    let message = format!("`scopes` must be 1 to {} words", Scope::ALL.len());
    Err(ApiError::of_param(Code::InvalidRequest, "scopes", message))
}

fn check_models(models: &[String]) -> Result<(), ApiError> {
    if !(1..=MAX_KEY_MODELS).contains(&models.len()) {
        let message = format!("`models` must be 1 to {MAX_KEY_MODELS} ids, or null for all");
        return Err(ApiError::of_param(Code::InvalidRequest, "models", message));
    }
    models.iter().try_for_each(|model| check_text("models", model, MAX_NAME_CHARS))
}

fn check_limits(limits: &Limits) -> Result<(), ApiError> {
    if let Some(spend) = limits.spend {
        check_range("spend_limit_micros", &spend.get(), (0, MAX_AMOUNT_MICROS))?;
    }
    if let Some(rate) = limits.requests_per_minute {
        check_range("requests_per_minute", &rate, (0, MAX_KEY_RATE))?;
    }
    if let Some(concurrency) = limits.concurrency {
        check_range("concurrency", &concurrency, (0, MAX_KEY_RATE))?;
    }
    Ok(())
}

fn parse_time(text: &str) -> Result<Time, ApiError> {
    let wrong = || {
        let message = "`expires_at` must be a moment of RFC 3339, such as 2030-01-31T12:00:00Z";
        ApiError::of_param(Code::InvalidRequest, "expires_at", message)
    };
    let at = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| wrong())?;
    let micros = i64::try_from(at.unix_timestamp_nanos() / 1000).map_err(|_| wrong())?;
    Ok(Time::from_micros(micros))
}

async fn view(service: &Service, record: &KeyRecord) -> Result<KeyRecordView, ApiError> {
    let key = &record.key;
    let lineage = service.store.lineage(key.lineage).await?.ok_or_else(|| missing("key"))?;
    Ok(KeyRecordView {
        object: "key".to_owned(),
        id: key.id.clone(),
        member: key.member.to_string(),
        name: key.name.clone(),
        scopes: key.scopes.iter().map(|scope| scope.word().to_owned()).collect(),
        models: key.models.clone(),
        created_at: clock::rfc3339(key.created_at),
        expires_at: key.expires_at.map(clock::rfc3339),
        revoked_at: key.revoked_at.map(clock::rfc3339),
        spend_limit_micros: record.limits.spend.map(Micros::get),
        spent_micros: lineage.spent.get(),
        requests_per_minute: record.limits.requests_per_minute,
        concurrency: record.limits.concurrency,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scope_of_the_store_has_its_word() {
        for scope in Scope::ALL {
            let word: ScopeWord = serde_json::from_value(scope.word().into()).unwrap();
            assert_eq!(known(&[word, word]), [scope]);
        }
    }

    #[test]
    fn moments_are_read_to_the_microsecond() {
        let at = parse_time("1970-01-01T01:00:00.000002+01:00").unwrap();
        assert_eq!(at.micros(), 2);
        assert!(parse_time("tomorrow").is_err() && parse_time("").is_err());
    }

    #[test]
    fn a_change_of_nothing_is_none() {
        let change = change_of(KeyPatch::default()).unwrap();
        assert_eq!(change, KeyChange::default());
    }
}
