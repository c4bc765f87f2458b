//! Ends of research jobs, their webhooks, and deletion.

use ledger::{EndResult, HoldEnd, HoldId, MemberId, Micros, Time};

use super::{COLUMNS, add_events};
use crate::batch_rows::{BatchWrites, LoadedBatch, RowSet};
use crate::error::Result;
use crate::executor::{Executor, LOCKED, SKIP_LOCKED};
use crate::research::{JobEnd, JobEndResult, JobStatus, ResearchJob, Webhook, WebhookOutcome};
use crate::store::Store;
use crate::value::values;

/// Maximum research jobs that one call ends or deletes.
const MAX_ENDED_JOBS: u32 = 100;

/// Jobs that missed their deadline or used up their tries.
const OVERDUE: &str = "SELECT id, member FROM research_jobs WHERE status IN ('queued', 'running') \
    AND (deadline <= {now} OR (tries >= max_tries AND free_at <= {now})) LIMIT $1";

const DUE: &str = "SELECT job FROM research_hooks WHERE outcome IS NULL AND due_at <= {now} \
    ORDER BY due_at LIMIT 1";

impl Store {
    pub async fn end_job(&self, end: JobEnd) -> Result<JobEndResult> {
        let retention = self.options().idempotency_retention_micros();
        let (id, member) = (end.id, end.member);
        statements!(self.write_ledger, db => end_job(db, id, member, Some(&end), retention))
    }

    /// Ends jobs that missed their deadline or used up their tries, at most a hundred; returns how
    /// many.
    pub async fn end_overdue_jobs(&self) -> Result<u64> {
        let overdue: Vec<(HoldId, MemberId)> = self.rows(OVERDUE, values![MAX_ENDED_JOBS]).await?;
        let mut count = 0;
        for (id, member) in overdue {
            let result = statements!(self.write_ledger, db => end_job(db, id, member, None, 0))?;
            count += u64::from(result != JobEndResult::NotEnded);
        }
        Ok(count)
    }

    /// Claims a webhook call that is due, until the lease is over.
    pub async fn claim_webhook(&self, lease_micros: i64) -> Result<Option<(Webhook, ResearchJob)>> {
        // Usually nothing is due, and the writer is not needed.
        if self.row::<HoldId>(DUE, values![]).await?.is_none() {
            return Ok(None);
        }
        transaction!(self.write, db => claim_webhook(db, lease_micros))
    }

    /// Records the result of a webhook call; returns whether the claim is still valid.
    pub async fn finish_webhook(&self, webhook: &Webhook, outcome: WebhookOutcome) -> Result<bool> {
        let (outcome, after_micros) = outcome.stored();
        let sql = "UPDATE research_hooks SET outcome = $3, due_at = {now} + $4 \
                   WHERE job = $1 AND tries = $2 AND outcome IS NULL";
        let values = values![webhook.id, webhook.tries, outcome, after_micros];
        Ok(self.run(sql, values).await? > 0)
    }
}

/// Ends a job and its hold: as the worker or the member requests, if the claim is valid, else if the
/// job is overdue. The member is locked first, as everywhere, and then the job.
async fn end_job(
    db: &mut impl Executor,
    id: HoldId,
    member: MemberId,
    requested: Option<&JobEnd>,
    idempotency_retention: i64,
) -> Result<JobEndResult> {
    let mut needed = RowSet::default();
    needed.add_hold(id, member);
    let LoadedBatch { mut book, now, .. } = db.load(&needed).await?;
    let sql = format!(
        "SELECT attempt, kept, status, done, deadline <= {{now}}, \
         tries >= max_tries AND free_at <= {{now}} FROM research_jobs \
         WHERE id = $1 AND member = $2 AND status IN ('queued', 'running') {LOCKED}"
    );
    let job: Option<(i64, i64, JobStatus, u32, bool, bool)> =
        db.row(&sql, values![id, member]).await?;
    let ending = job.and_then(|(attempt, retention, status, done, is_late, has_no_tries)| {
        let job_end = match requested {
            Some(end) if end.attempt.is_none_or(|claimed| claimed == attempt) => end.clone(),
            None if is_late || has_no_tries => JobEnd::automatic(id, member, is_late),
            _ => return None,
        };
        let rule = job_end.rule(status, done);
        Some((job_end, rule, now.plus_micros(retention)))
    });
    let Some((job_end, rule, expires_at)) = ending else {
        db.cancel().await?;
        return Ok(JobEndResult::NotEnded);
    };
    let tokens = job_end.tokens;
    let hold_end = HoldEnd { tokens, answered: true, ..HoldEnd::new(id, member, rule) };
    let result = match book.end(hold_end, now) {
        EndResult::Ended(receipt) => {
            finish(db, &job_end, receipt.charged, now, expires_at).await?;
            JobEndResult::Ended(receipt)
        }
        EndResult::AlreadyEnded => {
            finish(db, &job_end.without_hold(), Micros::ZERO, now, expires_at).await?;
            JobEndResult::NotEnded
        }
    };
    let (changes, expires_at) = (book.take_changes(), now.plus_micros(idempotency_retention));
    db.save(BatchWrites { changes, expires_at, ..BatchWrites::default() }).await?;
    Ok(result)
}

