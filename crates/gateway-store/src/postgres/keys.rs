//! Keys and their lineages.

use ledger::{Limits, MemberId, Time};
use serde_json::{Map, Value, json};
use tokio_postgres::Transaction;
use tokio_postgres::types::ToSql;

use super::audit::{self, Change};
use super::fault::{exists, fault};
use super::link::Link;
use super::rows;
use super::statements::now;
use crate::backend::Result;
use crate::{Actor, Error, Key, KeyChange, KeyRecord, LimitsChange, NewKey, Scope};

macro_rules! record {
    () => {
        "SELECT k.id, k.hash, k.member, k.lineage, k.name, k.scopes, k.models, k.created_at, \
            k.expires_at, k.revoked_at, l.spend_limit, l.requests_per_minute, l.concurrency, \
            m.name, m.blocked \
        FROM keys k JOIN lineages l ON l.id = k.lineage JOIN members m ON m.id = k.member "
    };
}

const BY_ID: &str = concat!(record!(), "WHERE k.id = $1");

/// The member first, as in every batch: what the limits of a lineage are is read under that lock.
const LOCK_MEMBER: &str = "SELECT m.id FROM members m WHERE m.id = \
    (SELECT member FROM keys WHERE id = $1) FOR NO KEY UPDATE";

const LOCK: &str = concat!(record!(), "WHERE k.id = $1 FOR UPDATE OF k");

const OF_MEMBER: &str = concat!(record!(), "WHERE k.member = $1 ORDER BY k.created_at, k.id");

const CREATE_LINEAGE: &str = "INSERT INTO lineages (member, spend_limit, requests_per_minute, \
        concurrency) \
    SELECT id, $2::bigint, $3::bigint, $4::bigint FROM members WHERE id = $1 RETURNING id";

const CREATE: &str = concat!(
    "INSERT INTO keys (id, hash, member, lineage, name, scopes, models, expires_at, created_at) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, ",
    now!(),
    ")"
);

/// The overlap is counted from when the new key was made.
const SHORTEN: &str = "UPDATE keys SET expires_at = least(expires_at, \
    (SELECT created_at FROM keys WHERE id = $3) + $2::bigint) WHERE id = $1";

const CHANGE: &str =
    "UPDATE keys SET name = $2, scopes = $3, models = $4, expires_at = $5 WHERE id = $1";

const CHANGE_LIMITS: &str = "UPDATE lineages SET spend_limit = $2, requests_per_minute = $3, \
    concurrency = $4 WHERE id = $1";

const REVOKE: &str = concat!("UPDATE keys SET revoked_at = ", now!(), " WHERE id = $1");

pub(super) async fn create(link: &mut Link, new: &NewKey, by: &Actor) -> Result<Key> {
    let transaction = link.client_mut().transaction().await.map_err(fault)?;
    let [spend, rate, concurrency] = stored(new.limits);
    let values: [&(dyn ToSql + Sync); 4] = [&new.member.0, &spend, &rate, &concurrency];
    let lineage = transaction.query_opt(CREATE_LINEAGE, &values).await.map_err(fault)?;
    let lineage: i64 = lineage.ok_or(Error::Missing("member"))?.get(0);
    insert(&transaction, new, lineage).await?;
    let mut detail = Map::new();
    detail.insert("member".into(), new.member.to_string().into());
    detail.insert("name".into(), new.name.as_str().into());
    detail.insert("scopes".into(), words(&new.scopes).into());
    detail.insert("models".into(), json!(new.models));
    detail.insert("expires_at".into(), json!(new.expires_at.map(Time::millis)));
    detail.insert("limits".into(), LimitsChange::to(new.limits).described());
    finish(transaction, "key.create", &new.id, detail.into(), by).await.map(|record| record.key)
}

pub(super) async fn rotate(
    link: &mut Link,
    old: &str,
    new: (&str, [u8; 32]),
    overlap_micros: i64,
    by: &Actor,
) -> Result<Key> {
    let transaction = link.client_mut().transaction().await.map_err(fault)?;
    let before = lock(&transaction, old).await?;
    // A key that is worth nothing has no successor.
    if before.key.revoked_at.is_some() {
        return Err(Error::Missing("key"));
    }
    let key = NewKey {
        id: new.0.to_owned(),
        hash: new.1,
        member: before.key.member,
        name: before.key.name,
        scopes: before.key.scopes,
        models: before.key.models,
        expires_at: before.key.expires_at,
        limits: before.limits,
    };
    insert(&transaction, &key, before.key.lineage.0).await?;
    let overlap = overlap_micros.max(0);
    transaction.execute(SHORTEN, &[&old, &overlap, &new.0]).await.map_err(fault)?;
    let detail = json!({ "from": old, "overlap_ms": overlap / 1000 });
    finish(transaction, "key.rotate", new.0, detail, by).await.map(|record| record.key)
}

