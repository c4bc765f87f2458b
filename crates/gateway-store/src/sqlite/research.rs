//! Research jobs: queued, claimed, worked on, ended.

mod end;
mod read;

use ledger::{Book, Hold, HoldId, MemberId, Refusal, Time};
use rusqlite::{Connection, OptionalExtension, params};

use super::writer::Touches;
use super::{Sqlite, changes, rows};
use crate::Error;
use crate::backend::Result;
use crate::research::{
    FinishedStep, JOB_LEASE_MICROS, JOB_OWNER, JobClaim, JobEnd, JobEndResult, JobEvent,
    JobRelease, JobStatus, JobStep, Jobs, NewJob, NewJobEvent, ResearchJob, Webhook,
    WebhookOutcome,
};

pub(super) use end::sweep;

impl Jobs for Sqlite {
    async fn create_job(&self, job: NewJob) -> Result<std::result::Result<Hold, Refusal>> {
        let kept = self.options.repeats_kept_micros();
        self.write(Touches::Money, move |tables, now| create(tables, job, now, kept)).await
    }

    async fn job(&self, member: MemberId, id: HoldId) -> Result<Option<ResearchJob>> {
        let clock = self.clock();
        self.read(move |tables| read::job(tables, member, id, clock.now())).await
    }

    async fn job_status(&self, id: HoldId) -> Result<Option<(JobStatus, i64)>> {
        self.read(move |tables| read::status(tables, id)).await
    }

    async fn jobs(&self, member: MemberId, before: HoldId, limit: u32) -> Result<Vec<ResearchJob>> {
        let clock = self.clock();
        self.read(move |tables| read::jobs(tables, (member, before), limit, clock.now())).await
    }

    async fn job_steps(&self, id: HoldId) -> Result<Vec<JobStep>> {
        self.read(move |tables| read::steps(tables, id)).await
    }

    async fn job_events(&self, id: HoldId, after: i64, limit: u32) -> Result<Vec<JobEvent>> {
        self.read(move |tables| read::events(tables, id, after, limit)).await
    }

    async fn claim_job(&self, worker: i64, lease_micros: i64) -> Result<Option<ResearchJob>> {
        // Most looks find nothing, and need not write.
        let clock = self.clock();
        let is_any_free = move |tables: &_| read::is_any_free(tables, lease_micros, clock.now());
        if !self.read(is_any_free).await? {
            return Ok(None);
        }
        self.write(Touches::Else, move |tables, now| claim(tables, worker, lease_micros, now)).await
    }

    async fn renew_job(&self, fence: JobClaim, lease_micros: i64) -> Result<bool> {
        self.write(Touches::Else, move |tables, now| renew(tables, fence, lease_micros, now)).await
    }

    async fn finish_step(&self, fence: JobClaim, step: FinishedStep) -> Result<bool> {
        self.write(Touches::Else, move |tables, now| finish_step(tables, fence, &step, now)).await
    }

    async fn release_job(&self, fence: JobClaim, why: JobRelease) -> Result<bool> {
        self.write(Touches::Else, move |tables, now| give_back(tables, fence, &why, now)).await
    }

    async fn end_job(&self, end: JobEnd) -> Result<JobEndResult> {
        self.write(Touches::Money, move |tables, now| end::end(tables, &end, now)).await
    }

    async fn end_overdue_jobs(&self) -> Result<u64> {
        let clock = self.clock();
        if !self.read(move |tables| end::is_any_over(tables, clock.now())).await? {
            return Ok(0);
        }
        self.write(Touches::Money, end::reap).await
    }

    async fn claim_webhook(&self, lease_micros: i64) -> Result<Option<(Webhook, ResearchJob)>> {
        let clock = self.clock();
        if !self.read(move |tables| read::is_any_hook_due(tables, clock.now())).await? {
            return Ok(None);
        }
        self.write(Touches::Else, move |tables, now| end::claim_webhook(tables, lease_micros, now))
            .await
    }

    async fn finish_webhook(&self, hook: &Webhook, outcome: WebhookOutcome) -> Result<bool> {
        let hook = hook.clone();
        self.write(Touches::Else, move |tables, now| {
            end::finish_webhook(tables, &hook, outcome, now)
        })
        .await
    }
}

/// The hold and its job, or neither.
fn create(
    tables: &Connection,
    job: NewJob,
    now: Time,
    repeats_kept: i64,
) -> Result<std::result::Result<Hold, Refusal>> {
    let mut book = Book::default();
    let mut request = job.hold;
    (request.owner, request.lease_micros) = (JOB_OWNER, JOB_LEASE_MICROS);
    let id = request.id;
    rows::load_member(tables, &mut book, request.member)?;
    rows::load_lineage(tables, &mut book, request.lineage)?;
    if let Some(key) = &request.idempotency {
        rows::load_repeat(tables, &mut book, (request.lineage, &key.key), now)?;
    }
    if rows::hold(tables, request.member, id)?.is_some()
        || rows::receipt(tables, None, id)?.is_some()
    {
        return Ok(Err(Refusal::IdUsed));
    }
    let hold = match book.hold(request, now) {
        Ok(hold) => hold,
        Err(refusal) => return Ok(Err(refusal)),
    };
    if read::open_jobs(tables, hold.member)? >= job.max_open {
        return Ok(Err(Refusal::TooManyJobs { limit: job.max_open }));
    }
    let mut moved = book.take_changes();
    // The job is the answer: whoever asks again is given it at once.
    moved.idempotency.iter_mut().for_each(|repeat| repeat.answered = true);
    changes::write_money(tables, &moved, now.plus_micros(repeats_kept))?;
    tables
        .prepare_cached(
            "INSERT INTO research_jobs (id, member, lineage, status, query, model, request, \
             max_tries, free_at, created_at, deadline, kept, webhook_url) \
             VALUES (?1, ?2, ?3, 'queued', ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            id.to_bytes(),
            hold.member.0,
            hold.lineage.0,
            job.query,
            job.model,
            job.request,
            job.max_tries,
            now.micros(),
            now.plus_micros(job.deadline_micros).micros(),
            job.kept_micros,
            job.webhook_url,
        ])?;
    add_events(tables, id, &[job.event], now)?;
    Ok(Ok(hold))
}

