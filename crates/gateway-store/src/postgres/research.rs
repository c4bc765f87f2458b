//! Research jobs: queueing, claims and steps. Any number of processes share the queue.

mod end;
mod read;

use ledger::{Hold, Refusal};

use super::Postgres;
use super::connection::PgConnection;
use super::load::{LoadedBatch, RowSet, load};
use super::pool::pooled;
use super::rows::{self, Value};
use super::save::{BatchWrites, save};
use crate::Calendar;
use crate::error::Result;
use crate::records::{self, HoldUuid, first};
use crate::research::{
    FinishedStep, JOB_LEASE_MICROS, JOB_OWNER, JobClaim, JobRelease, MAX_PAUSE_MICROS, NewJob,
    NewJobEvent, ResearchJob,
};

pub(super) use end::delete_expired;

const INSERT: &str = "WITH job AS ( \
        INSERT INTO research_jobs (id, member, lineage, status, query, model, request, max_tries, \
            free_at, created_at, deadline, kept, webhook_url, events) \
        VALUES ($1, $2, $3, 'queued', $4, $5, $6, $7, $8, $8, $9, $10, $11, 1) RETURNING id) \
    INSERT INTO research_events (job, sequence, at, kind, data) \
    SELECT id, 1, $8, $12, $13 FROM job";

const OPEN_JOBS: &str = "SELECT count(*) FROM research_jobs \
    WHERE member = $1 AND status IN ('queued', 'running')";

/// Skips locked rows, which another process claims or writes. A lease that ends more than two leases
/// ahead, or a pause longer than the maximum, was written before the clock was set back and is over.
const CLAIM: &str = concat!(
    "WITH free AS ( \
        SELECT id FROM research_jobs \
        WHERE status IN ('queued', 'running') AND tries < max_tries AND (free_at <= {now} \
            OR free_at > {now} + CASE status WHEN 'running' THEN 2 * $2::bigint ELSE $3::bigint END) \
            AND deadline > {now} ORDER BY free_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED), \
    claimed AS ( \
        UPDATE research_jobs j SET status = 'running', attempt = attempt + 1, tries = tries + 1, \
            worker = $1, free_at = {now} + $2::bigint, started_at = coalesce(started_at, {now}), \
            events = events + 1 FROM free WHERE j.id = free.id RETURNING j.*), \
    event AS ( \
        INSERT INTO research_events (job, sequence, at, kind, data) \
        SELECT id, events, {now}, 'running', \
            convert_to(json_build_object('attempt', attempt)::text, 'UTF8') FROM claimed) \
    SELECT ",
    read::columns!(),
    " FROM claimed"
);

const RENEW: &str = "UPDATE research_jobs SET free_at = {now} + $3::bigint WHERE id = $1 AND \
    attempt = $2 AND status = 'running'";

/// Nothing is written if the claim is not valid any more.
const FINISH_STEP: &str = "WITH claimed AS ( \
        UPDATE research_jobs SET free_at = {now} + $3::bigint, tries = 0, step = $4, done = $5, \
        total = $6, \
            events = events + cardinality($7::text[]) \
        WHERE id = $1 AND attempt = $2 AND status = 'running' RETURNING id, events), \
    step AS ( \
        INSERT INTO research_steps (job, number, kind, attempt, detail, output, started_at, \
            finished_at) \
        SELECT id, $9, $10, $2, $11, $12, {now} - $13::bigint, {now} FROM claimed), \
    event AS ( \
        INSERT INTO research_events (job, sequence, at, kind, data) \
        SELECT id, events - cardinality($7::text[]) + n.position, {now}, n.kind, n.data FROM \
        claimed, \
            unnest($7::text[], $8::bytea[]) WITH ORDINALITY AS n (kind, data, position)) \
    SELECT count(*) FROM claimed";

const RELEASE: &str = "WITH claimed AS ( \
        UPDATE research_jobs SET status = 'queued', worker = NULL, free_at = {now} + $3::bigint, \
        tries = greatest(tries - $4, 0), \
            events = events + cardinality($5::text[]) \
        WHERE id = $1 AND attempt = $2 AND status = 'running' RETURNING id, events), \
    event AS ( \
        INSERT INTO research_events (job, sequence, at, kind, data) \
        SELECT id, events - cardinality($5::text[]) + n.position, {now}, n.kind, n.data FROM \
        claimed, \
            unnest($5::text[], $6::bytea[]) WITH ORDINALITY AS n (kind, data, position)) \
    SELECT count(*) FROM claimed";