async fn finish(
    db: &mut impl Executor,
    job_end: &JobEnd,
    charged: Micros,
    now: Time,
    expires_at: Time,
) -> Result<()> {
    let JobEnd { id, status, result, error, progress, events, .. } = job_end;
    let sql = "UPDATE research_jobs SET status = $2, result = $3, error = $4, charged = $5, \
               finished_at = $6, expires_at = $7, worker = NULL, \
               step = coalesce(CAST($8 AS text), $2), done = coalesce(CAST($9 AS bigint), done), \
               total = coalesce(CAST($10 AS bigint), total) WHERE id = $1";
    let progress = progress.as_ref();
    let values = values![
        *id,
        status.as_str(),
        result.as_ref(),
        error.as_ref(),
        charged,
        now,
        expires_at,
        progress.map(|progress| &progress.step),
        progress.map(|progress| progress.done),
        progress.map(|progress| progress.total),
    ];
    db.run(sql, values).await?;
    db.run("UPDATE research_steps SET output = NULL WHERE job = $1", values![*id]).await?;
    add_events(db, *id, events).await?;
    let sql = "INSERT INTO research_hooks (job, url, due_at) SELECT id, webhook_url, {now} \
               FROM research_jobs WHERE id = $1 AND webhook_url IS NOT NULL";
    db.run(sql, values![*id]).await.map(drop)
}

async fn claim_webhook(
    db: &mut impl Executor,
    lease_micros: i64,
) -> Result<Option<(Webhook, ResearchJob)>> {
    let due = db.row::<HoldId>(&format!("{DUE} {SKIP_LOCKED}"), values![]).await?;
    let Some(id) = due else { return Ok(None) };
    let sql = "UPDATE research_hooks SET tries = tries + 1, due_at = {now} + $2 WHERE job = $1 \
               RETURNING url, tries";
    let Some((url, tries)) = db.row(sql, values![id, lease_micros]).await? else { return Ok(None) };
    let sql = format!("SELECT {COLUMNS} FROM research_jobs WHERE id = $1");
    let job: Option<ResearchJob> = db.row(&sql, values![id]).await?;
    Ok(job.map(|job| (Webhook { id, url, tries }, job)))
}

/// Deletes expired jobs; PostgreSQL deletes their steps, events and webhooks by itself.
pub(in crate::store) async fn delete_expired(db: &mut impl Executor) -> Result<u64> {
    let sql = "DELETE FROM research_jobs WHERE id IN (SELECT id FROM research_jobs \
               WHERE expires_at <= {now} AND status NOT IN ('queued', 'running') LIMIT $1 \
               {FOR UPDATE SKIP LOCKED|}) RETURNING id";
    let deleted: Vec<HoldId> = db.rows(sql, values![MAX_ENDED_JOBS]).await?;
    for id in &deleted {
        for sql in [
            "{|DELETE FROM research_events WHERE job = $1}",
            "{|DELETE FROM research_steps WHERE job = $1}",
            "{|DELETE FROM research_hooks WHERE job = $1}",
        ] {
            db.run(sql, values![*id]).await?;
        }
    }
    Ok(deleted.len() as u64)
}
