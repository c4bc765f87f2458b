//! The audit log, written in the transaction of the change that it describes.

use ledger::Time;
use rusqlite::{Connection, params};

use super::Sqlite;
use super::connection::{ConnectionExt, RowReader};
use crate::audit::{AuditChange, AuditTail};
use crate::error::Result;
use crate::limits::MAX_PAGE;
use crate::records::audit_entry;
use crate::{Actor, AuditEntry};

impl Sqlite {
    pub(crate) async fn audit(&self, before: i64, limit: u32) -> Result<Vec<AuditEntry>> {
        self.read(move |db, _| {
            let sql = "SELECT id, at, actor, request, action, subject, detail, digest FROM audit \
                       WHERE id < ?1 ORDER BY id DESC LIMIT ?2";
            db.rows(sql, params![before, limit.min(MAX_PAGE)], |row| audit_entry(row))
        })
        .await
    }
}

pub(super) fn append(db: &Connection, change: AuditChange, at: Time, by: &Actor) -> Result<()> {
    let sql = "SELECT id, digest FROM audit ORDER BY id DESC LIMIT 1";
    let tail = |row: &mut RowReader<'_>| Ok(AuditTail { id: row.take()?, digest: row.take()? });
    let entry = db.row(sql, [], tail)?.unwrap_or_default().append(change, at, by);
    db.run(
        "INSERT INTO audit VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            entry.id,
            entry.at.micros(),
            entry.actor.name,
            entry.actor.request,
            entry.action,
            entry.subject,
            entry.detail,
            entry.digest,
        ],
    )?;
    Ok(())
}
