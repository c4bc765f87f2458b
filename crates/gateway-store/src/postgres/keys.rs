//! API keys and their lineages.

use std::collections::HashMap;

use ledger::{Limits, LineageId, MemberId, Time};
use serde_json::json;
use tokio_postgres::Transaction;

use super::connection::PgConnection;
use super::error::exists;
use super::pool::pooled;
use super::rows::{RowReader, Value};
use super::statements::{set_budget, with_clock};
use super::{Postgres, audit, rows};
use crate::audit::AuditChange;
use crate::error::Result;
use crate::key::{scope_names, stored_budget};
use crate::records::key_record;
use crate::{Actor, Error, Key, KeyChange, KeyRecord, KeyRotation, KeySearch, NewKey};

macro_rules! record {
    () => {
        "SELECT k.id, k.hash, k.member, k.lineage, k.name, k.scopes, k.models, k.created_at, \
            k.expires_at, k.revoked_at, l.spend_limit, l.requests_per_minute, l.concurrency, \
            l.budget, l.budget_period, m.name, m.blocked, m.role, m.team \
        FROM keys k JOIN lineages l ON l.id = k.lineage JOIN members m ON m.id = k.member "
    };
}

const BY_ID: &str = concat!(record!(), "WHERE k.id = $1");

/// The member first, as in every batch: the limits of a lineage are read under that lock.
const LOCK_MEMBER: &str = "SELECT m.id FROM members m WHERE m.id = \
    (SELECT member FROM keys WHERE id = $1) FOR NO KEY UPDATE";

const LOCK: &str = concat!(record!(), "WHERE k.id = $1 FOR UPDATE OF k");

const OF_MEMBER: &str = concat!(record!(), "WHERE k.member = $1 ORDER BY k.created_at, k.id");

const ALL: &str = concat!(record!(), "WHERE k.id > $1 ORDER BY k.id LIMIT $2");

const FIND: &str = concat!(
    record!(),
    "WHERE k.id IN ( \
        SELECT * FROM (SELECT id FROM keys WHERE name = $1 AND id > $3 ORDER BY id LIMIT $4) n \
        UNION \
        SELECT * FROM (SELECT id FROM keys WHERE member = $2 AND id > $3 ORDER BY id LIMIT $4) m) \
    ORDER BY k.id LIMIT $4"
);

/// The newest key of each lineage comes last.
const NAMES: &str = "SELECT lineage, id, name FROM keys WHERE lineage = ANY($1) \
    ORDER BY lineage, created_at, id DESC";

const CREATE_LINEAGE: &str = "INSERT INTO lineages (member, spend_limit, requests_per_minute, \
        concurrency, budget, budget_period) \
    SELECT id, $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::text \
    FROM members WHERE id = $1 AND kind = 'member' RETURNING id";

const CREATE: &str = "INSERT INTO keys (id, hash, member, lineage, name, scopes, models, \
    expires_at, created_at) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, {now})";

/// The overlap starts when the new key was created.
const SHORTEN: &str = "UPDATE keys SET expires_at = least(expires_at, \
    (SELECT created_at FROM keys WHERE id = $3) + $2::bigint) WHERE id = $1";

const CHANGE: &str =
    "UPDATE keys SET name = $2, scopes = $3, models = $4, expires_at = $5 WHERE id = $1";

const CHANGE_LIMITS: &str = "UPDATE lineages SET spend_limit = $2, requests_per_minute = $3, \
    concurrency = $4 WHERE id = $1";

const SET_BUDGET: &str = set_budget!("lineages");

const REVOKE: &str = "UPDATE keys SET revoked_at = {now} WHERE id = $1";

impl Postgres {
    pub(crate) async fn create_key(&self, new: &NewKey, by: &Actor) -> Result<Key> {
        pooled!(self, connection => create(connection, new, by))
    }

    pub(crate) async fn rotate_key(&self, rotation: &KeyRotation, by: &Actor) -> Result<Key> {
        pooled!(self, connection => rotate(connection, rotation, by))
    }

    pub(crate) async fn change_key(
        &self,
        id: &str,
        key_change: &KeyChange,
        by: &Actor,
    ) -> Result<KeyRecord> {
        pooled!(self, connection => change(connection, id, key_change, by))
    }

    pub(crate) async fn revoke_key(&self, id: &str, by: &Actor) -> Result<KeyRecord> {
        pooled!(self, connection => revoke(connection, id, by))
    }

    pub(crate) async fn key(&self, id: &str) -> Result<Option<KeyRecord>> {
        self.row(BY_ID, &[&id], |row| key_record(row)).await
    }

    pub(crate) async fn key_names(
        &self,
        lineages: &[LineageId],
    ) -> Result<HashMap<LineageId, (String, String)>> {
        let lineages: Vec<i64> = lineages.iter().map(|id| id.0).collect();
        let read = |columns: &mut RowReader<'_>| {
            Ok((LineageId(columns.take()?), (columns.take()?, columns.take()?)))
        };
        Ok(self.rows(NAMES, &[&lineages], read).await?.into_iter().collect())
    }

    pub(crate) async fn keys(&self, member: MemberId) -> Result<Vec<KeyRecord>> {
        self.rows(OF_MEMBER, &[&member.0], |row| key_record(row)).await
    }

    pub(crate) async fn find_keys(&self, search: &KeySearch, limit: u32) -> Result<Vec<KeyRecord>> {
        let KeySearch { name, member, after } = search;
        let (member, limit) = (member.map(|it| it.0), rows::page(limit));
        if name.is_empty() {
            return self.rows(ALL, &[after, &limit], |row| key_record(row)).await;
        }
        self.rows(FIND, &[name, &member, after, &limit], |row| key_record(row)).await
    }
}

