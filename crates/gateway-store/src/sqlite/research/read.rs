//! Queries for jobs, their steps and events.

use ledger::{HoldId, MemberId, Time};
use rusqlite::{Connection, params};

use crate::error::Result;
use crate::limits::MAX_PAGE;
use crate::records::{hold_id, job, job_event, job_status, job_step};
use crate::research::{JobEvent, JobStatus, JobStep, MAX_PAUSE_MICROS, ResearchJob};
use crate::sqlite::Sqlite;
use crate::sqlite::connection::ConnectionExt;

const COLUMNS: &str = "SELECT id, member, lineage, status, query, model, request, attempt, tries, \
    max_tries, step, done, total, created_at, started_at, finished_at, deadline, result, error, \
    charged FROM research_jobs";

impl Sqlite {
    pub(crate) async fn job(&self, member: MemberId, id: HoldId) -> Result<Option<ResearchJob>> {
        self.read(move |db, now| {
            let sql = format!(
                "{COLUMNS} WHERE id = ?1 AND member = ?2 \
                 AND (expires_at IS NULL OR expires_at > ?3)"
            );
            db.row(&sql, params![id.to_bytes(), member.0, now.micros()], |row| job(row))
        })
        .await
    }

    pub(crate) async fn jobs(
        &self,
        member: MemberId,
        before: HoldId,
        limit: u32,
    ) -> Result<Vec<ResearchJob>> {
        self.read(move |db, now| {
            let sql = format!(
                "{COLUMNS} WHERE member = ?1 AND id < ?2 \
                 AND (expires_at IS NULL OR expires_at > ?3) ORDER BY id DESC LIMIT ?4"
            );
            let limit = limit.min(MAX_PAGE);
            db.rows(&sql, params![member.0, before.to_bytes(), now.micros(), limit], |row| job(row))
        })
        .await
    }

    pub(crate) async fn job_status(&self, id: HoldId) -> Result<Option<(JobStatus, i64)>> {
        self.read(move |db, _| {
            let sql = "SELECT status, attempt FROM research_jobs WHERE id = ?1";
            db.row(sql, [id.to_bytes()], |row| Ok((job_status(row)?, row.take()?)))
        })
        .await
    }

    pub(crate) async fn job_steps(&self, id: HoldId) -> Result<Vec<JobStep>> {
        self.read(move |db, _| {
            let sql = "SELECT number, kind, attempt, detail, output, started_at, finished_at \
                       FROM research_steps WHERE job = ?1 ORDER BY number";
            db.rows(sql, [id.to_bytes()], |row| job_step(row))
        })
        .await
    }

    pub(crate) async fn job_events(
        &self,
        id: HoldId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<JobEvent>> {
        self.read(move |db, _| {
            let sql = "SELECT sequence, at, kind, data FROM research_events \
                       WHERE job = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3";
            db.rows(sql, params![id.to_bytes(), after, limit.min(MAX_PAGE)], |row| job_event(row))
        })
        .await
    }
}

/// A job of any member.
pub(super) fn by_id(db: &Connection, id: HoldId) -> Result<Option<ResearchJob>> {
    db.row(&format!("{COLUMNS} WHERE id = ?1"), [id.to_bytes()], |row| job(row))
}

/// The job that has waited longest. A lease that ends more than two leases ahead, or a pause longer than
/// the maximum, was written before the clock was set back and is over.
pub(super) fn next_free(db: &Connection, lease: i64, now: Time) -> Result<Option<HoldId>> {
    let sql = "SELECT id FROM research_jobs WHERE status IN ('queued', 'running') \
               AND (free_at <= ?1 OR free_at > ?1 + iif(status = 'running', 2 * ?2, ?3)) \
               AND tries < max_tries AND deadline > ?1 ORDER BY free_at LIMIT 1";
    db.row(sql, [now.micros(), lease, MAX_PAUSE_MICROS], |row| hold_id(row))
}
