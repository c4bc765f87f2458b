//! Research jobs: queueing, claims and steps.

mod end;
mod read;

use ledger::{Book, Hold, HoldId, MemberId, Refusal, Time};
use rusqlite::{Connection, params};

use super::connection::ConnectionExt;
use super::{Sqlite, rows, save};
use crate::error::Result;
use crate::records::first;
use crate::research::{
    FinishedStep, JOB_LEASE_MICROS, JOB_OWNER, JobClaim, JobRelease, NewJob, NewJobEvent,
    ResearchJob,
};
use crate::{Calendar, Error};

pub(super) use end::delete_expired;

impl Sqlite {
    pub(crate) async fn create_job(
        &self,
        job: NewJob,
    ) -> Result<std::result::Result<Hold, Refusal>> {
        let retention = self.options.idempotency_retention_micros();
        let calendar = self.options.calendar.clone();
        self.write_ledger(move |db, now| create(db, job, now, retention, &calendar)).await
    }

    pub(crate) async fn claim_job(
        &self,
        worker: i64,
        lease_micros: i64,
    ) -> Result<Option<ResearchJob>> {
        // Usually no job is free, and the writer is not needed.
        let next = move |db: &Connection, now| read::next_free(db, lease_micros, now);
        if self.read(next).await?.is_none() {
            return Ok(None);
        }
        self.write(move |db, now| claim(db, worker, lease_micros, now)).await
    }

    pub(crate) async fn renew_job(&self, claim: JobClaim, lease_micros: i64) -> Result<bool> {
        self.write(move |db, now| {
            let sql = "UPDATE research_jobs SET free_at = ?3 \
                       WHERE id = ?1 AND attempt = ?2 AND status = 'running'";
            let until = now.plus_micros(lease_micros).micros();
            Ok(db.run(sql, params![claim.id.to_bytes(), claim.attempt, until])? > 0)
        })
        .await
    }

    pub(crate) async fn finish_step(&self, claim: JobClaim, step: FinishedStep) -> Result<bool> {
        self.write(move |db, now| finish_step(db, claim, &step, now)).await
    }

    pub(crate) async fn release_job(&self, claim: JobClaim, release: JobRelease) -> Result<bool> {
        self.write(move |db, now| {
            let (uncounted, after_micros, events) = release.parts();
            let sql = "UPDATE research_jobs SET status = 'queued', worker = NULL, free_at = ?3, \
                       tries = max(tries - ?4, 0) \
                       WHERE id = ?1 AND attempt = ?2 AND status = 'running'";
            let free_at = now.plus_micros(after_micros).micros();
            let values = params![claim.id.to_bytes(), claim.attempt, free_at, uncounted];
            if db.run(sql, values)? == 0 {
                return Ok(false);
            }
            add_events(db, claim.id, events, now)?;
            Ok(true)
        })
        .await
    }
}

fn create(
    db: &Connection,
    job: NewJob,
    now: Time,
    retention: i64,
    calendar: &Calendar,
) -> Result<std::result::Result<Hold, Refusal>> {
    let mut book = Book::default();
    let mut request = job.hold;
    (request.owner, request.lease_micros) = (JOB_OWNER, JOB_LEASE_MICROS);
    let id = request.id;
    rows::load_member(db, &mut book, request.member)?;
    rows::load_lineage(db, &mut book, request.lineage)?;
    if let Some(key) = &request.idempotency {
        rows::load_idempotency_record(db, &mut book, request.lineage, &key.key, now)?;
    }
    if rows::hold(db, request.member, id)?.is_some() || rows::receipt(db, None, id)?.is_some() {
        return Ok(Err(Refusal::IdUsed));
    }
    let hold = match book.hold(request, now, &calendar.windows(now)) {
        Ok(hold) => hold,
        Err(refusal) => return Ok(Err(refusal)),
    };
    if open_jobs(db, hold.member)? >= job.max_open {
        return Ok(Err(Refusal::TooManyJobs { limit: job.max_open }));
    }
    let mut changes = book.take_changes();
    // The job is the answer, so that a repeated request returns it at once.
    changes.idempotency.iter_mut().for_each(|record| record.answered = true);
    save::write_changes(db, &changes, now.plus_micros(retention))?;
    db.run(
        "INSERT INTO research_jobs (id, member, lineage, status, query, model, request, \
         max_tries, free_at, created_at, deadline, kept, webhook_url) \
         VALUES (?1, ?2, ?3, 'queued', ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10, ?11)",
        params![
            id.to_bytes(),
            hold.member.0,
            hold.lineage.0,
            job.query,
            job.model,
            job.request,
            job.max_tries,
            now.micros(),
            now.plus_micros(job.deadline_micros).micros(),
            job.retention_micros,
            job.webhook_url,
        ],
    )?;
    add_events(db, id, &[job.event], now)?;
    Ok(Ok(hold))
}

