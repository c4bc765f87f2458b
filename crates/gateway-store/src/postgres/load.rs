//! The first half of a batch: locks the members and reads the rows that the operations need.

use std::time::Duration;

use ledger::{Book, Hold, HoldId, IdempotencyRecord};
use tokio::time::timeout;
use tokio_postgres::{Client, Error as DriverError, Row};
use uuid::Uuid;

use super::error::timed_out;
use super::statements::Statements;
use crate::batch_rows::{LoadedBatch, RowSet};
use crate::error::Result;
use crate::row::Read;
use crate::value::uuid;

/// A query that is sent only if it is needed.
macro_rules! query_if {
    ($is_needed:expr, $client:ident, $statement:expr, [$($value:ident),*]) => {
        async {
            if !$is_needed {
                return Ok(Vec::new());
            }
            $client.query(&$statement, &[$(&$value),*]).await
        }
    };
}

struct LoadedRows {
    members: Vec<Row>,
    lineages: Vec<Row>,
    holds: Vec<Row>,
    idempotency: Vec<Row>,
    referenced: Vec<Row>,
    now: Row,
    audit: Vec<Row>,
}

/// Maximum tries to lock the teams of members that change their team meanwhile.
const MAX_TRIES: u32 = 5;

/// Begins a transaction, locks and reads in one round trip, unless a lock is taken.
///
/// The statement that locks looks up teams before it waits for the members. A member who
/// changed teams in between has a team that is not locked: then everything is retried.
pub(super) async fn load(
    client: &Client,
    statements: &Statements,
    needed: &RowSet,
) -> std::result::Result<Result<LoadedBatch>, DriverError> {
    for _ in 1..MAX_TRIES {
        let loaded = read(&query(client, statements, needed).await?);
        match &loaded {
            Ok(batch) if !has_teams(needed, &batch.book) => {
                client.batch_execute("ROLLBACK").await?;
            }
            _ => return Ok(loaded),
        }
    }
    Ok(read(&query(client, statements, needed).await?))
}

/// Sends all statements at once. The server runs them in this order, so that all that follow the lock,
/// including the clock, see the last committed state of what the lock protects.
async fn query(
    client: &Client,
    statements: &Statements,
    needed: &RowSet,
) -> std::result::Result<LoadedRows, DriverError> {
    let members: Vec<i64> = needed.members.iter().map(|id| id.0).collect();
    let lineages: Vec<i64> = needed.lineages.iter().map(|id| id.0).collect();
    let new_holds: Vec<Uuid> = needed.new_holds.iter().map(|(id, _)| uuid(*id)).collect();
    let mut holds: Vec<Uuid> = needed.holds.iter().map(|(id, _)| uuid(*id)).collect();
    holds.extend_from_slice(&new_holds);
    let (key_lineages, keys): (Vec<i64>, Vec<&str>) =
        needed.idempotency_keys.iter().map(|(id, key)| (id.0, key.as_str())).unzip();
    let (owners, names): (Vec<i64>, Vec<&str>) =
        needed.references.iter().map(|(id, reference)| (id.0, reference.as_str())).unzip();

    let begin = client.execute(&statements.begin, &[]);
    let members = async { client.query(&statements.lock_members, &[&members, &holds]).await };
    let needs_lineages = !lineages.is_empty() || !holds.is_empty();
    let lineages = query_if!(needs_lineages, client, statements.lineages, [lineages, holds]);
    let live_holds = query_if!(!holds.is_empty(), client, statements.holds, [holds]);
    let idempotency =
        query_if!(!keys.is_empty(), client, statements.idempotency, [key_lineages, keys]);
    let has_references = !needed.references.is_empty();
    let referenced = query_if!(has_references, client, statements.referenced, [owners, names]);
    let lock_audit = query_if!(needed.is_audited, client, statements.lock_audit, []);
    let audit = query_if!(needed.is_audited, client, statements.last_audit, []);
    let now = async { client.query_one(&statements.now, &[&new_holds]).await };
    let (_, members, lineages, holds, idempotency, referenced, _, audit, now) = tokio::try_join!(
        biased;
        begin, members, lineages, live_holds, idempotency, referenced, lock_audit, audit, now
    )?;
    Ok(LoadedRows { members, lineages, holds, idempotency, referenced, now, audit })
}

fn has_teams(needed: &RowSet, book: &Book) -> bool {
    let mut teams = needed.members.iter().filter_map(|id| book.account(*id)?.team);
    teams.all(|team| book.account(team).is_some())
}

fn read(loaded: &LoadedRows) -> Result<LoadedBatch> {
    let mut book = Book::default();
    for row in &loaded.members {
        book.add_account(record(row)?);
    }
    for row in &loaded.lineages {
        book.add_lineage(record(row)?);
    }
    for row in &loaded.holds {
        let (hold, body): (Hold, Option<([u8; 32], bool)>) = record(row)?;
        if let (Some((body_sha256, answered)), Some(key)) = (body, &hold.idempotency) {
            let (lineage, key, hold) = (hold.lineage, key.clone(), hold.id);
            let record = IdempotencyRecord { lineage, key, body_sha256, hold, answered };
            book.add_idempotency_record(record);
        }
        book.add_hold(hold);
    }
    for row in &loaded.idempotency {
        book.add_idempotency_record(record(row)?);
    }
    for row in &loaded.referenced {
        book.add_referenced_posting(record(row)?);
    }
    let used_ids: Vec<Uuid> = loaded.now.try_get(1)?;
    let used_ids = used_ids.into_iter().map(|id| HoldId::from_bytes(id.into_bytes())).collect();
    let audit_tail = loaded.audit.first().map(record).transpose()?.unwrap_or_default();
    Ok(LoadedBatch { book, now: record(&loaded.now)?, used_ids, audit_tail })
}

fn record<T: Read>(row: &Row) -> Result<T> {
    T::read(&mut row.into())
}

pub(super) async fn roll_back(client: &Client, limit: Duration) -> Result<()> {
    let done = timeout(limit, client.batch_execute("ROLLBACK")).await;
    Ok(done.map_err(|_| timed_out())??)
}
