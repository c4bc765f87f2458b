//! The audit log.

use ledger::Time;
use tokio_postgres::{Row, Transaction};

use super::Postgres;
use super::rows::{RowReader, Value, first, page};
use super::statements::{LAST_AUDIT, LOCK_AUDIT, with_clock};
use crate::audit::{AuditChange, AuditTail};
use crate::error::Result;
use crate::records::{Columns, audit_entry};
use crate::{Actor, AuditEntry};

const INSERT_ONE: &str = "INSERT INTO audit (id, at, actor, request, action, subject, detail, \
    digest) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

const NOW: &str = "SELECT {now}";

const PAGE: &str = "SELECT id, at, actor, request, action, subject, detail, digest FROM audit \
    WHERE id < $1 ORDER BY id DESC LIMIT $2";

impl Postgres {
    pub(crate) async fn audit(&self, before: i64, limit: u32) -> Result<Vec<AuditEntry>> {
        self.rows(PAGE, &[&before, &page(limit)], |row| audit_entry(row)).await
    }
}

/// Reads the result of [`LAST_AUDIT`].
pub(super) fn tail(rows: &[Row]) -> Result<AuditTail> {
    let Some(row) = rows.first() else { return Ok(AuditTail::default()) };
    let mut columns = RowReader::new(row);
    Ok(AuditTail { id: columns.take()?, digest: columns.digest()? })
}

/// Appends an entry, as the last step before the commit.
pub(super) async fn append(
    transaction: &Transaction<'_>,
    change: AuditChange,
    by: &Actor,
) -> Result<()> {
    transaction.execute(LOCK_AUDIT, &[]).await?;
    let mut tail = tail(&transaction.query(LAST_AUDIT, &[]).await?)?;
    let at: i64 = first(&transaction.query_one(&with_clock(NOW), &[]).await?)?;
    let entry = tail.append(change, Time::from_micros(at), by);
    let (at, digest) = (entry.at.micros(), &entry.digest[..]);
    let AuditEntry { id, actor, action, subject, detail, .. } = &entry;
    let values: [Value<'_>; 8] =
        [id, &at, &actor.name, &actor.request, action, subject, detail, &digest];
    transaction.execute(INSERT_ONE, &values).await?;
    Ok(())
}
