//! Research jobs: queueing, claims and steps. Any number of processes share the queue.

mod end;

use ledger::{Hold, HoldId, MemberId, Refusal};
use serde_json::json;

use super::{Store, page};
use crate::StoreOptions;
use crate::batch_rows::{BatchWrites, LoadedBatch, RowSet};
use crate::error::Result;
use crate::executor::{Executor, SKIP_LOCKED};
use crate::research::{
    FinishedStep, JOB_LEASE_MICROS, JOB_OWNER, JobClaim, JobEvent, JobRelease, JobStatus, JobStep,
    MAX_PAUSE_MICROS, NewJob, NewJobEvent, ResearchJob,
};
use crate::value::{Value, values};

pub(super) use end::delete_expired;

const COLUMNS: &str = "id, member, lineage, status, query, model, request, attempt, tries, \
    max_tries, step, done, total, created_at, started_at, finished_at, deadline, result, error, \
    charged";

/// The job that has waited longest. A lease that ends more than two leases ahead, or a pause longer than
/// the maximum, was written before the clock was set back and is over.
const NEXT_FREE: &str = "SELECT id FROM research_jobs WHERE status IN ('queued', 'running') \
    AND tries < max_tries AND (free_at <= {now} OR free_at > {now} \
    + CASE status WHEN 'running' THEN 2 * CAST($1 AS bigint) ELSE CAST($2 AS bigint) END) \
    AND deadline > {now} ORDER BY free_at LIMIT 1";

impl Store {
    /// Queues a job and opens its hold. A repeated idempotency key is
    /// [`ledger::IdempotencyConflict::Answered`] with the id of the first job.
    pub async fn create_job(&self, job: NewJob) -> Result<std::result::Result<Hold, Refusal>> {
        let options = self.options().clone();
        statements!(self.write_ledger, db => create(db, job, &options))
    }

    pub async fn job(&self, member: MemberId, id: HoldId) -> Result<Option<ResearchJob>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM research_jobs WHERE id = $1 AND member = $2 \
             AND (expires_at IS NULL OR expires_at > {{now}})"
        );
        self.row(sql, values![id, member]).await
    }

    /// Returns status and attempt of a job of any member.
    pub async fn job_status(&self, id: HoldId) -> Result<Option<(JobStatus, i64)>> {
        self.row("SELECT status, attempt FROM research_jobs WHERE id = $1", values![id]).await
    }

    /// Lists jobs of a member with an id below `before`, newest first.
    pub async fn jobs(
        &self,
        member: MemberId,
        before: HoldId,
        limit: u32,
    ) -> Result<Vec<ResearchJob>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM research_jobs WHERE member = $1 AND id < $2 \
             AND (expires_at IS NULL OR expires_at > {{now}}) ORDER BY id DESC LIMIT $3"
        );
        self.rows(sql, values![member, before, page(limit)]).await
    }

    pub async fn job_steps(&self, id: HoldId) -> Result<Vec<JobStep>> {
        let sql = "SELECT number, kind, attempt, detail, output, started_at, finished_at \
                   FROM research_steps WHERE job = $1 ORDER BY number";
        self.rows(sql, values![id]).await
    }

    /// Lists events of a job after a sequence number, in order.
    pub async fn job_events(&self, id: HoldId, after: i64, limit: u32) -> Result<Vec<JobEvent>> {
        let sql = "SELECT sequence, at, kind, data FROM research_events \
                   WHERE job = $1 AND sequence > $2 ORDER BY sequence LIMIT $3";
        self.rows(sql, values![id, after, page(limit)]).await
    }

    /// Claims the job that has waited longest, or whose lease is over.
    pub async fn claim_job(&self, worker: i64, lease_micros: i64) -> Result<Option<ResearchJob>> {
        let lease = values![lease_micros, MAX_PAUSE_MICROS];
        // Usually no job is free, and the writer is not needed.
        if self.row::<HoldId>(NEXT_FREE, lease.clone()).await?.is_none() {
            return Ok(None);
        }
        transaction!(self.write, db => claim(db, worker, lease))
    }

    /// Renews a claim; returns whether it is still valid.
    pub async fn renew_job(&self, claim: JobClaim, lease_micros: i64) -> Result<bool> {
        let sql = "UPDATE research_jobs SET free_at = {now} + $3 \
                   WHERE id = $1 AND attempt = $2 AND status = 'running'";
        Ok(self.run(sql, values![claim.id, claim.attempt, lease_micros]).await? > 0)
    }

    /// Records a finished step; returns whether the claim is still valid.
    pub async fn finish_step(&self, claim: JobClaim, step: FinishedStep) -> Result<bool> {
        transaction!(self.write, db => finish_step(db, claim, &step))
    }

    /// Releases a claimed job; returns whether the claim is still valid.
    pub async fn release_job(&self, claim: JobClaim, release: JobRelease) -> Result<bool> {
        transaction!(self.write, db => release_job(db, claim, &release))
    }
}

