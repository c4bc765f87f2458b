//! API keys and their lineages.

use std::collections::HashMap;

use ledger::{Limits, LineageId, MemberId};
use serde_json::json;

use super::members::set_budget;
use super::{Store, page};
use crate::audit::AuditChange;
use crate::audit_log;
use crate::error::Result;
use crate::executor::{Executor, LOCKED};
use crate::key::scope_names;
use crate::member::stored_budget;
use crate::value::{Value, values};
use crate::{Actor, Error, Key, KeyChange, KeyRecord, KeyRotation, KeySearch, NewKey};

/// Maximum number of listed keys of a member.
const MAX_LISTED: u32 = 10_000;

pub(crate) const KEY: &str = "SELECT k.id, k.hash, k.member, k.lineage, k.name, k.scopes, k.models, \
    k.created_at, k.expires_at, k.revoked_at, l.spend_limit, l.requests_per_minute, l.concurrency, \
    l.budget, l.budget_period, m.name, m.blocked, m.role, m.team \
    FROM keys k JOIN lineages l ON l.id = k.lineage JOIN members m ON m.id = k.member";

impl Store {
    /// Creates a key and its lineage.
    pub async fn create_key(&self, key: &NewKey, by: &Actor) -> Result<Key> {
        let (new, by) = (key.clone(), by.clone());
        transaction!(self.write, db => create(db, &new, &by))
    }

    /// Creates a key with the lineage, name, scopes, models and expiry of an old one, which expires
    /// after the overlap.
    pub async fn rotate_key(&self, rotation: &KeyRotation, by: &Actor) -> Result<Key> {
        let (rotation, by) = (rotation.clone(), by.clone());
        transaction!(self.write, db => rotate(db, &rotation, &by))
    }

    pub async fn change_key(&self, id: &str, change: &KeyChange, by: &Actor) -> Result<KeyRecord> {
        let (id, change, by) = (id.to_owned(), change.clone(), by.clone());
        transaction!(self.write_ledger, db => change_key(db, &id, &change, &by))
    }

    pub async fn revoke_key(&self, id: &str, by: &Actor) -> Result<KeyRecord> {
        let (id, by) = (id.to_owned(), by.clone());
        transaction!(self.write, db => revoke(db, &id, &by))
    }

    pub async fn key(&self, id: &str) -> Result<Option<KeyRecord>> {
        self.row(format!("{KEY} WHERE k.id = $1"), values![id]).await
    }

    pub async fn keys(&self, member: MemberId) -> Result<Vec<KeyRecord>> {
        let sql = format!("{KEY} WHERE k.member = $1 ORDER BY k.created_at, k.id LIMIT $2");
        self.rows(sql, values![member, MAX_LISTED]).await
    }

    /// Finds keys of all members.
    pub async fn find_keys(&self, search: &KeySearch, limit: u32) -> Result<Vec<KeyRecord>> {
        let KeySearch { name, member, after } = search;
        if name.is_empty() {
            let sql = format!("{KEY} WHERE k.id > $1 ORDER BY k.id LIMIT $2");
            return self.rows(sql, values![after, page(limit)]).await;
        }
        let found = |condition: &str| {
            format!(
                "SELECT * FROM (SELECT id FROM keys WHERE {condition} AND id > $3 \
                 ORDER BY id LIMIT $4) AS found"
            )
        };
        let (named, owned) = (found("name = $1"), found("member = $2"));
        let sql = format!("{KEY} WHERE k.id IN ({named} UNION {owned}) ORDER BY k.id LIMIT $4");
        self.rows(sql, values![name, *member, after, page(limit)]).await
    }

    /// Returns public part and name of the newest key of each lineage.
    pub async fn key_names(
        &self,
        lineages: &[LineageId],
    ) -> Result<HashMap<LineageId, (String, String)>> {
        let sql = "SELECT lineage, id, name FROM keys WHERE lineage {in $1} \
                   ORDER BY lineage, created_at, id DESC";
        let names: Vec<(LineageId, (String, String))> = self.rows(sql, values![lineages]).await?;
        // The newest key of each lineage comes last.
        Ok(names.into_iter().collect())
    }
}

