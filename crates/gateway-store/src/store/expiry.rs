//! Expiry of leases, idempotency keys and stored responses.

use ledger::{ChargeRule, EndResult, HoldEnd, HoldId, MemberId};

use super::responses::{RESPONSE, delete_events};
use super::{MAX_EXPIRED, Store, media, research};
use crate::StoredResponse;
use crate::batch_rows::{BatchWrites, LoadedBatch, RowSet};
use crate::error::Result;
use crate::executor::{Executor, LOCKED, SKIP_LOCKED};
use crate::research::JOB_OWNER;
use crate::response::failed_body;
use crate::value::values;

/// The holds to end. Holds of jobs end with their job instead.
#[derive(Debug, Clone, Copy)]
enum EndedHolds {
    LeaseOver,
    /// Holds of all processes but this one.
    NotOwnedBy(i64),
}

impl Store {
    /// Renews the leases of all live holds of a process; returns how many.
    pub async fn renew_leases(&self, owner: i64, lease_micros: i64) -> Result<u64> {
        statements!(self.write_ledger, db => renew_leases(db, owner, lease_micros))
    }

    /// Ends holds whose lease is over, at most a thousand; returns how many. Their background
    /// responses become `failed`.
    pub async fn expire_holds(&self) -> Result<u64> {
        statements!(self.write_ledger, db => end_holds(db, EndedHolds::LeaseOver))
    }

    /// Ends all holds of other processes, after a crash of a service on SQLite; returns how many.
    /// Running research jobs keep their holds and can be claimed again.
    pub async fn end_holds_except(&self, owner: i64) -> Result<u64> {
        if let Self::Postgres(_) = self {
            // Other processes renew their leases, and those of a crashed process expire.
            return Ok(0);
        }
        let mut total = 0;
        loop {
            let holds = EndedHolds::NotOwnedBy(owner);
            let ended = statements!(self.write_ledger, db => end_holds(db, holds))?;
            total += ended;
            if ended < u64::from(MAX_EXPIRED) {
                let free = "UPDATE research_jobs SET free_at = min(free_at, {now}) \
                            WHERE status = 'running'";
                self.run(free, values![]).await?;
                return Ok(total);
            }
        }
    }

    /// Deletes expired idempotency keys, responses and media runs, at most a thousand of each, and
    /// research jobs, at most a hundred; returns how many. Unreferenced objects become deletable.
    /// Background responses that still run although their hold has ended become `failed`.
    pub async fn delete_expired(&self) -> Result<u64> {
        let deleted = statements!(self.write, db => delete_expired(db))?;
        transaction!(self.write, db => fail_stray(db))?;
        let runs = transaction!(self.write, db => media::delete_expired(db))?;
        Ok(deleted + runs)
    }
}

/// Skips holds that a batch of PostgreSQL has locked: they are ending, and waiting for them could
/// deadlock.
async fn renew_leases(db: &mut impl Executor, owner: i64, lease_micros: i64) -> Result<u64> {
    // A lease that ends this far ahead was written before the clock was set back. Without a new end,
    // a crashed process would keep it for as long as the clock moved.
    let shorten = "UPDATE holds SET lease_until = {now} + $1 WHERE id IN (SELECT id FROM holds \
                   WHERE owner <> $2 AND lease_until > {now} + 2 * CAST($1 AS bigint) \
                   {FOR UPDATE SKIP LOCKED|})";
    db.run(shorten, values![lease_micros, JOB_OWNER]).await?;
    let renew = "UPDATE holds SET lease_until = {now} + $2 WHERE \
                 {id IN (SELECT id FROM holds WHERE owner = $1 FOR UPDATE SKIP LOCKED)|owner = $1}";
    db.run(renew, values![owner, lease_micros]).await
}

