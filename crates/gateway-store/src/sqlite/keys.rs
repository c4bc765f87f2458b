//! Keys, and the lineages they begin.

use ledger::{LineageId, MemberId, Micros, Time};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::{Map, json};

use super::rows::{limits, time, unknown};
use super::{audit, failure, members};
use crate::backend::Result;
use crate::{Actor, Error, Key, KeyChange, KeyRecord, LimitsChange, NewKey, Scope};

/// The most keys of a member that are listed.
const MAX_LISTED: u32 = 10_000;

const COLUMNS: &str = "SELECT keys.id, hash, keys.member, lineage, keys.name, scopes, models, \
     keys.created_at, expires_at, revoked_at, spend_limit, requests_per_minute, concurrency, \
     members.name, blocked FROM keys JOIN lineages ON lineages.id = keys.lineage \
     JOIN members ON members.id = keys.member";

pub(super) fn create(connection: &Connection, new: &NewKey, by: &Actor, now: Time) -> Result<Key> {
    members::by_id(connection, new.member)?.ok_or(Error::Missing("member"))?;
    let spend = new.limits.spend.map(Micros::get);
    let (rate, concurrency) = (new.limits.requests_per_minute, new.limits.concurrency);
    let lineage = connection
        .prepare_cached(
            "INSERT INTO lineages (member, spend_limit, requests_per_minute, concurrency) \
             VALUES (?1, ?2, ?3, ?4)",
        )?
        .insert(params![new.member.0, spend, rate, concurrency])?;
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
    insert(connection, &key)?;
    // Everything but the hash.
    let detail = json!({
        "member": key.member.to_string(),
        "name": key.name,
        "scopes": listed(&key.scopes),
        "models": key.models,
        "expires_at": key.expires_at.map(Time::millis),
        "limits": LimitsChange::to(new.limits).described(),
    });
    audit::append(connection, now, by, ("key.create", key.id.clone(), &detail))?;
    Ok(key)
}

pub(super) fn rotate(
    connection: &Connection,
    (old, id, hash): (&str, &str, [u8; 32]),
    overlap_micros: i64,
    (by, now): (&Actor, Time),
) -> Result<Key> {
    let old = by_id(connection, old)?.ok_or(Error::Missing("key"))?.key;
    if old.revoked_at.is_some() {
        // Whoever took a key away does not find it alive again under another name.
        return Err(Error::Missing("key"));
    }
    let last = now.plus_micros(overlap_micros.max(0));
    let last = old.expires_at.map_or(last, |expires_at| expires_at.min(last));
    connection
        .prepare_cached("UPDATE keys SET expires_at = ?2 WHERE id = ?1")?
        .execute(params![old.id, last.micros()])?;
    let key = Key { id: id.to_owned(), hash, created_at: now, revoked_at: None, ..old.clone() };
    insert(connection, &key)?;
    let detail = json!({ "from": old.id, "overlap_ms": overlap_micros.max(0) / 1000 });
    audit::append(connection, now, by, ("key.rotate", key.id.clone(), &detail))?;
    Ok(key)
}

pub(super) fn change(
    connection: &Connection,
    id: &str,
    change: &KeyChange,
    (by, now): (&Actor, Time),
) -> Result<KeyRecord> {
    let mut record = by_id(connection, id)?.ok_or(Error::Missing("key"))?;
    let mut detail = Map::new();
    let key = &mut record.key;
    if let Some(name) = &change.name {
        key.name.clone_from(name);
        detail.insert("name".to_owned(), json!(name));
    }
    if let Some(scopes) = &change.scopes {
        key.scopes.clone_from(scopes);
        detail.insert("scopes".to_owned(), json!(listed(scopes)));
    }
    if let Some(models) = &change.models {
        key.models.clone_from(models);
        detail.insert("models".to_owned(), json!(models));
    }
    if let Some(expires_at) = change.expires_at {
        key.expires_at = expires_at;
        detail.insert("expires_at".to_owned(), json!(expires_at.map(Time::millis)));
    }
    if !change.limits.is_empty() {
        record.limits = change.limits.applied(record.limits);
        detail.insert("limits".to_owned(), change.limits.described());
    }
    update(connection, &record)?;
    audit::append(connection, now, by, ("key.change", id.to_owned(), &detail.into()))?;
    Ok(record)
}

