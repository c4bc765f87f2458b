//! Ends of research jobs, their webhooks, and deletion.

use ledger::{EndResult, HoldEnd, HoldId, MemberId, Micros, Time};
use tokio_postgres::Client;

use super::columns_of;
use super::read;
use crate::error::Result;
use crate::limits::MAX_ENDED_JOBS;
use crate::postgres::Postgres;
use crate::postgres::connection::PgConnection;
use crate::postgres::load::{LoadedBatch, RowSet, load};
use crate::postgres::pool::pooled;
use crate::postgres::rows::{RowReader, Value};
use crate::postgres::save::{BatchWrites, save};
use crate::postgres::statements::with_clock;
use crate::records::{Columns, HoldUuid, job_status};
use crate::research::{
    AutomaticEnd, JobEnd, JobEndResult, JobStatus, ResearchJob, Webhook, WebhookOutcome,
};

/// An open job, locked after its member.
const OPEN_JOB: &str = "SELECT attempt, kept, status, done, deadline <= {now}, tries >= max_tries \
    AND free_at <= {now} FROM research_jobs \
     WHERE id = $1 AND member = $2 AND status IN ('queued', 'running') FOR NO KEY UPDATE";

const FINISH: &str = "WITH job AS ( \
        UPDATE research_jobs SET status = $2, result = $3, error = $4, charged = $5, \
            finished_at = $6, expires_at = $7, worker = NULL, step = coalesce($8::text, $2), \
            done = coalesce($9::bigint, done), total = coalesce($10::bigint, total), \
            events = events + cardinality($11::text[]) \
        WHERE id = $1 RETURNING id, events, webhook_url), \
    steps AS (UPDATE research_steps SET output = NULL WHERE job = $1), \
    webhook AS ( \
        INSERT INTO research_hooks (job, url, due_at) \
        SELECT id, webhook_url, $6 FROM job WHERE webhook_url IS NOT NULL) \
    INSERT INTO research_events (job, sequence, at, kind, data) \
    SELECT id, events - cardinality($11::text[]) + n.position, $6, n.kind, n.data \
    FROM job, unnest($11::text[], $12::bytea[]) WITH ORDINALITY AS n (kind, data, position)";

/// Takes no locks; the condition is checked again under the lock.
const OVERDUE: &str = "SELECT id, member FROM research_jobs WHERE status IN ('queued', 'running') \
    AND (deadline <= {now} OR (tries >= max_tries AND free_at <= {now})) LIMIT $1";

const CLAIM_WEBHOOK: &str = "UPDATE research_hooks SET tries = tries + 1, due_at = {now} + \
    $1::bigint WHERE job = (SELECT job FROM research_hooks \
        WHERE outcome IS NULL AND due_at <= {now} ORDER BY due_at LIMIT 1 FOR NO KEY UPDATE SKIP \
        LOCKED) RETURNING job, url, tries";

const FINISH_WEBHOOK: &str = "UPDATE research_hooks SET outcome = $3, due_at = {now} + $4::bigint \
    WHERE job = $1 AND tries = $2 AND outcome IS NULL";

/// Steps, events and webhooks are deleted with their job.
const DELETE_EXPIRED: &str = "DELETE FROM research_jobs WHERE id IN (SELECT id FROM research_jobs \
        WHERE expires_at <= {now} AND status NOT IN ('queued', 'running') LIMIT $1 FOR UPDATE \
        SKIP LOCKED)";

impl Postgres {
    pub(crate) async fn end_job(&self, job_end: JobEnd) -> Result<JobEndResult> {
        pooled!(self, connection => {
            end(connection, JobEnder::Caller(&job_end), self.idempotency_retention_micros)
        })
    }

    pub(crate) async fn end_overdue_jobs(&self) -> Result<u64> {
        pooled!(self, connection => end_overdue(connection))
    }

    pub(crate) async fn claim_webhook(
        &self,
        lease_micros: i64,
    ) -> Result<Option<(Webhook, ResearchJob)>> {
        pooled!(self, connection => claim_webhook(connection, lease_micros))
    }

    pub(crate) async fn finish_webhook(
        &self,
        webhook: &Webhook,
        outcome: WebhookOutcome,
    ) -> Result<bool> {
        let (outcome, after_micros) = outcome.stored();
        let tries = i64::from(webhook.tries);
        let values: [Value<'_>; 4] = [&HoldUuid(webhook.id), &tries, &outcome, &after_micros];
        Ok(self.run(FINISH_WEBHOOK, &values).await? > 0)
    }
}

#[derive(Debug, Clone, Copy)]
enum JobEnder<'a> {
    /// The worker or the member.
    Caller(&'a JobEnd),
    /// The store, if the job is overdue.
    Store { id: HoldId, member: MemberId },
}

struct OpenJob {
    attempt: i64,
    retention_micros: i64,
    status: JobStatus,
    done: u32,
    is_late: bool,
    has_no_tries: bool,
}

impl JobEnder<'_> {
    fn job(&self) -> (HoldId, MemberId) {
        match self {
            Self::Caller(job_end) => (job_end.id, job_end.member),
            Self::Store { id, member } => (*id, *member),
        }
    }

