//! Ends of research jobs, their webhooks, and deletion.

use ledger::{Book, EndResult, HoldEnd, HoldId, MemberId, Micros, Time};
use rusqlite::{Connection, params};

use super::add_events;
use super::read;
use crate::error::Result;
use crate::limits::MAX_ENDED_JOBS;
use crate::records::{Columns, job_status};
use crate::research::{AutomaticEnd, JobEnd, JobEndResult, ResearchJob, Webhook, WebhookOutcome};
use crate::sqlite::connection::{ConnectionExt, RowReader};
use crate::sqlite::{Sqlite, rows, save};

/// Jobs that missed their deadline or used up their tries.
const OVERDUE: &str = "SELECT id, member, deadline <= ?1 FROM research_jobs \
    WHERE status IN ('queued', 'running') \
    AND (deadline <= ?1 OR (tries >= max_tries AND free_at <= ?1)) LIMIT ?2";

impl Sqlite {
    pub(crate) async fn end_job(&self, job_end: JobEnd) -> Result<JobEndResult> {
        self.write_ledger(move |db, now| end(db, &job_end, now)).await
    }

    pub(crate) async fn end_overdue_jobs(&self) -> Result<u64> {
        let overdue = |db: &Connection, now: Time| {
            Ok(db.prepare_cached(OVERDUE)?.exists(params![now.micros(), 1])?)
        };
        if !self.read(overdue).await? {
            return Ok(0);
        }
        self.write_ledger(|db, now| {
            let read =
                |row: &mut RowReader<'_>| Ok((row.hold_id()?, MemberId(row.take()?), row.take()?));
            let overdue: Vec<(HoldId, MemberId, bool)> =
                db.rows(OVERDUE, params![now.micros(), MAX_ENDED_JOBS], read)?;
            for (id, member, is_late) in &overdue {
                end(db, &AutomaticEnd::new(*is_late).end(*id, *member), now)?;
            }
            Ok(overdue.len() as u64)
        })
        .await
    }

    pub(crate) async fn claim_webhook(
        &self,
        lease_micros: i64,
    ) -> Result<Option<(Webhook, ResearchJob)>> {
        let is_due = |db: &Connection, now: Time| {
            let sql = "SELECT 1 FROM research_hooks WHERE outcome IS NULL AND due_at <= ?1 LIMIT 1";
            Ok(db.prepare_cached(sql)?.exists([now.micros()])?)
        };
        if !self.read(is_due).await? {
            return Ok(None);
        }
        self.write(move |db, now| {
            let sql = "UPDATE research_hooks SET tries = tries + 1, due_at = ?2 WHERE job = \
                       (SELECT job FROM research_hooks WHERE outcome IS NULL AND due_at <= ?1 \
                       ORDER BY due_at LIMIT 1) RETURNING job, url, tries";
            let until = now.plus_micros(lease_micros).micros();
            let webhook = db.row(sql, params![now.micros(), until], |row| {
                Ok(Webhook { id: row.hold_id()?, url: row.take()?, tries: row.take()? })
            })?;
            let Some(webhook) = webhook else { return Ok(None) };
            Ok(read::by_id(db, webhook.id)?.map(|job| (webhook, job)))
        })
        .await
    }

    pub(crate) async fn finish_webhook(
        &self,
        webhook: &Webhook,
        outcome: WebhookOutcome,
    ) -> Result<bool> {
        let (id, tries) = (webhook.id.to_bytes(), webhook.tries);
        self.write(move |db, now| {
            let (outcome, after_micros) = outcome.stored();
            let sql = "UPDATE research_hooks SET outcome = ?3, due_at = ?4 \
                       WHERE job = ?1 AND tries = ?2 AND outcome IS NULL";
            let due_at = now.plus_micros(after_micros).micros();
            Ok(db.run(sql, params![id, tries, outcome, due_at])? > 0)
        })
        .await
    }
}