async fn create(
    db: &mut impl Executor,
    job: NewJob,
    options: &StoreOptions,
) -> Result<std::result::Result<Hold, Refusal>> {
    let mut request = job.hold;
    (request.owner, request.lease_micros) = (JOB_OWNER, JOB_LEASE_MICROS);
    let mut needed = RowSet::default();
    needed.add_new_hold(&request);
    let LoadedBatch { mut book, now, used_ids, .. } = db.load(&needed).await?;
    let mut result = if used_ids.is_empty() {
        book.hold(request, now, &options.calendar.windows(now))
    } else {
        Err(Refusal::IdUsed)
    };
    if let Ok(hold) = &result
        && open_jobs(db, hold.member).await? >= job.max_open
    {
        result = Err(Refusal::TooManyJobs { limit: job.max_open });
    }
    let Ok(hold) = result else {
        db.cancel().await?;
        return Ok(result);
    };
    let mut changes = book.take_changes();
    // The job is the answer, so that a repeated request returns it at once.
    changes.idempotency.iter_mut().for_each(|record| record.answered = true);
    let sql = "INSERT INTO research_jobs (id, member, lineage, status, query, model, request, \
               max_tries, free_at, created_at, deadline, kept, webhook_url) \
               VALUES ($1, $2, $3, 'queued', $4, $5, $6, $7, $8, $8, $9, $10, $11)";
    let deadline = now.plus_micros(job.deadline_micros);
    let values = values![
        hold.id, hold.member, hold.lineage, job.query, job.model, job.request, job.max_tries, now,
        deadline, job.retention_micros, job.webhook_url,
    ];
    db.run(sql, values).await?;
    add_events(db, hold.id, &[job.event]).await?;
    let expires_at = now.plus_micros(options.idempotency_retention_micros());
    db.save(BatchWrites { changes, expires_at, ..BatchWrites::default() }).await?;
    Ok(Ok(hold))
}

/// Counts the open jobs of a member, whose lock prevents that another process queues one meanwhile.
async fn open_jobs(db: &mut impl Executor, member: MemberId) -> Result<u32> {
    // The index of SQLite has only open jobs, so that past jobs do not slow it down.
    let sql = "SELECT count(*) FROM research_jobs {|INDEXED BY research_jobs_free} \
               WHERE status IN ('queued', 'running') AND member = $1";
    Ok(db.row(sql, values![member]).await?.unwrap_or_default())
}

async fn claim(
    db: &mut impl Executor,
    worker: i64,
    lease: Vec<Value<'static>>,
) -> Result<Option<ResearchJob>> {
    let sql = format!("{NEXT_FREE} {SKIP_LOCKED}");
    let Some(id) = db.row::<HoldId>(&sql, lease.clone()).await? else { return Ok(None) };
    let sql = format!(
        "UPDATE research_jobs SET status = 'running', attempt = attempt + 1, tries = tries + 1, \
         worker = $2, free_at = {{now}} + $3, started_at = coalesce(started_at, {{now}}) \
         WHERE id = $1 RETURNING {COLUMNS}"
    );
    let values = values![id, worker, lease[0].clone()];
    let Some(job) = db.row::<ResearchJob>(&sql, values).await? else { return Ok(None) };
    let data = json!({ "attempt": job.attempt }).to_string().into_bytes();
    add_events(db, id, &[NewJobEvent { kind: "running", data }]).await?;
    Ok(Some(job))
}

async fn finish_step(db: &mut impl Executor, claim: JobClaim, step: &FinishedStep) -> Result<bool> {
    let JobClaim { id, attempt } = claim;
    let sql = "UPDATE research_jobs SET free_at = {now} + $3, tries = 0, step = $4, done = $5, \
               total = $6 WHERE id = $1 AND attempt = $2 AND status = 'running'";
    let progress = &step.progress;
    let (done, total) = (progress.done, progress.total);
    let values = values![id, attempt, step.lease_micros, &progress.step, done, total];
    if db.run(sql, values).await? == 0 {
        return Ok(false);
    }
    let sql = "INSERT INTO research_steps (job, number, kind, attempt, detail, output, started_at, \
               finished_at) VALUES ($1, $2, $3, $4, $5, $6, {now} - $7, {now})";
    let FinishedStep { number, kind, detail, output, took_micros, .. } = step;
    db.run(sql, values![id, *number, kind, attempt, detail, output, *took_micros]).await?;
    add_events(db, id, &step.events).await?;
    Ok(true)
}

async fn release_job(
    db: &mut impl Executor,
    claim: JobClaim,
    release: &JobRelease,
) -> Result<bool> {
    let (uncounted, after_micros, events) = release.parts();
    let sql = "UPDATE research_jobs SET status = 'queued', worker = NULL, free_at = {now} + $3, \
               tries = {greatest|max}(tries - $4, 0) \
               WHERE id = $1 AND attempt = $2 AND status = 'running'";
    let values = values![claim.id, claim.attempt, after_micros, uncounted];
    let is_valid = db.run(sql, values).await? > 0;
    if is_valid {
        add_events(db, claim.id, events).await?;
    }
    Ok(is_valid)
}

async fn add_events(db: &mut impl Executor, id: HoldId, events: &[NewJobEvent]) -> Result<()> {
    for event in events {
        let sql = "UPDATE research_jobs SET events = events + 1 WHERE id = $1 RETURNING events";
        let sequence: Option<i64> = db.row(sql, values![id]).await?;
        let sql = "INSERT INTO research_events (job, sequence, at, kind, data) \
                   VALUES ($1, $2, {now}, $3, $4)";
        db.run(sql, values![id, sequence, event.kind, &event.data]).await?;
    }
    Ok(())
}