async fn create(db: &mut impl Executor, new: &NewKey, by: &Actor) -> Result<Key> {
    let sql = "INSERT INTO lineages (member, spend_limit, requests_per_minute, concurrency, budget, \
               budget_period) SELECT id, CAST($2 AS bigint), CAST($3 AS bigint), \
               CAST($4 AS bigint), CAST($5 AS bigint), CAST($6 AS text) \
               FROM members WHERE id = $1 AND kind = 'member' RETURNING id";
    let Limits { spend, requests_per_minute, concurrency, budget } = new.limits;
    let (budget, period) = stored_budget(budget);
    let values = values![new.member, spend, requests_per_minute, concurrency, budget, period];
    let lineage = db.row(sql, values).await?.ok_or(Error::Missing("member"))?;
    insert(db, new, lineage).await?;
    let created = existing(db, &new.id, "").await?.key;
    audit_log::append(db, new.creation(), by).await?;
    Ok(created)
}

async fn rotate(db: &mut impl Executor, rotation: &KeyRotation, by: &Actor) -> Result<Key> {
    let KeyRecord { key: old, limits, .. } = locked(db, &rotation.old_id).await?;
    // A revoked key must not become valid again under another id.
    if old.revoked_at.is_some() {
        return Err(Error::Missing("key"));
    }
    let new = NewKey {
        id: rotation.new_id.clone(),
        hash: rotation.new_hash,
        member: old.member,
        name: old.name,
        scopes: old.scopes,
        models: old.models,
        expires_at: old.expires_at,
        limits,
    };
    insert(db, &new, old.lineage).await?;
    let new = existing(db, &new.id, "").await?.key;
    let end = new.created_at.plus_micros(rotation.overlap_micros());
    let end = old.expires_at.map_or(end, |expires_at| expires_at.min(end));
    db.run("UPDATE keys SET expires_at = $2 WHERE id = $1", values![old.id, end]).await?;
    audit_log::append(db, rotation.audited(), by).await?;
    Ok(new)
}

async fn change_key(
    db: &mut impl Executor,
    id: &str,
    change: &KeyChange,
    by: &Actor,
) -> Result<KeyRecord> {
    let mut record = locked(db, id).await?;
    let audited = record.apply(change);
    let KeyRecord { key, limits, .. } = &record;
    if !change.limits.is_empty() {
        let sql = "UPDATE lineages SET spend_limit = $2, requests_per_minute = $3, \
                   concurrency = $4 WHERE id = $1";
        let (rate, concurrency) = (limits.requests_per_minute, limits.concurrency);
        db.run(sql, values![key.lineage, limits.spend, rate, concurrency]).await?;
        set_budget(db, "lineages", key.lineage.0, limits.budget).await?;
    }
    let sql = "UPDATE keys SET name = $2, scopes = $3, models = $4, expires_at = $5 WHERE id = $1";
    let scopes = Value::Words(scope_names(&key.scopes));
    db.run(sql, values![id, &key.name, scopes, key.models.as_deref(), key.expires_at]).await?;
    audit_log::append(db, audited, by).await?;
    Ok(record)
}

async fn revoke(db: &mut impl Executor, id: &str, by: &Actor) -> Result<KeyRecord> {
    let before = locked(db, id).await?;
    if before.key.revoked_at.is_some() {
        return Ok(before);
    }
    db.run("UPDATE keys SET revoked_at = {now} WHERE id = $1", values![id]).await?;
    let revoked = existing(db, id, "").await?;
    let audited = AuditChange { action: "key.revoke", subject: id.to_owned(), detail: json!({}) };
    audit_log::append(db, audited, by).await?;
    Ok(revoked)
}

/// Locks a key. The member is locked first, as in every batch: the limits of a lineage are read under
/// that lock.
async fn locked(db: &mut impl Executor, id: &str) -> Result<KeyRecord> {
    let member = "SELECT id FROM members WHERE id = (SELECT member FROM keys WHERE id = $1)";
    let _: Option<MemberId> = db.row(&format!("{member} {LOCKED}"), values![id]).await?;
    existing(db, id, "{FOR UPDATE OF k|}").await
}

async fn existing(db: &mut impl Executor, id: &str, lock: &str) -> Result<KeyRecord> {
    let sql = format!("{KEY} WHERE k.id = $1 {lock}");
    db.row(&sql, values![id]).await?.ok_or(Error::Missing("key"))
}

async fn insert(db: &mut impl Executor, new: &NewKey, lineage: LineageId) -> Result<()> {
    let sql = "INSERT INTO keys (id, hash, member, lineage, name, scopes, models, expires_at, \
               created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, {now})";
    let NewKey { id, hash, member, name, models, expires_at, .. } = new;
    let scopes = Value::Words(scope_names(&new.scopes));
    let values = values![id, hash, *member, lineage, name, scopes, models.as_deref(), *expires_at];
    db.execute(sql, values, Some("key")).await.map(drop)
}
