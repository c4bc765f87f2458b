//! Expiry of leases, idempotency keys and stored responses.

use ledger::{EndResult, HoldId, MemberId};
use tokio_postgres::Client;

use super::connection::PgConnection;
use super::load::{LoadedBatch, RowSet, load};
use super::pool::pooled;
use super::rows::RowReader;
use super::save::{BatchWrites, save};
use super::{Postgres, media, research, sessions};
use crate::StoredResponse;
use crate::error::Result;
use crate::limits::MAX_EXPIRED;
use crate::records::{self, Columns, HoldUuid};
use crate::research::JOB_OWNER;
use crate::response::failed_body;

/// Skips holds that a batch has locked: they are ending, and waiting for them could deadlock.
const RENEW: &str = "UPDATE holds SET lease_until = {now} + $2::bigint WHERE id IN (SELECT id \
    FROM holds WHERE owner = $1 FOR UPDATE SKIP LOCKED)";

/// A lease that ends this far ahead was written before the clock was set back. Without a new end, a
/// crashed process would keep it for as long as the clock moved.
const SHORTEN: &str = "UPDATE holds SET lease_until = {now} + $1::bigint WHERE id IN (SELECT id \
    FROM holds WHERE owner <> $2 AND lease_until > {now} + 2 * $1::bigint FOR UPDATE SKIP LOCKED)";

/// Takes no locks, because the member must be locked first. A hold that is renewed or ended meanwhile is
/// skipped, so that several processes can run this concurrently.
const LEASE_OVER: &str = "SELECT id, member FROM holds WHERE lease_until < {now} ORDER BY \
    lease_until LIMIT $1";

const BACKGROUND_RESPONSES: &str = "SELECT id, member, lineage, hold, status, body, input, \
    previous, \
        background, created_at, expires_at \
    FROM responses \
    WHERE hold = ANY($1) AND background AND status IN ('queued', 'in_progress') \
    ORDER BY id FOR NO KEY UPDATE";

const DELETE_IDEMPOTENCY_KEYS: &str = "DELETE FROM repeats WHERE (lineage, word) IN (SELECT \
    lineage, word FROM repeats \
    WHERE answered AND expires_at <= {now} LIMIT $1 FOR UPDATE SKIP LOCKED)";

const DELETE_ANSWERS: &str = "DELETE FROM answers WHERE hold IN (SELECT hold FROM answers WHERE \
    expires_at <= {now} LIMIT $1 FOR UPDATE SKIP LOCKED)";

/// A response with a live hold is still being written.
const DELETE_RESPONSES: &str = "DELETE FROM responses WHERE id IN (SELECT id FROM responses r \
    WHERE expires_at <= {now} AND NOT EXISTS (SELECT FROM holds h WHERE h.id = r.hold) \
    LIMIT $1 FOR UPDATE SKIP LOCKED)";

/// Background responses that still run although their hold has ended. No process writes them any more.
const STRAY: &str = "SELECT id, body FROM responses r \
    WHERE status IN ('queued', 'in_progress') AND background \
        AND NOT EXISTS (SELECT FROM holds h WHERE h.id = r.hold) \
    ORDER BY hold LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED";

const FAIL: &str = "UPDATE responses r SET status = 'failed', body = n.body \
    FROM unnest($1::text[], $2::bytea[]) AS n (id, body) WHERE r.id = n.id";

impl Postgres {
    pub(crate) async fn renew_leases(&self, owner: i64, lease_micros: i64) -> Result<u64> {
        self.run(SHORTEN, &[&lease_micros, &JOB_OWNER]).await?;
        self.run(RENEW, &[&owner, &lease_micros]).await
    }

    pub(crate) async fn expire_holds(&self) -> Result<u64> {
        pooled!(self, connection => expire(connection))
    }

    pub(crate) async fn delete_expired(&self) -> Result<u64> {
        pooled!(self, connection => delete_expired(connection))
    }
}

async fn expire(connection: &mut PgConnection) -> Result<u64> {
    let candidates = connection.rows(LEASE_OVER, &[&i64::from(MAX_EXPIRED)]).await?;
    let mut needed = RowSet::default();
    for row in &candidates {
        let mut columns = RowReader::new(row);
        needed.holds.insert(columns.hold_id()?);
        needed.members.insert(MemberId(columns.take()?));
    }
    if needed.holds.is_empty() {
        return Ok(0);
    }
    let statements = connection.statements().await?;
    let LoadedBatch { mut book, now, .. } = load(&connection.client, statements, &needed).await??;
    let expires = |id: &HoldId| matches!(book.expire(*id, now), EndResult::Ended(_));
    let ended: Vec<HoldId> = needed.holds.into_iter().filter(expires).collect();
    if ended.is_empty() {
        connection.client.batch_execute("ROLLBACK").await?;
        return Ok(0);
    }
    let failed = failed_responses(&connection.client, &ended).await?;
    let responses = failed.iter().collect();
    let writes = BatchWrites {
        changes: book.take_changes(),
        responses,
        expires_at: now,
        ..BatchWrites::default()
    };
    Box::pin(save(&connection.client, statements, writes)).await?;
    Ok(ended.len() as u64)
}

async fn failed_responses(client: &Client, holds: &[HoldId]) -> Result<Vec<StoredResponse>> {
    let holds: Vec<HoldUuid> = holds.iter().copied().map(HoldUuid).collect();
    let found = client.query(BACKGROUND_RESPONSES, &[&holds]).await?;
    found.iter().map(|row| Ok(records::response(&mut RowReader::new(row))?.failed())).collect()
}

async fn delete_expired(connection: &mut PgConnection) -> Result<u64> {
    let limit = i64::from(MAX_EXPIRED);
    // Answers belong to idempotency keys and are not counted.
    connection.run(DELETE_ANSWERS, &[&limit]).await?;
    let keys = connection.run(DELETE_IDEMPOTENCY_KEYS, &[&limit]).await?;
    let responses = connection.run(DELETE_RESPONSES, &[&limit]).await?;
    let jobs = research::delete_expired(connection).await?;
    fail_stray(connection, limit).await?;
    let runs = media::delete_expired(connection, limit).await?;
    let sessions = sessions::delete_expired(connection, limit).await?;
    Ok(keys + responses + jobs + runs + sessions)
}

async fn fail_stray(connection: &mut PgConnection, limit: i64) -> Result<()> {
    let transaction = connection.client.transaction().await?;
    let (mut ids, mut bodies) = (Vec::new(), Vec::new());
    for row in transaction.query(STRAY, &[&limit]).await? {
        let mut columns = RowReader::new(&row);
        let id: String = columns.take()?;
        bodies.push(failed_body(&id, columns.take()?));
        ids.push(id);
    }
    if !ids.is_empty() {
        transaction.execute(FAIL, &[&ids, &bodies]).await?;
    }
    Ok(transaction.commit().await?)
}