impl Postgres {
    pub(crate) async fn create_job(
        &self,
        job: NewJob,
    ) -> Result<std::result::Result<Hold, Refusal>> {
        pooled!(self, connection => create(connection, job, self.idempotency_retention_micros, &self.calendar))
    }

    pub(crate) async fn claim_job(
        &self,
        worker: i64,
        lease_micros: i64,
    ) -> Result<Option<ResearchJob>> {
        self.row(CLAIM, &[&worker, &lease_micros, &MAX_PAUSE_MICROS], |row| records::job(row)).await
    }

    pub(crate) async fn renew_job(&self, claim: JobClaim, lease_micros: i64) -> Result<bool> {
        let values: [Value<'_>; 3] = [&HoldUuid(claim.id), &claim.attempt, &lease_micros];
        Ok(self.run(RENEW, &values).await? > 0)
    }

    pub(crate) async fn finish_step(&self, claim: JobClaim, step: FinishedStep) -> Result<bool> {
        let (kinds, data) = columns_of(&step.events);
        let (done, total) = (i64::from(step.progress.done), i64::from(step.progress.total));
        let number = i64::from(step.number);
        let values: [Value<'_>; 13] = [
            &HoldUuid(claim.id),
            &claim.attempt,
            &step.lease_micros,
            &step.progress.step,
            &done,
            &total,
            &kinds,
            &data,
            &number,
            &step.kind,
            &step.detail,
            &step.output,
            &step.took_micros,
        ];
        self.is_claimed(FINISH_STEP, &values).await
    }

    pub(crate) async fn release_job(&self, claim: JobClaim, release: JobRelease) -> Result<bool> {
        let (uncounted, after_micros, events) = release.parts();
        let (kinds, data) = columns_of(events);
        let values: [Value<'_>; 6] =
            [&HoldUuid(claim.id), &claim.attempt, &after_micros, &uncounted, &kinds, &data];
        self.is_claimed(RELEASE, &values).await
    }

    /// Runs a statement that returns the number of jobs it changed.
    async fn is_claimed(&self, sql: &'static str, values: &[Value<'_>]) -> Result<bool> {
        Ok(self.row(sql, values, |row| first::<i64>(row)).await?.is_some_and(|count| count > 0))
    }
}

async fn create(
    connection: &mut PgConnection,
    job: NewJob,
    retention: i64,
    calendar: &Calendar,
) -> Result<std::result::Result<Hold, Refusal>> {
    let mut request = job.hold;
    (request.owner, request.lease_micros) = (JOB_OWNER, JOB_LEASE_MICROS);
    let (id, member) = (request.id, request.member);
    let mut needed = RowSet::default();
    needed.add_new_hold(&request);
    let statements = connection.statements().await?;
    let LoadedBatch { mut book, now, used_ids, .. } =
        load(&connection.client, statements, &needed).await??;
    let mut result = if used_ids.is_empty() {
        book.hold(request, now, &calendar.windows(now))
    } else {
        Err(Refusal::IdUsed)
    };
    // The lock on the member prevents that another process queues a job meanwhile.
    if result.is_ok() {
        let row = connection.client.query_one(OPEN_JOBS, &[&member.0]).await?;
        if rows::first::<i64>(&row)? >= i64::from(job.max_open) {
            result = Err(Refusal::TooManyJobs { limit: job.max_open });
        }
    }
    let hold = match result {
        Ok(hold) => hold,
        Err(refusal) => {
            connection.client.batch_execute("ROLLBACK").await?;
            return Ok(Err(refusal));
        }
    };
    let mut changes = book.take_changes();
    // The job is the answer, so that a repeated request returns it at once.
    changes.idempotency.iter_mut().for_each(|record| record.answered = true);
    let (micros, deadline) = (now.micros(), now.plus_micros(job.deadline_micros).micros());
    let max_tries = i64::from(job.max_tries);
    let values: [Value<'_>; 13] = [
        &HoldUuid(id),
        &hold.member.0,
        &hold.lineage.0,
        &job.query,
        &job.model,
        &job.request,
        &max_tries,
        &micros,
        &deadline,
        &job.retention_micros,
        &job.webhook_url,
        &job.event.kind,
        &job.event.data,
    ];
    connection.client.execute(INSERT, &values).await?;
    let expires_at = now.plus_micros(retention);
    let writes = BatchWrites { changes, expires_at, ..BatchWrites::default() };
    Box::pin(save(&connection.client, statements, writes)).await?;
    Ok(Ok(hold))
}

fn columns_of(events: &[NewJobEvent]) -> (Vec<&str>, Vec<&[u8]>) {
    events.iter().map(|event| (event.kind, &event.data[..])).unzip()
}
