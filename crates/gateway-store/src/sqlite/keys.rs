//! API keys and their lineages.

use std::collections::HashMap;

use ledger::{AccountKind, LineageId, MemberId, Micros, Time};
use rusqlite::{Connection, params};
use serde_json::json;

use super::connection::ConnectionExt;
use super::error::exists;
use super::{Sqlite, audit, members, save};
use crate::audit::AuditChange;
use crate::error::Result;
use crate::key::{scope_names, stored_budget};
use crate::limits::MAX_PAGE;
use crate::records::key_record;
use crate::{Actor, Error, Key, KeyChange, KeyRecord, KeyRotation, KeySearch, NewKey};

/// The most keys of a member that are listed.
const MAX_LISTED: u32 = 10_000;

const COLUMNS: &str = "SELECT keys.id, hash, keys.member, lineage, keys.name, scopes, models, \
     keys.created_at, expires_at, revoked_at, spend_limit, requests_per_minute, concurrency, \
     lineages.budget, lineages.budget_period, members.name, blocked, role, team FROM keys JOIN lineages ON lineages.id = keys.lineage \
     JOIN members ON members.id = keys.member";

impl Sqlite {
    pub(crate) async fn create_key(&self, new: &NewKey, by: &Actor) -> Result<Key> {
        let (new, by) = (new.clone(), by.clone());
        self.write(move |db, now| create(db, &new, &by, now)).await
    }

    pub(crate) async fn rotate_key(&self, rotation: &KeyRotation, by: &Actor) -> Result<Key> {
        let (rotation, by) = (rotation.clone(), by.clone());
        self.write(move |db, now| {
            let old = existing(db, &rotation.old_id)?.key;
            // A revoked key must not become valid again under another id.
            if old.revoked_at.is_some() {
                return Err(Error::Missing("key"));
            }
            let end = now.plus_micros(rotation.overlap_micros());
            let end = old.expires_at.map_or(end, |expires_at| expires_at.min(end));
            let sql = "UPDATE keys SET expires_at = ?2 WHERE id = ?1";
            db.run(sql, params![old.id, end.micros()])?;
            let (id, hash) = (rotation.new_id.clone(), rotation.new_hash);
            let key = Key { id, hash, created_at: now, ..old };
            insert(db, &key)?;
            audit::append(db, rotation.audited(), now, &by)?;
            Ok(key)
        })
        .await
    }

    pub(crate) async fn change_key(
        &self,
        id: &str,
        change: &KeyChange,
        by: &Actor,
    ) -> Result<KeyRecord> {
        let (id, change, by) = (id.to_owned(), change.clone(), by.clone());
        self.write_ledger(move |db, now| {
            let mut record = existing(db, &id)?;
            let audited = record.apply(&change);
            update(db, &record, now)?;
            audit::append(db, audited, now, &by)?;
            Ok(record)
        })
        .await
    }

    pub(crate) async fn revoke_key(&self, id: &str, by: &Actor) -> Result<KeyRecord> {
        let (id, by) = (id.to_owned(), by.clone());
        self.write(move |db, now| {
            let mut record = existing(db, &id)?;
            if record.key.revoked_at.is_some() {
                return Ok(record);
            }
            record.key.revoked_at = Some(now);
            let sql = "UPDATE keys SET revoked_at = ?2 WHERE id = ?1";
            db.run(sql, params![id, now.micros()])?;
            let audited = AuditChange { action: "key.revoke", subject: id, detail: json!({}) };
            audit::append(db, audited, now, &by)?;
            Ok(record)
        })
        .await
    }

    pub(crate) async fn key(&self, id: &str) -> Result<Option<KeyRecord>> {
        let id = id.to_owned();
        self.read(move |db, _| by_id(db, &id)).await
    }

    pub(crate) async fn key_names(
        &self,
        lineages: &[LineageId],
    ) -> Result<HashMap<LineageId, (String, String)>> {
        let lineages = lineages.to_vec();
        self.read(move |db, _| {
            let sql = "SELECT id, name FROM keys WHERE lineage = ?1 \
                       ORDER BY created_at DESC, id LIMIT 1";
            let mut names = HashMap::new();
            for lineage in lineages {
                let name = db.row(sql, [lineage.0], |row| Ok((row.take()?, row.take()?)))?;
                names.extend(name.map(|name| (lineage, name)));
            }
            Ok(names)
        })
        .await
    }