fn claim(tables: &Connection, worker: i64, lease: i64, now: Time) -> Result<Option<ResearchJob>> {
    let id = read::next_free(tables, lease, now)?;
    let Some(id) = id else { return Ok(None) };
    tables
        .prepare_cached(
            "UPDATE research_jobs SET status = 'running', attempt = attempt + 1, \
             tries = tries + 1, worker = ?2, free_at = ?3, started_at = coalesce(started_at, ?4) \
             WHERE id = ?1",
        )?
        .execute(params![id.to_bytes(), worker, now.plus_micros(lease).micros(), now.micros()])?;
    let Some(job) = read::any_job(tables, id)? else { return Ok(None) };
    let data = serde_json::json!({ "attempt": job.attempt }).to_string().into_bytes();
    add_events(tables, id, &[NewJobEvent { kind: "running", data }], now)?;
    Ok(Some(job))
}

fn renew(tables: &Connection, fence: JobClaim, lease: i64, now: Time) -> Result<bool> {
    let mut update = tables.prepare_cached(
        "UPDATE research_jobs SET free_at = ?3 \
         WHERE id = ?1 AND attempt = ?2 AND status = 'running'",
    )?;
    let until = now.plus_micros(lease).micros();
    Ok(update.execute(params![fence.id.to_bytes(), fence.attempt, until])? > 0)
}

/// The fence first: what it does not let through is not written.
fn finish_step(
    tables: &Connection,
    fence: JobClaim,
    step: &FinishedStep,
    now: Time,
) -> Result<bool> {
    let progress = &step.progress;
    let passed = tables
        .prepare_cached(
            "UPDATE research_jobs SET free_at = ?3, tries = 0, step = ?4, done = ?5, total = ?6 \
             WHERE id = ?1 AND attempt = ?2 AND status = 'running'",
        )?
        .execute(params![
            fence.id.to_bytes(),
            fence.attempt,
            now.plus_micros(step.lease_micros).micros(),
            progress.step,
            progress.done,
            progress.total,
        ])?;
    if passed == 0 {
        return Ok(false);
    }
    tables
        .prepare_cached(
            "INSERT INTO research_steps (job, number, kind, attempt, detail, output, started_at, \
             finished_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            fence.id.to_bytes(),
            step.number,
            step.kind,
            fence.attempt,
            step.detail,
            step.output,
            now.plus_micros(-step.took_micros).micros(),
            now.micros(),
        ])?;
    add_events(tables, fence.id, &step.events, now)?;
    Ok(true)
}

fn give_back(tables: &Connection, fence: JobClaim, why: &JobRelease, now: Time) -> Result<bool> {
    let (uncounted, after, event) = match why {
        JobRelease::Stopping => (1, 0, None),
        JobRelease::Failed { after_micros, event } => (0, *after_micros, Some(event)),
    };
    let mut update = tables.prepare_cached(
        "UPDATE research_jobs SET status = 'queued', worker = NULL, free_at = ?3, \
         tries = max(tries - ?4, 0) WHERE id = ?1 AND attempt = ?2 AND status = 'running'",
    )?;
    let free_at = now.plus_micros(after).micros();
    let id = fence.id.to_bytes();
    if update.execute(params![id, fence.attempt, free_at, uncounted])? == 0 {
        return Ok(false);
    }
    if let Some(event) = event {
        add_events(tables, fence.id, std::slice::from_ref(event), now)?;
    }
    Ok(true)
}

/// Adds events after those there are.
fn add_events(tables: &Connection, id: HoldId, events: &[NewJobEvent], now: Time) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let mut query = tables.prepare_cached("SELECT events FROM research_jobs WHERE id = ?1")?;
    let last: Option<i64> = query.query_row([id.to_bytes()], |row| row.get(0)).optional()?;
    let mut sequence = last.ok_or(Error::Missing("job"))?;
    let mut insert =
        tables.prepare_cached("INSERT INTO research_events VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for event in events {
        sequence += 1;
        insert.execute(params![id.to_bytes(), sequence, now.micros(), event.kind, event.data])?;
    }
    tables
        .prepare_cached("UPDATE research_jobs SET events = ?2 WHERE id = ?1")?
        .execute(params![id.to_bytes(), sequence])?;
    Ok(())
}

/// After a crash of the only process: nobody works on what says that it runs.
pub(super) fn free_all(tables: &Connection, now: Time) -> Result<()> {
    tables
        .prepare_cached(
            "UPDATE research_jobs SET free_at = min(free_at, ?1) WHERE status = 'running'",
        )?
        .execute([now.micros()])?;
    Ok(())
}
