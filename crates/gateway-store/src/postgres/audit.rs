//! The audit log: each entry sealed with the digest of the one before.

use ledger::{Posting, Time};
use serde_json::Value;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Transaction};

use super::fault::fault;
use super::rows;
use super::statements::now;
use crate::backend::Result;
use crate::{Actor, AuditEntry};

/// One writer at a time: the entry before must be the last one. It is the last lock that any
/// transaction takes.
pub(super) const LOCK: &str = "SELECT pg_advisory_xact_lock(7310577375801501001)";

pub(super) const LAST: &str = "SELECT id, digest FROM audit ORDER BY id DESC LIMIT 1";

pub(super) const INSERT: &str = "INSERT INTO audit (id, at, actor, request, action, subject, \
        detail, digest) \
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], \
        $6::text[], $7::text[], $8::bytea[])";

const INSERT_ONE: &str = "INSERT INTO audit (id, at, actor, request, action, subject, detail, \
    digest) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

const NOW: &str = concat!("SELECT ", now!());

/// The end of the log.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Last {
    pub(super) id: i64,
    pub(super) digest: [u8; 32],
}

/// What an entry says, apart from when and by whom.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) action: &'static str,
    pub(super) subject: String,
    pub(super) detail: Value,
}

impl Last {
    pub(super) fn read(rows: &[Row]) -> Result<Self> {
        let Some(row) = rows.first() else { return Ok(Self::default()) };
        let mut columns = rows::Columns::of(row);
        Ok(Self { id: columns.take()?, digest: columns.digest()? })
    }

    /// The next entry, which becomes the last one.
    pub(super) fn seal(&mut self, change: Change, at: Time, by: &Actor) -> AuditEntry {
        let mut entry = AuditEntry {
            id: self.id + 1,
            at,
            actor: by.clone(),
            action: change.action.to_owned(),
            subject: change.subject,
            detail: change.detail.to_string(),
            digest: [0; 32],
        };
        entry.digest = entry.digest_after(&self.digest);
        *self = Self { id: entry.id, digest: entry.digest };
        entry
    }
}

impl Change {
    /// Money that a person moved.
    pub(super) fn posted(posting: &Posting) -> Self {
        let action = match posting.kind {
            ledger::PostingKind::TopUp => "ledger.top_up",
            ledger::PostingKind::Adjustment => "ledger.adjustment",
            ledger::PostingKind::Charge => "ledger.charge",
        };
        Self { action, subject: posting.member.to_string(), detail: crate::audit::posted(posting) }
    }
}

/// Adds an entry, as the last thing before the commit.
pub(super) async fn append(
    transaction: &Transaction<'_>,
    change: Change,
    by: &Actor,
) -> Result<()> {
    transaction.execute(LOCK, &[]).await.map_err(fault)?;
    let rows = transaction.query(LAST, &[]).await.map_err(fault)?;
    let at: i64 = transaction.query_one(NOW, &[]).await.map_err(fault)?.get(0);
    let entry = Last::read(&rows)?.seal(change, Time::from_micros(at), by);
    let (at, digest) = (entry.at.micros(), &entry.digest[..]);
    let AuditEntry { id, actor, action, subject, detail, .. } = &entry;
    let values: [&(dyn ToSql + Sync); 8] =
        [id, &at, &actor.name, &actor.request, action, subject, detail, &digest];
    transaction.execute(INSERT_ONE, &values).await.map_err(fault)?;
    Ok(())
}
