//! Research jobs: queued, claimed, worked on, ended. Any number of processes share the queue: a
//! claim passes over what another one is just taking, and raises the number that everything a
//! worker writes has to name.

mod end;
mod read;

use ledger::{Hold, HoldId, MemberId, Refusal};
use tokio::time::timeout;
use tokio_postgres::types::ToSql;

use super::Postgres;
use super::fault::{fault, too_late};
use super::link::Link;
use super::load::{Loaded, Wants, load};
use super::needs::Needs;
use super::rows::{Columns, Uid};
use super::save::{Writes, save};
use super::statements::now;
use crate::backend::Result;
use crate::research::{
    FinishedStep, JOB_LEASE_MICROS, JOB_OWNER, JobClaim, JobEnd, JobEndResult, JobEvent,
    JobRelease, JobStatus, JobStep, Jobs, MAX_PAUSE_MICROS, NewJob, NewJobEvent, ResearchJob,
    Webhook, WebhookOutcome,
};

pub(super) use end::sweep;

type Value<'a> = &'a (dyn ToSql + Sync);

impl Jobs for Postgres {
    async fn create_job(&self, job: NewJob) -> Result<std::result::Result<Hold, Refusal>> {
        linked!(self, link => create(link, job, self.repeats_kept_micros))
    }

    async fn job(&self, member: MemberId, id: HoldId) -> Result<Option<ResearchJob>> {
        linked!(self, link => read::job(link, member, id))
    }

    async fn job_status(&self, id: HoldId) -> Result<Option<(JobStatus, i64)>> {
        linked!(self, link => read::status(link, id))
    }

    async fn jobs(&self, member: MemberId, before: HoldId, limit: u32) -> Result<Vec<ResearchJob>> {
        linked!(self, link => read::jobs(link, member, before, limit))
    }

    async fn job_steps(&self, id: HoldId) -> Result<Vec<JobStep>> {
        linked!(self, link => read::steps(link, id))
    }

    async fn job_events(&self, id: HoldId, after: i64, limit: u32) -> Result<Vec<JobEvent>> {
        linked!(self, link => read::events(link, id, after, limit))
    }

    async fn claim_job(&self, worker: i64, lease_micros: i64) -> Result<Option<ResearchJob>> {
        linked!(self, link => claim(link, worker, lease_micros))
    }

    async fn renew_job(&self, fence: JobClaim, lease_micros: i64) -> Result<bool> {
        linked!(self, link => renew(link, fence, lease_micros))
    }

    async fn finish_step(&self, fence: JobClaim, step: FinishedStep) -> Result<bool> {
        linked!(self, link => finish_step(link, fence, &step))
    }

    async fn release_job(&self, fence: JobClaim, why: JobRelease) -> Result<bool> {
        linked!(self, link => give_back(link, fence, &why))
    }

    async fn end_job(&self, end: JobEnd) -> Result<JobEndResult> {
        linked!(self, link => end::end(link, &end, self.repeats_kept_micros))
    }

    async fn end_overdue_jobs(&self) -> Result<u64> {
        linked!(self, link => end::reap(link))
    }

    async fn claim_webhook(&self, lease_micros: i64) -> Result<Option<(Webhook, ResearchJob)>> {
        linked!(self, link => end::claim_webhook(link, lease_micros))
    }

    async fn finish_webhook(&self, hook: &Webhook, outcome: WebhookOutcome) -> Result<bool> {
        linked!(self, link => end::finish_webhook(link, hook, outcome))
    }
}

const INSERT: &str = "WITH job AS ( \
        INSERT INTO research_jobs (id, member, lineage, status, query, model, request, max_tries, \
            free_at, created_at, deadline, kept, webhook_url, events) \
        VALUES ($1, $2, $3, 'queued', $4, $5, $6, $7, $8, $8, $9, $10, $11, 1) RETURNING id) \
    INSERT INTO research_events (job, sequence, at, kind, data) \
    SELECT id, 1, $8, $12, $13 FROM job";

