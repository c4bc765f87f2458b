//! How jobs end, how their ends are told, and when they are forgotten.

use ledger::{Book, EndResult, HoldEnd, HoldId, MemberId, Micros, Time};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{add_events, read};
use crate::backend::Result;
use crate::research::{
    JobEnd, JobEndResult, MAX_REAPED, ResearchJob, Unattended, Webhook, WebhookOutcome,
};
use crate::sqlite::rows::hold_id;
use crate::sqlite::{changes, rows};

/// Ends a job and its hold, if the fence lets it through.
pub(super) fn end(tables: &Connection, end: &JobEnd, now: Time) -> Result<JobEndResult> {
    let mut query = tables.prepare_cached(
        "SELECT attempt, kept, webhook_url, status, done FROM research_jobs \
         WHERE id = ?1 AND member = ?2 AND status IN ('queued', 'running')",
    )?;
    let id = end.id.to_bytes();
    let read = |row: &Row<'_>| {
        let (attempt, kept, webhook) = (row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get(2)?);
        Ok((attempt, kept, webhook, end.rule(read::status_of(row, 3)?, row.get(4)?)))
    };
    let found = query.query_row(params![id, end.member.0], read).optional()?;
    let Some((attempt, kept, webhook, rule)) = found else { return Ok(JobEndResult::NotEnded) };
    if end.attempt.is_some_and(|shown| shown != attempt) {
        return Ok(JobEndResult::NotEnded);
    }
    let mut book = Book::default();
    rows::load_hold(tables, &mut book, (end.member, end.id), now)?;
    let closing = HoldEnd {
        id: end.id,
        member: end.member,
        rule,
        model: None,
        tokens: end.tokens,
        answered: true,
    };
    let EndResult::Ended(receipt) = book.end(closing, now) else {
        // Nobody but a job ends its hold; one that lost it can only fail.
        finish(tables, &lost(end), (Micros::ZERO, kept), (webhook, now))?;
        return Ok(JobEndResult::NotEnded);
    };
    changes::write_money(tables, &book.take_changes(), now)?;
    finish(tables, end, (receipt.charged, kept), (webhook, now))?;
    Ok(JobEndResult::Ended(receipt))
}

/// The end of a job whose hold is not there.
fn lost(end: &JobEnd) -> JobEnd {
    let unattended = Unattended::of(false);
    JobEnd { attempt: None, ..unattended.end(end.id, end.member) }
}

fn finish(
    tables: &Connection,
    end: &JobEnd,
    (charged, kept): (Micros, i64),
    (webhook, now): (Option<String>, Time),
) -> Result<()> {
    let id = end.id.to_bytes();
    let progress = end.progress.as_ref();
    tables
        .prepare_cached(
            "UPDATE research_jobs SET status = ?2, result = ?3, error = ?4, charged = ?5, \
             finished_at = ?6, expires_at = ?7, worker = NULL, step = coalesce(?8, ?2), \
             done = coalesce(?9, done), total = coalesce(?10, total) WHERE id = ?1",
        )?
        .execute(params![
            id,
            end.status.as_str(),
            end.result,
            end.error,
            charged.get(),
            now.micros(),
            now.plus_micros(kept).micros(),
            progress.map(|progress| &progress.step),
            progress.map(|progress| progress.done),
            progress.map(|progress| progress.total),
        ])?;
    // What pages said is of no more use.
    tables
        .prepare_cached("UPDATE research_steps SET output = NULL WHERE job = ?1")?
        .execute([id])?;
    add_events(tables, end.id, &end.events, now)?;
    if let Some(url) = webhook {
        tables
            .prepare_cached("INSERT INTO research_hooks (job, url, due_at) VALUES (?1, ?2, ?3)")?
            .execute(params![id, url, now.micros()])?;
    }
    Ok(())
}

