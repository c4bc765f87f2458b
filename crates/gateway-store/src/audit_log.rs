//! The audit log, written in the transaction of the change that it describes.

use crate::audit::{AuditChange, AuditTail};
use crate::error::Result;
use crate::executor::Executor;
use crate::value::values;
use crate::{Actor, tables};

/// Serializes writers of the audit log. It is the last lock that a transaction takes.
pub(crate) const LOCK: &str = "{SELECT pg_advisory_xact_lock(7310577375801501001)|}";

pub(crate) const TAIL: &str = "SELECT id, digest FROM audit ORDER BY id DESC LIMIT 1";

/// Appends an entry, as the last step before the commit.
pub(crate) async fn append(db: &mut impl Executor, change: AuditChange, by: &Actor) -> Result<()> {
    db.run(LOCK, values![]).await?;
    let mut tail: AuditTail = db.row(TAIL, values![]).await?.unwrap_or_default();
    let entry = tail.append(change, db.now().await?, by);
    db.run(&tables::AUDIT.insert, tables::audit_entry(&entry).into()).await.map(drop)
}