const OPEN_JOBS: &str = "SELECT count(*) FROM research_jobs \
    WHERE member = $1 AND status IN ('queued', 'running')";

/// Locked rows are passed over: somebody is just taking them, or writing to them. A claim that ends more
/// than two leases ahead, and a pause longer than there is, were written before the clock was set
/// back, and count as ended.
const CLAIM: &str = concat!(
    "WITH free AS ( \
        SELECT id FROM research_jobs \
        WHERE status IN ('queued', 'running') AND tries < max_tries AND (free_at <= ",
    now!(),
    " OR free_at > ",
    now!(),
    " + CASE status WHEN 'running' THEN 2 * $2::bigint ELSE $3::bigint END) AND deadline > ",
    now!(),
    " ORDER BY free_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED), \
    claimed AS ( \
        UPDATE research_jobs j SET status = 'running', attempt = attempt + 1, tries = tries + 1, \
            worker = $1, free_at = ",
    now!(),
    " + $2::bigint, started_at = coalesce(started_at, ",
    now!(),
    "), events = events + 1 FROM free WHERE j.id = free.id RETURNING j.*), \
    told AS ( \
        INSERT INTO research_events (job, sequence, at, kind, data) \
        SELECT id, events, ",
    now!(),
    ", 'running', convert_to(json_build_object('attempt', attempt)::text, 'UTF8') FROM claimed) \
    SELECT ",
    read::columns!(),
    " FROM claimed"
);

const RENEW: &str = concat!(
    "UPDATE research_jobs SET free_at = ",
    now!(),
    " + $3::bigint WHERE id = $1 AND attempt = $2 AND status = 'running'"
);

/// The fence first: what it does not let through is not written.
const FINISH_STEP: &str = concat!(
    "WITH passed AS ( \
        UPDATE research_jobs SET free_at = ",
    now!(),
    " + $3::bigint, tries = 0, step = $4, done = $5, total = $6, \
            events = events + cardinality($7::text[]) \
        WHERE id = $1 AND attempt = $2 AND status = 'running' RETURNING id, events), \
    step AS ( \
        INSERT INTO research_steps (job, number, kind, attempt, detail, output, started_at, \
            finished_at) \
        SELECT id, $9, $10, $2, $11, $12, ",
    now!(),
    " - $13::bigint, ",
    now!(),
    " FROM passed), \
    told AS ( \
        INSERT INTO research_events (job, sequence, at, kind, data) \
        SELECT id, events - cardinality($7::text[]) + n.place, ",
    now!(),
    ", n.kind, n.data FROM passed, \
            unnest($7::text[], $8::bytea[]) WITH ORDINALITY AS n (kind, data, place)) \
    SELECT count(*) FROM passed"
);

const GIVE_BACK: &str = concat!(
    "WITH passed AS ( \
        UPDATE research_jobs SET status = 'queued', worker = NULL, free_at = ",
    now!(),
    " + $3::bigint, tries = greatest(tries - $4, 0), \
            events = events + cardinality($5::text[]) \
        WHERE id = $1 AND attempt = $2 AND status = 'running' RETURNING id, events), \
    told AS ( \
        INSERT INTO research_events (job, sequence, at, kind, data) \
        SELECT id, events - cardinality($5::text[]) + n.place, ",
    now!(),
    ", n.kind, n.data FROM passed, \
            unnest($5::text[], $6::bytea[]) WITH ORDINALITY AS n (kind, data, place)) \
    SELECT count(*) FROM passed"
);

