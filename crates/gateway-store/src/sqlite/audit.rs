//! The audit log: written in the transaction of what it tells about.

use ledger::{Posting, PostingKind, Time};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;

use super::rows::{MAX_PAGE, time};
use crate::backend::Result;
use crate::{Actor, AuditEntry};

/// Adds an entry, inside a transaction.
pub(super) fn append(
    connection: &Connection,
    at: Time,
    actor: &Actor,
    (action, subject, detail): (&str, String, &Value),
) -> Result<()> {
    let mut last =
        connection.prepare_cached("SELECT id, digest FROM audit ORDER BY id DESC LIMIT 1")?;
    let (id, previous): (i64, [u8; 32]) = last
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?
        .unwrap_or((0, [0; 32]));
    let mut entry = AuditEntry {
        id: id + 1,
        at,
        actor: actor.clone(),
        action: action.to_owned(),
        subject,
        detail: detail.to_string(),
        digest: [0; 32],
    };
    entry.digest = entry.digest_after(&previous);
    let mut insert =
        connection.prepare_cached("INSERT INTO audit VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    insert.execute(params![
        entry.id,
        entry.at.micros(),
        entry.actor.name,
        entry.actor.request,
        entry.action,
        entry.subject,
        entry.detail,
        entry.digest,
    ])?;
    Ok(())
}

/// Adds the entry of money that a person moved.
pub(super) fn posted(connection: &Connection, posting: &Posting, actor: &Actor) -> Result<()> {
    let action = match posting.kind {
        PostingKind::TopUp => "ledger.top_up",
        PostingKind::Adjustment => "ledger.adjustment",
        PostingKind::Charge => "ledger.charge",
    };
    let detail = crate::audit::posted(posting);
    append(connection, posting.at, actor, (action, posting.member.to_string(), &detail))
}

/// Entries before one, newest first.
pub(super) fn list(connection: &Connection, before: i64, limit: u32) -> Result<Vec<AuditEntry>> {
    let mut query = connection.prepare_cached(
        "SELECT id, at, actor, request, action, subject, detail, digest FROM audit \
         WHERE id < ?1 ORDER BY id DESC LIMIT ?2",
    )?;
    let rows = query.query_map(params![before, limit.min(MAX_PAGE)], entry)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Reads the columns of the table, in their order.
pub(super) fn entry(row: &Row<'_>) -> rusqlite::Result<AuditEntry> {
    Ok(AuditEntry {
        id: row.get(0)?,
        at: time(row, 1)?,
        actor: Actor { name: row.get(2)?, request: row.get(3)? },
        action: row.get(4)?,
        subject: row.get(5)?,
        detail: row.get(6)?,
        digest: row.get(7)?,
    })
}