/// Ends holds and fails the background responses that they pay for; returns how many.
///
/// The query takes no locks, because the members must be locked first. A hold that is renewed or ended
/// meanwhile is skipped, so that several processes can run this concurrently.
async fn end_holds(db: &mut impl Executor, holds: EndedHolds) -> Result<u64> {
    let found: Vec<(HoldId, MemberId)> = match holds {
        EndedHolds::LeaseOver => {
            let sql = "SELECT id, member FROM holds WHERE owner <> $2 AND lease_until < {now} \
                       ORDER BY lease_until LIMIT $1";
            db.rows(sql, values![MAX_EXPIRED, JOB_OWNER]).await?
        }
        EndedHolds::NotOwnedBy(owner) => {
            let sql = "SELECT id, member FROM holds WHERE owner <> $2 AND owner <> $3 LIMIT $1";
            db.rows(sql, values![MAX_EXPIRED, JOB_OWNER, owner]).await?
        }
    };
    if found.is_empty() {
        return Ok(0);
    }
    let mut needed = RowSet::default();
    for (id, member) in found {
        needed.add_hold(id, member);
    }
    let LoadedBatch { mut book, now, .. } = db.load(&needed).await?;
    let mut ended = Vec::new();
    for (id, member) in needed.holds {
        let result = match holds {
            EndedHolds::LeaseOver => book.expire(id, now),
            EndedHolds::NotOwnedBy(_) => {
                book.end(HoldEnd::new(id, member, ChargeRule::Expired), now)
            }
        };
        if let EndResult::Ended(_) = result {
            ended.push(id);
        }
    }
    if ended.is_empty() {
        db.cancel().await?;
        return Ok(0);
    }
    let failed = failed_responses(db, &ended).await?;
    let (changes, responses) = (book.take_changes(), failed.iter().collect());
    db.save(BatchWrites { changes, responses, expires_at: now, ..BatchWrites::default() }).await?;
    Ok(ended.len() as u64)
}

async fn failed_responses(db: &mut impl Executor, holds: &[HoldId]) -> Result<Vec<StoredResponse>> {
    let sql = format!(
        "{RESPONSE} WHERE hold {{= ANY($1)|IN (SELECT unhex(value) FROM json_each($1))}} \
         AND background AND status IN ('queued', 'in_progress') ORDER BY id {LOCKED}"
    );
    let running: Vec<StoredResponse> = db.rows(&sql, values![holds]).await?;
    Ok(running.iter().map(StoredResponse::failed).collect())
}

async fn delete_expired(db: &mut impl Executor) -> Result<u64> {
    // A response with a live hold is still being written.
    let sql = "DELETE FROM responses WHERE id IN (SELECT id FROM responses r \
               WHERE expires_at <= {now} AND NOT EXISTS (SELECT 1 FROM holds h \
               WHERE {|h.member = r.member AND }h.id = r.hold) LIMIT $1 {FOR UPDATE SKIP LOCKED|}) \
               RETURNING id";
    let responses: Vec<String> = db.rows(sql, values![MAX_EXPIRED]).await?;
    for id in &responses {
        delete_events(db, id).await?;
    }
    let sql = "DELETE FROM repeats WHERE (lineage, word) IN (SELECT lineage, word FROM repeats \
               WHERE answered AND expires_at <= {now} LIMIT $1 {FOR UPDATE SKIP LOCKED|})";
    let keys = db.run(sql, values![MAX_EXPIRED]).await?;
    // Answers belong to idempotency keys and are not counted.
    let sql = "DELETE FROM answers WHERE hold IN (SELECT hold FROM answers \
               WHERE expires_at <= {now} LIMIT $1 {FOR UPDATE SKIP LOCKED|})";
    db.run(sql, values![MAX_EXPIRED]).await?;
    let jobs = research::delete_expired(db).await?;
    let sql = "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions \
               WHERE {least|min}(idle_until, ends_at) <= {now} LIMIT $1)";
    let sessions = db.run(sql, values![MAX_EXPIRED]).await?;
    Ok(responses.len() as u64 + keys + jobs + sessions)
}

/// Fails background responses that still run although their hold has ended. No process writes them any
/// more.
async fn fail_stray(db: &mut impl Executor) -> Result<()> {
    let sql = format!(
        "SELECT id, body FROM responses r WHERE status IN ('queued', 'in_progress') AND background \
         AND NOT EXISTS (SELECT 1 FROM holds h WHERE {{|h.member = r.member AND }}h.id = r.hold) \
         ORDER BY hold LIMIT $1 {SKIP_LOCKED}"
    );
    let stray: Vec<(String, Vec<u8>)> = db.rows(&sql, values![MAX_EXPIRED]).await?;
    for (id, body) in stray {
        let sql = "UPDATE responses SET status = 'failed', body = $2 WHERE id = $1";
        db.run(sql, values![&id, failed_body(&id, &body)]).await?;
    }
    Ok(())
}