async fn create(connection: &mut PgConnection, new: &NewKey, by: &Actor) -> Result<Key> {
    let transaction = connection.client.transaction().await?;
    let [spend, rate, concurrency] = stored(new.limits);
    let (budget, period) = stored_budget(new.limits.budget);
    let values: [Value<'_>; 6] = [&new.member.0, &spend, &rate, &concurrency, &budget, &period];
    let lineage = transaction.query_opt(CREATE_LINEAGE, &values).await?;
    let lineage: i64 = rows::first(&lineage.ok_or(Error::Missing("member"))?)?;
    insert(&transaction, new, lineage).await?;
    finish(transaction, new.creation(), by).await.map(|record| record.key)
}

async fn rotate(connection: &mut PgConnection, rotation: &KeyRotation, by: &Actor) -> Result<Key> {
    let transaction = connection.client.transaction().await?;
    let KeyRecord { key: old, limits, .. } = lock(&transaction, &rotation.old_id).await?;
    // A revoked key must not become valid again under another id.
    if old.revoked_at.is_some() {
        return Err(Error::Missing("key"));
    }
    let key = NewKey {
        id: rotation.new_id.clone(),
        hash: rotation.new_hash,
        member: old.member,
        name: old.name,
        scopes: old.scopes,
        models: old.models,
        expires_at: old.expires_at,
        limits,
    };
    insert(&transaction, &key, old.lineage.0).await?;
    let values: [Value<'_>; 3] = [&old.id, &rotation.overlap_micros(), &key.id];
    transaction.execute(SHORTEN, &values).await?;
    finish(transaction, rotation.audited(), by).await.map(|record| record.key)
}

async fn change(
    connection: &mut PgConnection,
    id: &str,
    change: &KeyChange,
    by: &Actor,
) -> Result<KeyRecord> {
    let transaction = connection.client.transaction().await?;
    let mut record = lock(&transaction, id).await?;
    let audited = record.apply(change);
    let KeyRecord { key, limits, .. } = record;
    if !change.limits.is_empty() {
        let [spend, rate, concurrency] = stored(limits);
        let values: [Value<'_>; 4] = [&key.lineage.0, &spend, &rate, &concurrency];
        transaction.execute(CHANGE_LIMITS, &values).await?;
        let (budget, period) = stored_budget(limits.budget);
        transaction.execute(&with_clock(SET_BUDGET), &[&key.lineage.0, &budget, &period]).await?;
    }
    let (scopes, expires_at) = (scope_names(&key.scopes), key.expires_at.map(Time::micros));
    let values: [Value<'_>; 5] = [&id, &key.name, &scopes, &key.models, &expires_at];
    transaction.execute(CHANGE, &values).await?;
    finish(transaction, audited, by).await
}

async fn revoke(connection: &mut PgConnection, id: &str, by: &Actor) -> Result<KeyRecord> {
    let transaction = connection.client.transaction().await?;
    let before = lock(&transaction, id).await?;
    if before.key.revoked_at.is_some() {
        return Ok(before);
    }
    transaction.execute(&with_clock(REVOKE), &[&id]).await?;
    let audited = AuditChange { action: "key.revoke", subject: id.to_owned(), detail: json!({}) };
    finish(transaction, audited, by).await
}

async fn lock(transaction: &Transaction<'_>, id: &str) -> Result<KeyRecord> {
    transaction.query(LOCK_MEMBER, &[&id]).await?;
    let row = transaction.query_opt(LOCK, &[&id]).await?;
    key_record(&mut RowReader::new(&row.ok_or(Error::Missing("key"))?))
}

async fn insert(transaction: &Transaction<'_>, new: &NewKey, lineage: i64) -> Result<()> {
    let (hash, scopes) = (&new.hash[..], scope_names(&new.scopes));
    let expires_at = new.expires_at.map(Time::micros);
    let NewKey { id, name, models, .. } = new;
    let values: [Value<'_>; 8] =
        [id, &hash, &new.member.0, &lineage, name, &scopes, models, &expires_at];
    transaction.execute(&with_clock(CREATE), &values).await.map_err(exists("key"))?;
    Ok(())
}

/// Writes the audit entry, commits, and returns the key.
async fn finish(
    transaction: Transaction<'_>,
    audited: AuditChange,
    by: &Actor,
) -> Result<KeyRecord> {
    let row = transaction.query_one(BY_ID, &[&audited.subject]).await?;
    audit::append(&transaction, audited, by).await?;
    transaction.commit().await?;
    key_record(&mut RowReader::new(&row))
}

fn stored(limits: Limits) -> [Option<i64>; 3] {
    [
        limits.spend.map(ledger::Micros::get),
        limits.requests_per_minute.map(i64::from),
        limits.concurrency.map(i64::from),
    ]
}