/// Jobs that end by themselves: the moment is the first value.
const OVER: &str = "SELECT id, member, deadline <= ?1 FROM research_jobs \
    WHERE status IN ('queued', 'running') \
    AND (deadline <= ?1 OR (tries >= max_tries AND free_at <= ?1)) LIMIT ?2";

pub(super) fn is_any_over(tables: &Connection, now: Time) -> Result<bool> {
    Ok(tables.prepare_cached(OVER)?.exists(params![now.micros(), 1])?)
}

pub(super) fn reap(tables: &Connection, now: Time) -> Result<u64> {
    let mut query = tables.prepare_cached(OVER)?;
    let read = |row: &Row<'_>| Ok((hold_id(row, 0)?, MemberId(row.get(1)?), row.get(2)?));
    let over = query.query_map(params![now.micros(), MAX_REAPED], read)?;
    let over: Vec<(HoldId, MemberId, bool)> = over.collect::<rusqlite::Result<_>>()?;
    for (id, member, is_late) in &over {
        end(tables, &Unattended::of(*is_late).end(*id, *member), now)?;
    }
    Ok(over.len() as u64)
}

pub(super) fn claim_webhook(
    tables: &Connection,
    lease: i64,
    now: Time,
) -> Result<Option<(Webhook, ResearchJob)>> {
    let mut query = tables.prepare_cached(
        "UPDATE research_hooks SET tries = tries + 1, due_at = ?2 WHERE job = \
         (SELECT job FROM research_hooks WHERE outcome IS NULL AND due_at <= ?1 \
          ORDER BY due_at LIMIT 1) RETURNING job, url, tries",
    )?;
    let read =
        |row: &Row<'_>| Ok(Webhook { id: hold_id(row, 0)?, url: row.get(1)?, tries: row.get(2)? });
    let until = now.plus_micros(lease).micros();
    let hook = query.query_row(params![now.micros(), until], read).optional()?;
    let Some(hook) = hook else { return Ok(None) };
    Ok(read::any_job(tables, hook.id)?.map(|job| (hook, job)))
}

pub(super) fn finish_webhook(
    tables: &Connection,
    hook: &Webhook,
    outcome: WebhookOutcome,
    now: Time,
) -> Result<bool> {
    let (word, due_at) = match outcome {
        WebhookOutcome::Delivered => (Some("delivered"), now),
        WebhookOutcome::GivenUp => (Some("given_up"), now),
        WebhookOutcome::Again { after_micros } => (None, now.plus_micros(after_micros)),
    };
    let mut update = tables.prepare_cached(
        "UPDATE research_hooks SET outcome = ?3, due_at = ?4 \
         WHERE job = ?1 AND tries = ?2 AND outcome IS NULL",
    )?;
    Ok(update.execute(params![hook.id.to_bytes(), hook.tries, word, due_at.micros()])? > 0)
}

/// Removes jobs that are over; gives how many.
pub(in crate::sqlite) fn sweep(tables: &Connection, now: Time) -> Result<usize> {
    let mut query = tables.prepare_cached(
        "SELECT id FROM research_jobs WHERE expires_at <= ?1 \
         AND status NOT IN ('queued', 'running') LIMIT ?2",
    )?;
    let over = query.query_map(params![now.micros(), MAX_REAPED], |row| row.get(0))?;
    let over: Vec<[u8; 16]> = over.collect::<rusqlite::Result<_>>()?;
    for id in &over {
        for sql in [
            "DELETE FROM research_events WHERE job = ?1",
            "DELETE FROM research_steps WHERE job = ?1",
            "DELETE FROM research_hooks WHERE job = ?1",
            "DELETE FROM research_jobs WHERE id = ?1",
        ] {
            tables.prepare_cached(sql)?.execute([id])?;
        }
    }
    Ok(over.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::research::JobStatus;

    #[test]
    fn a_job_that_lost_its_hold_fails() {
        let end = Unattended::of(true).end(HoldId::new(1, 1), MemberId(1));
        assert_eq!((end.status, lost(&end).status), (JobStatus::Expired, JobStatus::Failed));
    }
}