fn update(connection: &Connection, record: &KeyRecord) -> Result<()> {
    let (key, limits) = (&record.key, &record.limits);
    connection
        .prepare_cached(
            "UPDATE keys SET name = ?2, scopes = ?3, models = ?4, expires_at = ?5 WHERE id = ?1",
        )?
        .execute(params![
            key.id,
            key.name,
            words(&key.scopes),
            key.models.as_ref().map(|models| json!(models).to_string()),
            key.expires_at.map(Time::micros),
        ])?;
    connection
        .prepare_cached(
            "UPDATE lineages SET spend_limit = ?2, requests_per_minute = ?3, concurrency = ?4 \
             WHERE id = ?1",
        )?
        .execute(params![
            key.lineage.0,
            limits.spend.map(Micros::get),
            limits.requests_per_minute,
            limits.concurrency,
        ])?;
    Ok(())
}

pub(super) fn revoke(
    connection: &Connection,
    id: &str,
    by: &Actor,
    now: Time,
) -> Result<KeyRecord> {
    let mut record = by_id(connection, id)?.ok_or(Error::Missing("key"))?;
    if record.key.revoked_at.is_some() {
        return Ok(record);
    }
    record.key.revoked_at = Some(now);
    connection
        .prepare_cached("UPDATE keys SET revoked_at = ?2 WHERE id = ?1")?
        .execute(params![id, now.micros()])?;
    audit::append(connection, now, by, ("key.revoke", id.to_owned(), &json!({})))?;
    Ok(record)
}

pub(super) fn by_id(connection: &Connection, id: &str) -> Result<Option<KeyRecord>> {
    let mut query = connection.prepare_cached(&format!("{COLUMNS} WHERE keys.id = ?1"))?;
    Ok(query.query_row([id], read).optional()?)
}

pub(super) fn of_member(connection: &Connection, member: MemberId) -> Result<Vec<KeyRecord>> {
    let mut query = connection.prepare_cached(&format!(
        "{COLUMNS} WHERE keys.member = ?1 ORDER BY keys.created_at, keys.id LIMIT ?2"
    ))?;
    let rows = query.query_map(params![member.0, MAX_LISTED], read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn insert(connection: &Connection, key: &Key) -> Result<()> {
    let taken = |error: rusqlite::Error| {
        if failure::is_taken(&error) { Error::Exists("key") } else { error.into() }
    };
    connection
        .prepare_cached("INSERT INTO keys VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?
        .execute(params![
            key.id,
            key.hash,
            key.member.0,
            key.lineage.0,
            key.name,
            words(&key.scopes),
            key.models.as_ref().map(|models| json!(models).to_string()),
            key.created_at.micros(),
            key.expires_at.map(Time::micros),
            key.revoked_at.map(Time::micros),
        ])
        .map_err(taken)?;
    Ok(())
}

fn read(row: &Row<'_>) -> rusqlite::Result<KeyRecord> {
    let scopes: String = row.get(5)?;
    let scope = |word: &str| Scope::parse(word).ok_or_else(|| unknown(5, word));
    let models: Option<String> = row.get(6)?;
    let list = |text: &String| serde_json::from_str(text).map_err(|_| unknown(6, text));
    let key = Key {
        id: row.get(0)?,
        hash: row.get(1)?,
        member: MemberId(row.get(2)?),
        lineage: LineageId(row.get(3)?),
        name: row.get(4)?,
        scopes: scopes.split_whitespace().map(scope).collect::<rusqlite::Result<_>>()?,
        models: models.as_ref().map(list).transpose()?,
        created_at: time(row, 7)?,
        expires_at: row.get::<_, Option<i64>>(8)?.map(Time::from_micros),
        revoked_at: row.get::<_, Option<i64>>(9)?.map(Time::from_micros),
    };
    Ok(KeyRecord {
        key,
        limits: limits(row, 10)?,
        member_name: row.get(13)?,
        member_blocked: row.get(14)?,
    })
}

fn words(scopes: &[Scope]) -> String {
    listed(scopes).join(" ")
}

fn listed(scopes: &[Scope]) -> Vec<&'static str> {
    scopes.iter().map(|scope| scope.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;
    use crate::StoreOptions;
    use crate::sqlite::connection::{Role, open};
    use crate::sqlite::schema;

    #[test]
    fn a_key_is_looked_up_by_a_statement_that_is_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let (path, options) = (folder.path().join("gateway.db"), StoreOptions::default());
        schema::migrate(&path, &options).unwrap();
        let connection = open(&path, Role::Reads, &options).unwrap();
        for id in ["aaaa", "bbbb", "cccc"] {
            assert_eq!(by_id(&connection, id).unwrap(), None);
        }
        let query = connection.prepare_cached(&format!("{COLUMNS} WHERE keys.id = ?1")).unwrap();
        assert_eq!(query.get_status(StatementStatus::Run), 3);
        assert_eq!(query.get_status(StatementStatus::RePrepare), 0);
    }
}