/// The hold and its job, or neither.
async fn create(
    link: &mut Link,
    job: NewJob,
    repeats_kept: i64,
) -> Result<std::result::Result<Hold, Refusal>> {
    let mut request = job.hold;
    (request.owner, request.lease_micros) = (JOB_OWNER, JOB_LEASE_MICROS);
    let id = request.id;
    let mut needs = Needs::default();
    needs.members.insert(request.member);
    needs.lineages.insert(request.lineage);
    if let Some(key) = &request.idempotency {
        needs.repeats.insert((request.lineage, key.key.clone()));
    }
    let statements = link.statements().await?;
    let wants = Wants::from(needs).beginning(id);
    let loaded = load(link.client(), statements, &wants).await.map_err(fault)??;
    let Loaded { mut book, now, used, .. } = loaded;
    let member = request.member;
    let mut result = if used.is_empty() { book.hold(request, now) } else { Err(Refusal::IdUsed) };
    // The row of the member is locked: no other process queues a job for it until this one is done.
    if result.is_ok() {
        let row = link.client().query_one(OPEN_JOBS, &[&member.0]).await.map_err(fault)?;
        if Columns::of(&row).take::<i64>()? >= i64::from(job.max_open) {
            result = Err(Refusal::TooManyJobs { limit: job.max_open });
        }
    }
    let hold = match result {
        Ok(hold) => hold,
        Err(refusal) => {
            link.client().batch_execute("ROLLBACK").await.map_err(fault)?;
            return Ok(Err(refusal));
        }
    };
    let mut changes = book.take_changes();
    // The job is the answer: whoever asks again is given it at once.
    changes.idempotency.iter_mut().for_each(|repeat| repeat.answered = true);
    let (micros, deadline) = (now.micros(), now.plus_micros(job.deadline_micros).micros());
    let max_tries = i64::from(job.max_tries);
    let values: [Value<'_>; 13] = [
        &Uid(id),
        &hold.member.0,
        &hold.lineage.0,
        &job.query,
        &job.model,
        &job.request,
        &max_tries,
        &micros,
        &deadline,
        &job.kept_micros,
        &job.webhook_url,
        &job.event.kind,
        &job.event.data,
    ];
    link.client().execute(INSERT, &values).await.map_err(fault)?;
    let until = now.plus_micros(repeats_kept);
    let writes = Writes { changes, until, ..Writes::default() };
    Box::pin(save(link.client(), statements, writes)).await.map_err(fault)?;
    Ok(Ok(hold))
}

async fn claim(link: &mut Link, worker: i64, lease: i64) -> Result<Option<ResearchJob>> {
    link.row(CLAIM, &[&worker, &lease, &MAX_PAUSE_MICROS])
        .await?
        .as_ref()
        .map(read::of_row)
        .transpose()
}

async fn renew(link: &mut Link, fence: JobClaim, lease: i64) -> Result<bool> {
    Ok(link.run(RENEW, &[&Uid(fence.id), &fence.attempt, &lease]).await? > 0)
}

async fn finish_step(link: &mut Link, fence: JobClaim, step: &FinishedStep) -> Result<bool> {
    let (kinds, data) = split(&step.events);
    let (done, total) = (i64::from(step.progress.done), i64::from(step.progress.total));
    let number = i64::from(step.number);
    let row = link
        .row(
            FINISH_STEP,
            &[
                &Uid(fence.id),
                &fence.attempt,
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
            ],
        )
        .await?;
    passed(row.as_ref())
}

async fn give_back(link: &mut Link, fence: JobClaim, why: &JobRelease) -> Result<bool> {
    let (uncounted, after, events) = match why {
        JobRelease::Stopping => (1_i64, 0_i64, &[][..]),
        JobRelease::Failed { after_micros, event } => {
            (0, *after_micros, std::slice::from_ref(event))
        }
    };
    let (kinds, data) = split(events);
    let values: [Value<'_>; 6] =
        [&Uid(fence.id), &fence.attempt, &after, &uncounted, &kinds, &data];
    passed(link.row(GIVE_BACK, &values).await?.as_ref())
}

/// Whether the fence let something through.
fn passed(row: Option<&tokio_postgres::Row>) -> Result<bool> {
    let Some(row) = row else { return Ok(false) };
    Ok(Columns::of(row).take::<i64>()? > 0)
}

/// Events column by column.
fn split(events: &[NewJobEvent]) -> (Vec<&str>, Vec<&[u8]>) {
    events.iter().map(|event| (event.kind, &event.data[..])).unzip()
}
