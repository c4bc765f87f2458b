//! Jobs, their steps and events, as they are read.

use ledger::{HoldId, LineageId, MemberId, Micros, Time};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::backend::Result;
use crate::research::{JobEvent, JobStatus, JobStep, MAX_PAUSE_MICROS, Progress, ResearchJob};
use crate::sqlite::rows::{MAX_PAGE, hold_id, time, unknown};

/// The columns of a job.
macro_rules! columns {
    () => {
        "id, member, lineage, status, query, model, request, attempt, tries, max_tries, step, \
         done, total, created_at, started_at, finished_at, deadline, result, error, charged"
    };
}

pub(super) fn of_row(row: &Row<'_>) -> rusqlite::Result<ResearchJob> {
    let moment = |column| -> rusqlite::Result<Option<Time>> {
        Ok(row.get::<_, Option<i64>>(column)?.map(Time::from_micros))
    };
    Ok(ResearchJob {
        id: hold_id(row, 0)?,
        member: MemberId(row.get(1)?),
        lineage: LineageId(row.get(2)?),
        status: status_of(row, 3)?,
        query: row.get(4)?,
        model: row.get(5)?,
        request: row.get(6)?,
        attempt: row.get(7)?,
        tries: row.get(8)?,
        max_tries: row.get(9)?,
        progress: Progress { step: row.get(10)?, done: row.get(11)?, total: row.get(12)? },
        created_at: time(row, 13)?,
        started_at: moment(14)?,
        finished_at: moment(15)?,
        deadline: time(row, 16)?,
        result: row.get(17)?,
        error: row.get(18)?,
        charged: row.get::<_, Option<i64>>(19)?.map(Micros::new),
    })
}

pub(super) fn status_of(row: &Row<'_>, column: usize) -> rusqlite::Result<JobStatus> {
    let word: String = row.get(column)?;
    JobStatus::parse(&word).ok_or_else(|| unknown(column, &word))
}

pub(super) fn any_job(tables: &Connection, id: HoldId) -> Result<Option<ResearchJob>> {
    let mut query = tables.prepare_cached(concat!(
        "SELECT ",
        columns!(),
        " FROM research_jobs WHERE id = ?1"
    ))?;
    Ok(query.query_row([id.to_bytes()], of_row).optional()?)
}

pub(super) fn job(
    tables: &Connection,
    member: MemberId,
    id: HoldId,
    now: Time,
) -> Result<Option<ResearchJob>> {
    let mut query = tables.prepare_cached(concat!(
        "SELECT ",
        columns!(),
        " FROM research_jobs WHERE id = ?1 AND member = ?2 \
         AND (expires_at IS NULL OR expires_at > ?3)"
    ))?;
    Ok(query.query_row(params![id.to_bytes(), member.0, now.micros()], of_row).optional()?)
}

pub(super) fn jobs(
    tables: &Connection,
    (member, before): (MemberId, HoldId),
    limit: u32,
    now: Time,
) -> Result<Vec<ResearchJob>> {
    let mut query = tables.prepare_cached(concat!(
        "SELECT ",
        columns!(),
        " FROM research_jobs WHERE member = ?1 AND id < ?2 \
         AND (expires_at IS NULL OR expires_at > ?3) ORDER BY id DESC LIMIT ?4"
    ))?;
    let values = params![member.0, before.to_bytes(), now.micros(), limit.min(MAX_PAGE)];
    let rows = query.query_map(values, of_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn status(tables: &Connection, id: HoldId) -> Result<Option<(JobStatus, i64)>> {
    let mut query =
        tables.prepare_cached("SELECT status, attempt FROM research_jobs WHERE id = ?1")?;
    let read = |row: &Row<'_>| Ok((status_of(row, 0)?, row.get(1)?));
    Ok(query.query_row([id.to_bytes()], read).optional()?)
}

pub(super) fn steps(tables: &Connection, id: HoldId) -> Result<Vec<JobStep>> {
    let mut query = tables.prepare_cached(
        "SELECT number, kind, attempt, detail, output, started_at, finished_at \
         FROM research_steps WHERE job = ?1 ORDER BY number",
    )?;
    let read = |row: &Row<'_>| {
        Ok(JobStep {
            number: row.get(0)?,
            kind: row.get(1)?,
            attempt: row.get(2)?,
            detail: row.get(3)?,
            output: row.get(4)?,
            started_at: time(row, 5)?,
            finished_at: time(row, 6)?,
        })
    };
    let rows = query.query_map([id.to_bytes()], read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn events(
    tables: &Connection,
    id: HoldId,
    after: i64,
    limit: u32,
) -> Result<Vec<JobEvent>> {
    let mut query = tables.prepare_cached(
        "SELECT sequence, at, kind, data FROM research_events WHERE job = ?1 AND sequence > ?2 \
         ORDER BY sequence LIMIT ?3",
    )?;
    let read = |row: &Row<'_>| {
        Ok(JobEvent {
            sequence: row.get(0)?,
            at: time(row, 1)?,
            kind: row.get(2)?,
            data: row.get(3)?,
        })
    };
    let rows = query.query_map(params![id.to_bytes(), after, limit.min(MAX_PAGE)], read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn is_any_free(tables: &Connection, lease: i64, now: Time) -> Result<bool> {
    Ok(next_free(tables, lease, now)?.is_some())
}

/// The job that has waited longest. A claim that ends more than two leases ahead, and a pause longer
/// than there is, were written before the clock was set back, and count as ended.
pub(super) fn next_free(tables: &Connection, lease: i64, now: Time) -> Result<Option<HoldId>> {
    let mut query = tables.prepare_cached(
        "SELECT id FROM research_jobs WHERE status IN ('queued', 'running') \
         AND (free_at <= ?1 OR free_at > ?1 + iif(status = 'running', 2 * ?2, ?3)) \
         AND tries < max_tries AND deadline > ?1 ORDER BY free_at LIMIT 1",
    )?;
    let bounds = [now.micros(), lease, MAX_PAUSE_MICROS];
    Ok(query.query_row(bounds, |row| hold_id(row, 0)).optional()?)
}

/// How many jobs of a member are queued or running. The index has only jobs that are not over: a
/// member's jobs of the past do not make this slower.
pub(super) fn open_jobs(tables: &Connection, member: MemberId) -> Result<u32> {
    let mut query = tables.prepare_cached(
        "SELECT count(*) FROM research_jobs INDEXED BY research_jobs_free \
         WHERE status IN ('queued', 'running') AND member = ?1",
    )?;
    Ok(query.query_row([member.0], |row| row.get(0))?)
}

pub(super) fn is_any_hook_due(tables: &Connection, now: Time) -> Result<bool> {
    let mut query = tables.prepare_cached(
        "SELECT 1 FROM research_hooks WHERE outcome IS NULL AND due_at <= ?1 LIMIT 1",
    )?;
    Ok(query.exists([now.micros()])?)
}