    /// The end of this job, if the claim is valid or the job is overdue.
    fn end(&self, job: &OpenJob) -> Option<JobEnd> {
        match self {
            Self::Caller(job_end) => {
                let is_valid = job_end.attempt.is_none_or(|attempt| attempt == job.attempt);
                is_valid.then(|| (*job_end).clone())
            }
            Self::Store { id, member } => (job.is_late || job.has_no_tries)
                .then(|| AutomaticEnd::new(job.is_late).end(*id, *member)),
        }
    }
}

async fn end_overdue(connection: &mut PgConnection) -> Result<u64> {
    let overdue = connection.rows(OVERDUE, &[&i64::from(MAX_ENDED_JOBS)]).await?;
    let mut count = 0;
    for row in &overdue {
        let mut columns = RowReader::new(row);
        let (id, member) = (columns.hold_id()?, MemberId(columns.take()?));
        let ended = end(connection, JobEnder::Store { id, member }, 0).await?;
        count += u64::from(ended != JobEndResult::NotEnded);
    }
    Ok(count)
}

/// Ends a job and its hold. The member is locked first, as everywhere, and then the job.
async fn end(
    connection: &mut PgConnection,
    ender: JobEnder<'_>,
    retention: i64,
) -> Result<JobEndResult> {
    let (id, member) = ender.job();
    let mut needed = RowSet::default();
    needed.members.insert(member);
    needed.holds.insert(id);
    let statements = connection.statements().await?;
    let LoadedBatch { mut book, now, .. } = load(&connection.client, statements, &needed).await??;
    let job = open_job(&connection.client, id, member).await?;
    let ending = job.and_then(|job| Some((ender.end(&job)?, job)));
    let Some((job_end, job)) = ending else {
        connection.client.batch_execute("ROLLBACK").await?;
        return Ok(JobEndResult::NotEnded);
    };
    let (rule, tokens) = (job_end.rule(job.status, job.done), job_end.tokens);
    let hold_end =
        HoldEnd { id, member, rule, model: None, tokens, attempts: None, answered: true };
    let result = match book.end(hold_end, now) {
        EndResult::Ended(receipt) => {
            finish(&connection.client, &job_end, &job, receipt.charged, now).await?;
            JobEndResult::Ended(receipt)
        }
        EndResult::AlreadyEnded => {
            let failed = job_end.without_hold();
            finish(&connection.client, &failed, &job, Micros::ZERO, now).await?;
            JobEndResult::NotEnded
        }
    };
    let (changes, expires_at) = (book.take_changes(), now.plus_micros(retention));
    let writes = BatchWrites { changes, expires_at, ..BatchWrites::default() };
    Box::pin(save(&connection.client, statements, writes)).await?;
    Ok(result)
}

async fn open_job(client: &Client, id: HoldId, member: MemberId) -> Result<Option<OpenJob>> {
    let row = client.query_opt(&with_clock(OPEN_JOB), &[&HoldUuid(id), &member.0]).await?;
    let Some(row) = row else { return Ok(None) };
    let mut columns = RowReader::new(&row);
    Ok(Some(OpenJob {
        attempt: columns.take()?,
        retention_micros: columns.take()?,
        status: job_status(&mut columns)?,
        done: columns.count()?,
        is_late: columns.take()?,
        has_no_tries: columns.take()?,
    }))
}

async fn finish(
    client: &Client,
    job_end: &JobEnd,
    job: &OpenJob,
    charged: Micros,
    now: Time,
) -> Result<()> {
    let (kinds, data) = columns_of(&job_end.events);
    let (at, expires_at) = (now.micros(), now.plus_micros(job.retention_micros).micros());
    let progress = job_end.progress.as_ref();
    let step = progress.map(|progress| progress.step.as_str());
    let done = progress.map(|progress| i64::from(progress.done));
    let total = progress.map(|progress| i64::from(progress.total));
    let (status, charged) = (job_end.status.as_str(), charged.get());
    let values: [Value<'_>; 12] = [
        &HoldUuid(job_end.id),
        &status,
        &job_end.result,
        &job_end.error,
        &charged,
        &at,
        &expires_at,
        &step,
        &done,
        &total,
        &kinds,
        &data,
    ];
    client.execute(FINISH, &values).await?;
    Ok(())
}

async fn claim_webhook(
    connection: &mut PgConnection,
    lease: i64,
) -> Result<Option<(Webhook, ResearchJob)>> {
    let Some(row) = connection.row(CLAIM_WEBHOOK, &[&lease]).await? else { return Ok(None) };
    let mut columns = RowReader::new(&row);
    let (id, url, tries) = (columns.hold_id()?, columns.take()?, columns.count()?);
    let job = read::by_id(connection, id).await?;
    Ok(job.map(|job| (Webhook { id, url, tries }, job)))
}

pub(in crate::postgres) async fn delete_expired(connection: &mut PgConnection) -> Result<u64> {
    connection.run(DELETE_EXPIRED, &[&i64::from(MAX_ENDED_JOBS)]).await
}