    pub(crate) async fn keys(&self, member: MemberId) -> Result<Vec<KeyRecord>> {
        self.read(move |db, _| {
            let sql = format!(
                "{COLUMNS} WHERE keys.member = ?1 ORDER BY keys.created_at, keys.id LIMIT ?2"
            );
            db.rows(&sql, params![member.0, MAX_LISTED], |row| key_record(row))
        })
        .await
    }

    pub(crate) async fn find_keys(&self, search: &KeySearch, limit: u32) -> Result<Vec<KeyRecord>> {
        let KeySearch { name, member, after } = search.clone();
        self.read(move |db, _| {
            let limit = limit.min(MAX_PAGE);
            if name.is_empty() {
                let sql = format!("{COLUMNS} WHERE keys.id > ?1 ORDER BY keys.id LIMIT ?2");
                return db.rows(&sql, params![after, limit], |row| key_record(row));
            }
            let found = |condition: &str| {
                format!(
                    "SELECT * FROM (SELECT id FROM keys WHERE {condition} AND id > ?3 \
                     ORDER BY id LIMIT ?4)"
                )
            };
            let (named, owned) = (found("name = ?1"), found("member = ?2"));
            let sql = format!(
                "{COLUMNS} WHERE keys.id IN ({named} UNION {owned}) ORDER BY keys.id LIMIT ?4"
            );
            db.rows(&sql, params![name, member.map(|it| it.0), after, limit], |row| key_record(row))
        })
        .await
    }
}

fn create(db: &Connection, new: &NewKey, by: &Actor, now: Time) -> Result<Key> {
    let member = members::by_id(db, new.member)?;
    member.filter(|it| it.kind == AccountKind::Member).ok_or(Error::Missing("member"))?;
    let spend = new.limits.spend.map(Micros::get);
    let (rate, concurrency) = (new.limits.requests_per_minute, new.limits.concurrency);
    let (budget, period) = stored_budget(new.limits.budget);
    let lineage = db
        .prepare_cached(
            "INSERT INTO lineages (member, spend_limit, requests_per_minute, concurrency, budget, \
             budget_period) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .insert(params![new.member.0, spend, rate, concurrency, budget, period])?;
    let key = Key {
        id: new.id.clone(),
        hash: new.hash,
        member: new.member,
        lineage: LineageId(lineage),
        name: new.name.clone(),
        scopes: new.scopes.clone(),
        models: new.models.clone(),
        created_at: now,
        expires_at: new.expires_at,
        revoked_at: None,
    };
    insert(db, &key)?;
    audit::append(db, new.creation(), now, by)?;
    Ok(key)
}

fn by_id(db: &Connection, id: &str) -> Result<Option<KeyRecord>> {
    db.row(&format!("{COLUMNS} WHERE keys.id = ?1"), [id], |row| key_record(row))
}

fn existing(db: &Connection, id: &str) -> Result<KeyRecord> {
    by_id(db, id)?.ok_or(Error::Missing("key"))
}

fn update(db: &Connection, record: &KeyRecord, now: Time) -> Result<()> {
    let (key, limits) = (&record.key, &record.limits);
    db.run(
        "UPDATE keys SET name = ?2, scopes = ?3, models = ?4, expires_at = ?5 WHERE id = ?1",
        params![
            key.id,
            key.name,
            scope_names(&key.scopes).join(" "),
            stored_models(key),
            key.expires_at.map(Time::micros),
        ],
    )?;
    db.run(
        "UPDATE lineages SET spend_limit = ?2, requests_per_minute = ?3, concurrency = ?4 \
         WHERE id = ?1",
        params![
            key.lineage.0,
            limits.spend.map(Micros::get),
            limits.requests_per_minute,
            limits.concurrency,
        ],
    )?;
    save::set_budget(db, "lineages", key.lineage.0, limits.budget, now)
}

fn insert(db: &Connection, key: &Key) -> Result<()> {
    db.prepare_cached("INSERT INTO keys VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?
        .execute(params![
            key.id,
            key.hash,
            key.member.0,
            key.lineage.0,
            key.name,
            scope_names(&key.scopes).join(" "),
            stored_models(key),
            key.created_at.micros(),
            key.expires_at.map(Time::micros),
            key.revoked_at.map(Time::micros),
        ])
        .map_err(exists("key"))?;
    Ok(())
}

fn stored_models(key: &Key) -> Option<String> {
    key.models.as_ref().map(|models| json!(models).to_string())
}

#[cfg(test)]
mod tests;