struct OpenJob {
    attempt: i64,
    retention_micros: i64,
    webhook_url: Option<String>,
    end: HoldEnd,
}

/// Ends a job and its hold, if the claim is valid.
fn end(db: &Connection, job_end: &JobEnd, now: Time) -> Result<JobEndResult> {
    let sql = "SELECT attempt, kept, webhook_url, status, done FROM research_jobs \
               WHERE id = ?1 AND member = ?2 AND status IN ('queued', 'running')";
    let (id, member, tokens) = (job_end.id, job_end.member, job_end.tokens);
    let job = db.row(sql, params![id.to_bytes(), member.0], |row| {
        let (attempt, retention_micros, webhook_url) = (row.take()?, row.take()?, row.take()?);
        let rule = job_end.rule(job_status(row)?, row.take()?);
        Ok(OpenJob {
            attempt,
            retention_micros,
            webhook_url,
            end: HoldEnd { id, member, rule, model: None, tokens, attempts: None, answered: true },
        })
    })?;
    let is_claimed = |job: &OpenJob| job_end.attempt.is_none_or(|attempt| attempt == job.attempt);
    let Some(job) = job.filter(is_claimed) else { return Ok(JobEndResult::NotEnded) };
    let mut book = Book::default();
    rows::load_hold(db, &mut book, member, id, now)?;
    let EndResult::Ended(receipt) = book.end(job.end.clone(), now) else {
        finish(db, &job_end.without_hold(), &job, Micros::ZERO, now)?;
        return Ok(JobEndResult::NotEnded);
    };
    save::write_changes(db, &book.take_changes(), now)?;
    finish(db, job_end, &job, receipt.charged, now)?;
    Ok(JobEndResult::Ended(receipt))
}

fn finish(
    db: &Connection,
    job_end: &JobEnd,
    job: &OpenJob,
    charged: Micros,
    now: Time,
) -> Result<()> {
    let id = job_end.id.to_bytes();
    let progress = job_end.progress.as_ref();
    db.run(
        "UPDATE research_jobs SET status = ?2, result = ?3, error = ?4, charged = ?5, \
         finished_at = ?6, expires_at = ?7, worker = NULL, step = coalesce(?8, ?2), \
         done = coalesce(?9, done), total = coalesce(?10, total) WHERE id = ?1",
        params![
            id,
            job_end.status.as_str(),
            job_end.result,
            job_end.error,
            charged.get(),
            now.micros(),
            now.plus_micros(job.retention_micros).micros(),
            progress.map(|progress| &progress.step),
            progress.map(|progress| progress.done),
            progress.map(|progress| progress.total),
        ],
    )?;
    db.run("UPDATE research_steps SET output = NULL WHERE job = ?1", [id])?;
    add_events(db, job_end.id, &job_end.events, now)?;
    if let Some(url) = &job.webhook_url {
        let sql = "INSERT INTO research_hooks (job, url, due_at) VALUES (?1, ?2, ?3)";
        db.run(sql, params![id, url, now.micros()])?;
    }
    Ok(())
}

pub(in crate::sqlite) fn delete_expired(db: &Connection, now: Time) -> Result<usize> {
    let sql = "SELECT id FROM research_jobs WHERE expires_at <= ?1 \
               AND status NOT IN ('queued', 'running') LIMIT ?2";
    let expired: Vec<[u8; 16]> =
        db.rows(sql, params![now.micros(), MAX_ENDED_JOBS], |row| Ok(row.hold_id()?.to_bytes()))?;
    for id in &expired {
        for sql in [
            "DELETE FROM research_events WHERE job = ?1",
            "DELETE FROM research_steps WHERE job = ?1",
            "DELETE FROM research_hooks WHERE job = ?1",
            "DELETE FROM research_jobs WHERE id = ?1",
        ] {
            db.run(sql, [id])?;
        }
    }
    Ok(expired.len())
}
