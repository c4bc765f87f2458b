//! Runs, artifacts and objects.

use ledger::{MemberId, Micros, Time};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::rows::{MAX_PAGE, hold_id, time};
use crate::backend::Result;
use crate::media::{UNUSED_KEPT_MICROS, stored_bytes};
use crate::{Artifact, MediaRun};

/// Writes a run inside the transaction that ends its hold.
pub(super) fn write(connection: &Connection, run: &MediaRun) -> Result<()> {
    let mut insert = connection
        .prepare_cached("INSERT INTO media_runs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    insert.execute(params![
        run.id,
        run.member.0,
        run.hold.to_bytes(),
        run.model,
        run.capability,
        run.charge.get(),
        run.created_at.micros(),
        run.expires_at.micros(),
    ])?;
    let mut insert = connection
        .prepare_cached("INSERT INTO artifacts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?;
    let mut refer = connection
        .prepare_cached("UPDATE media_objects SET state = 1 WHERE name = ?1 AND state < 2")?;
    for (position, artifact) in run.artifacts.iter().enumerate() {
        insert.execute(params![
            artifact.id,
            run.id,
            i64::try_from(position).unwrap_or(i64::MAX),
            run.member.0,
            artifact.object,
            artifact.media_type,
            stored_bytes(artifact.bytes),
            artifact.sha256,
            run.expires_at.micros(),
        ])?;
        refer.execute([&artifact.object])?;
    }
    Ok(())
}

/// The object for bytes of this digest: one that is there, or a new one of this name.
pub(super) fn claim(
    connection: &Connection,
    sha256: &[u8; 32],
    name: &str,
    now: Time,
) -> Result<String> {
    let mut touch = connection.prepare_cached(
        "UPDATE media_objects SET touched_at = ?2 WHERE sha256 = ?1 AND state < 2 RETURNING name",
    )?;
    let found = touch.query_row(params![sha256, now.micros()], |row| row.get(0)).optional()?;
    if let Some(found) = found {
        return Ok(found);
    }
    connection
        .prepare_cached("INSERT INTO media_objects VALUES (?1, ?2, 0, ?3)")?
        .execute(params![name, sha256, now.micros()])?;
    Ok(name.to_owned())
}

pub(super) fn run(
    connection: &Connection,
    member: MemberId,
    id: &str,
    now: Time,
) -> Result<Option<MediaRun>> {
    let mut query = connection.prepare_cached(
        "SELECT hold, model, capability, charge, created_at, expires_at FROM media_runs \
         WHERE id = ?1 AND member = ?2 AND expires_at > ?3",
    )?;
    let read = |row: &Row<'_>| {
        Ok(MediaRun {
            id: id.to_owned(),
            member,
            hold: hold_id(row, 0)?,
            model: row.get(1)?,
            capability: row.get(2)?,
            charge: Micros::new(row.get(3)?),
            created_at: time(row, 4)?,
            expires_at: time(row, 5)?,
            artifacts: Vec::new(),
        })
    };
    let run = query.query_row(params![id, member.0, now.micros()], read).optional()?;
    let Some(mut run) = run else { return Ok(None) };
    let mut query = connection.prepare_cached(
        "SELECT id, object, media_type, bytes, sha256 FROM artifacts WHERE run = ?1 \
         ORDER BY position",
    )?;
    let found = query.query_map([id], read_artifact)?;
    run.artifacts = found.collect::<rusqlite::Result<_>>()?;
    Ok(Some(run))
}

pub(super) fn artifact(
    connection: &Connection,
    member: MemberId,
    id: &str,
    now: Time,
) -> Result<Option<Artifact>> {
    let mut query = connection.prepare_cached(
        "SELECT id, object, media_type, bytes, sha256 FROM artifacts \
         WHERE id = ?1 AND member = ?2 AND expires_at > ?3",
    )?;
    Ok(query.query_row(params![id, member.0, now.micros()], read_artifact).optional()?)
}

fn read_artifact(row: &Row<'_>) -> rusqlite::Result<Artifact> {
    Ok(Artifact {
        id: row.get(0)?,
        object: row.get(1)?,
        media_type: row.get(2)?,
        bytes: row.get::<_, i64>(3)?.unsigned_abs(),
        sha256: row.get(4)?,
    })
}

/// Removes runs that are over, and dooms the objects that nobody refers to; gives how many runs.
pub(super) fn sweep(connection: &Connection, limit: u32, now: Time) -> Result<usize> {
    let mut query =
        connection.prepare_cached("SELECT id FROM media_runs WHERE expires_at <= ?1 LIMIT ?2")?;
    let over = query.query_map(params![now.micros(), limit], |row| row.get(0))?;
    let over: Vec<String> = over.collect::<rusqlite::Result<_>>()?;
    for id in &over {
        connection
            .prepare_cached(
                "UPDATE media_objects SET state = 0 WHERE state = 1 \
                 AND name IN (SELECT object FROM artifacts WHERE run = ?1) \
                 AND NOT EXISTS (SELECT 1 FROM artifacts WHERE object = name AND run <> ?1)",
            )?
            .execute([id])?;
        connection.prepare_cached("DELETE FROM artifacts WHERE run = ?1")?.execute([id])?;
        connection.prepare_cached("DELETE FROM media_runs WHERE id = ?1")?.execute([id])?;
    }
    connection
        .prepare_cached(
            "UPDATE media_objects SET state = 2 WHERE name IN \
             (SELECT name FROM media_objects WHERE state = 0 AND touched_at <= ?1 \
             AND NOT EXISTS (SELECT 1 FROM artifacts WHERE object = name) LIMIT ?2)",
        )?
        .execute(params![now.plus_micros(-UNUSED_KEPT_MICROS).micros(), limit])?;
    Ok(over.len())
}

pub(super) fn doomed(connection: &Connection, limit: u32) -> Result<Vec<String>> {
    let mut query =
        connection.prepare_cached("SELECT name FROM media_objects WHERE state = 2 LIMIT ?1")?;
    let names = query.query_map([limit.min(MAX_PAGE)], |row| row.get(0))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn forget(connection: &Connection, names: &[String]) -> Result<()> {
    let mut remove =
        connection.prepare_cached("DELETE FROM media_objects WHERE name = ?1 AND state = 2")?;
    for name in names {
        remove.execute([name])?;
    }
    Ok(())
}