/// Counts the open jobs of a member. The index has only open jobs, so that past jobs do not slow it
/// down.
fn open_jobs(db: &Connection, member: MemberId) -> Result<u32> {
    let sql = "SELECT count(*) FROM research_jobs INDEXED BY research_jobs_free \
               WHERE status IN ('queued', 'running') AND member = ?1";
    Ok(db.row(sql, [member.0], |row| first(row))?.unwrap_or_default())
}

fn claim(db: &Connection, worker: i64, lease: i64, now: Time) -> Result<Option<ResearchJob>> {
    let Some(id) = read::next_free(db, lease, now)? else { return Ok(None) };
    db.run(
        "UPDATE research_jobs SET status = 'running', attempt = attempt + 1, tries = tries + 1, \
         worker = ?2, free_at = ?3, started_at = coalesce(started_at, ?4) WHERE id = ?1",
        params![id.to_bytes(), worker, now.plus_micros(lease).micros(), now.micros()],
    )?;
    let Some(job) = read::by_id(db, id)? else { return Ok(None) };
    let data = serde_json::json!({ "attempt": job.attempt }).to_string().into_bytes();
    add_events(db, id, &[NewJobEvent { kind: "running", data }], now)?;
    Ok(Some(job))
}

fn finish_step(db: &Connection, claim: JobClaim, step: &FinishedStep, now: Time) -> Result<bool> {
    let progress = &step.progress;
    let updated = db.run(
        "UPDATE research_jobs SET free_at = ?3, tries = 0, step = ?4, done = ?5, total = ?6 \
         WHERE id = ?1 AND attempt = ?2 AND status = 'running'",
        params![
            claim.id.to_bytes(),
            claim.attempt,
            now.plus_micros(step.lease_micros).micros(),
            progress.step,
            progress.done,
            progress.total,
        ],
    )?;
    if updated == 0 {
        return Ok(false);
    }
    db.run(
        "INSERT INTO research_steps (job, number, kind, attempt, detail, output, started_at, \
         finished_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            claim.id.to_bytes(),
            step.number,
            step.kind,
            claim.attempt,
            step.detail,
            step.output,
            now.plus_micros(-step.took_micros).micros(),
            now.micros(),
        ],
    )?;
    add_events(db, claim.id, &step.events, now)?;
    Ok(true)
}

fn add_events(db: &Connection, id: HoldId, events: &[NewJobEvent], now: Time) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let (sql, id) = ("SELECT events FROM research_jobs WHERE id = ?1", id.to_bytes());
    let last: Option<i64> = db.row(sql, [id], |row| first(row))?;
    let mut sequence = last.ok_or(Error::Missing("job"))?;
    for event in events {
        sequence += 1;
        let sql = "INSERT INTO research_events VALUES (?1, ?2, ?3, ?4, ?5)";
        db.run(sql, params![id, sequence, now.micros(), event.kind, event.data])?;
    }
    db.run("UPDATE research_jobs SET events = ?2 WHERE id = ?1", params![id, sequence]).map(drop)
}

/// Makes running jobs claimable, after a crash of the process that ran them.
pub(super) fn free_running_jobs(db: &Connection, now: Time) -> Result<()> {
    let sql = "UPDATE research_jobs SET free_at = min(free_at, ?1) WHERE status = 'running'";
    db.run(sql, [now.micros()]).map(drop)
}
