//! Stored responses, their events, and answers that are kept.

use ledger::{HoldId, LineageId, MemberId, Time};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::rows::{MAX_PAGE, hold_id, time};
use crate::backend::Result;
use crate::{Error, ResponseEvent, SavedAnswer, StoredResponse};

pub(super) fn answer(
    connection: &Connection,
    id: HoldId,
    now: Time,
) -> Result<Option<SavedAnswer>> {
    let mut query = connection.prepare_cached(
        "SELECT status, content_type, body FROM answers WHERE hold = ?1 AND expires_at > ?2",
    )?;
    let read = |row: &Row<'_>| {
        Ok(SavedAnswer { status: row.get(0)?, content_type: row.get(1)?, body: row.get(2)? })
    };
    Ok(query.query_row(params![id.to_bytes(), now.micros()], read).optional()?)
}

pub(super) fn response(
    connection: &Connection,
    member: MemberId,
    id: &str,
    now: Time,
) -> Result<Option<StoredResponse>> {
    let mut query = connection.prepare_cached(
        "SELECT lineage, hold, status, body, input, previous, background, created_at, expires_at \
         FROM responses WHERE id = ?1 AND member = ?2 AND expires_at > ?3",
    )?;
    let read = |row: &Row<'_>| {
        Ok(StoredResponse {
            id: id.to_owned(),
            member,
            lineage: LineageId(row.get(0)?),
            hold: hold_id(row, 1)?,
            status: row.get(2)?,
            body: row.get(3)?,
            input: row.get(4)?,
            previous: row.get(5)?,
            background: row.get(6)?,
            created_at: time(row, 7)?,
            expires_at: time(row, 8)?,
        })
    };
    Ok(query.query_row(params![id, member.0, now.micros()], read).optional()?)
}

pub(super) fn status(
    connection: &Connection,
    member: MemberId,
    id: &str,
    now: Time,
) -> Result<Option<String>> {
    let mut query = connection.prepare_cached(
        "SELECT status FROM responses WHERE id = ?1 AND member = ?2 AND expires_at > ?3",
    )?;
    let read = |row: &Row<'_>| row.get(0);
    Ok(query.query_row(params![id, member.0, now.micros()], read).optional()?)
}

pub(super) fn update(connection: &Connection, response: &StoredResponse) -> Result<bool> {
    let mut update = connection.prepare_cached(
        "UPDATE responses SET status = ?3, body = ?4 WHERE id = ?1 AND member = ?2 \
         AND status IN ('queued', 'in_progress')",
    )?;
    let StoredResponse { id, member, status, body, .. } = response;
    Ok(update.execute(params![id, member.0, status, body])? > 0)
}

pub(super) fn cancel_queued(connection: &Connection, response: &StoredResponse) -> Result<bool> {
    let mut update = connection.prepare_cached(
        "UPDATE responses SET status = 'cancelled', body = ?3 WHERE id = ?1 AND member = ?2 \
         AND status = 'queued'",
    )?;
    let StoredResponse { id, member, body, .. } = response;
    Ok(update.execute(params![id, member.0, body])? > 0)
}

pub(super) fn delete(connection: &Connection, member: MemberId, id: &str) -> Result<bool> {
    let mut remove =
        connection.prepare_cached("DELETE FROM responses WHERE id = ?1 AND member = ?2")?;
    if remove.execute(params![id, member.0])? == 0 {
        return Ok(false);
    }
    delete_events(connection, id)?;
    Ok(true)
}

pub(super) fn delete_events(connection: &Connection, id: &str) -> Result<()> {
    connection.prepare_cached("DELETE FROM response_events WHERE response = ?1")?.execute([id])?;
    Ok(())
}

/// Adds events; one that is there already, as when this is tried again, stays as it is.
pub(super) fn append_events(
    connection: &Connection,
    id: &str,
    events: &[ResponseEvent],
) -> Result<()> {
    let mut query = connection.prepare_cached("SELECT 1 FROM responses WHERE id = ?1")?;
    if !query.exists([id])? {
        return Err(Error::Missing("response"));
    }
    let mut insert = connection
        .prepare_cached("INSERT INTO response_events VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")?;
    for ResponseEvent { sequence, event } in events {
        insert.execute(params![id, sequence, event])?;
    }
    Ok(())
}

pub(super) fn events(
    connection: &Connection,
    id: &str,
    after: i64,
    limit: u32,
) -> Result<Vec<ResponseEvent>> {
    let mut query = connection.prepare_cached(
        "SELECT sequence, event FROM response_events WHERE response = ?1 AND sequence > ?2 \
         ORDER BY sequence LIMIT ?3",
    )?;
    let read = |row: &Row<'_>| Ok(ResponseEvent { sequence: row.get(0)?, event: row.get(1)? });
    let rows = query.query_map(params![id, after, limit.min(MAX_PAGE)], read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The responses that a hold paid for and that still run have failed: nobody works on them.
pub(super) fn fail_running(connection: &Connection, hold: HoldId) -> Result<()> {
    let mut query = connection.prepare_cached(
        "SELECT id, body FROM responses WHERE hold = ?1 AND status IN ('queued', 'in_progress')",
    )?;
    let running = query.query_map([hold.to_bytes()], id_and_body)?;
    fail(connection, running.collect::<rusqlite::Result<_>>()?)
}

/// Responses that say that they run, and whose hold has ended without them, have failed as well.
pub(super) fn fail_stray(connection: &Connection, limit: u32) -> Result<()> {
    let mut query = connection.prepare_cached(
        "SELECT id, body FROM responses WHERE status IN ('queued', 'in_progress') AND background \
         AND NOT EXISTS (SELECT 1 FROM holds WHERE holds.member = responses.member \
         AND holds.id = responses.hold) LIMIT ?1",
    )?;
    let stray = query.query_map([limit], id_and_body)?;
    fail(connection, stray.collect::<rusqlite::Result<_>>()?)
}

fn id_and_body(row: &Row<'_>) -> rusqlite::Result<(String, Vec<u8>)> {
    Ok((row.get(0)?, row.get(1)?))
}

fn fail(connection: &Connection, responses: Vec<(String, Vec<u8>)>) -> Result<()> {
    for (id, body) in responses {
        connection
            .prepare_cached("UPDATE responses SET status = 'failed', body = ?2 WHERE id = ?1")?
            .execute(params![id, crate::response::failed_body(&id, &body)])?;
    }
    Ok(())
}