pub(super) async fn change(
    link: &mut Link,
    id: &str,
    change: &KeyChange,
    by: &Actor,
) -> Result<KeyRecord> {
    let transaction = link.client_mut().transaction().await.map_err(fault)?;
    let before = lock(&transaction, id).await?;
    let mut detail = Map::new();
    let mut key = before.key;
    if let Some(name) = &change.name {
        key.name.clone_from(name);
        detail.insert("name".into(), name.as_str().into());
    }
    if let Some(scopes) = &change.scopes {
        key.scopes.clone_from(scopes);
        detail.insert("scopes".into(), words(scopes).into());
    }
    if let Some(models) = &change.models {
        key.models.clone_from(models);
        detail.insert("models".into(), json!(models));
    }
    if let Some(expires_at) = change.expires_at {
        key.expires_at = expires_at;
        detail.insert("expires_at".into(), json!(expires_at.map(Time::millis)));
    }
    if !change.limits.is_empty() {
        // Read under the lock of the member: what others changed before stays.
        let limits = change.limits.applied(before.limits);
        let [spend, rate, concurrency] = stored(limits);
        let changed = transaction
            .execute(CHANGE_LIMITS, &[&key.lineage.0, &spend, &rate, &concurrency])
            .await;
        changed.map_err(fault)?;
        detail.insert("limits".into(), change.limits.described());
    }
    let expires_at = key.expires_at.map(Time::micros);
    let changed = transaction
        .execute(CHANGE, &[&id, &key.name, &words(&key.scopes), &key.models, &expires_at])
        .await;
    changed.map_err(fault)?;
    finish(transaction, "key.change", id, detail.into(), by).await
}

pub(super) async fn revoke(link: &mut Link, id: &str, by: &Actor) -> Result<KeyRecord> {
    let transaction = link.client_mut().transaction().await.map_err(fault)?;
    let before = lock(&transaction, id).await?;
    if before.key.revoked_at.is_some() {
        return Ok(before);
    }
    transaction.execute(REVOKE, &[&id]).await.map_err(fault)?;
    finish(transaction, "key.revoke", id, json!({}), by).await
}

pub(super) async fn by_id(link: &mut Link, id: &str) -> Result<Option<KeyRecord>> {
    link.row(BY_ID, &[&id]).await?.as_ref().map(rows::key_record).transpose()
}

pub(super) async fn of_member(link: &mut Link, member: MemberId) -> Result<Vec<KeyRecord>> {
    link.rows(OF_MEMBER, &[&member.0]).await?.iter().map(rows::key_record).collect()
}

async fn lock(transaction: &Transaction<'_>, id: &str) -> Result<KeyRecord> {
    transaction.query(LOCK_MEMBER, &[&id]).await.map_err(fault)?;
    let row = transaction.query_opt(LOCK, &[&id]).await.map_err(fault)?;
    rows::key_record(&row.ok_or(Error::Missing("key"))?)
}

async fn insert(transaction: &Transaction<'_>, new: &NewKey, lineage: i64) -> Result<()> {
    let (hash, scopes) = (&new.hash[..], words(&new.scopes));
    let expires_at = new.expires_at.map(Time::micros);
    let NewKey { id, name, models, .. } = new;
    let values: [&(dyn ToSql + Sync); 8] =
        [id, &hash, &new.member.0, &lineage, name, &scopes, models, &expires_at];
    transaction.execute(CREATE, &values).await.map_err(exists("key"))?;
    Ok(())
}

/// Writes the audit entry, commits, and gives the key as it is then.
async fn finish(
    transaction: Transaction<'_>,
    action: &'static str,
    id: &str,
    detail: Value,
    by: &Actor,
) -> Result<KeyRecord> {
    let row = transaction.query_one(BY_ID, &[&id]).await.map_err(fault)?;
    let change = Change { action, subject: id.to_owned(), detail };
    audit::append(&transaction, change, by).await?;
    transaction.commit().await.map_err(fault)?;
    rows::key_record(&row)
}

fn stored(limits: Limits) -> [Option<i64>; 3] {
    [
        limits.spend.map(ledger::Micros::get),
        limits.requests_per_minute.map(i64::from),
        limits.concurrency.map(i64::from),
    ]
}

fn words(scopes: &[Scope]) -> Vec<&'static str> {
    scopes.iter().map(|scope| scope.as_str()).collect()
}
