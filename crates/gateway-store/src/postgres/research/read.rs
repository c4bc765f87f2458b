//! Queries for jobs, their steps and events.

use ledger::{HoldId, MemberId};

use crate::error::Result;
use crate::postgres::Postgres;
use crate::postgres::connection::PgConnection;
use crate::postgres::rows::{RowReader, Value, page};
use crate::records::{HoldUuid, job, job_event, job_status, job_step};
use crate::research::{JobEvent, JobStatus, JobStep, ResearchJob};

macro_rules! columns {
    () => {
        "id, member, lineage, status, query, model, request, attempt, tries, max_tries, step, \
         done, total, created_at, started_at, finished_at, deadline, result, error, charged"
    };
}
pub(super) use columns;

const JOB: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM research_jobs WHERE id = $1 AND member = $2 \
      AND (expires_at IS NULL OR expires_at > {now})"
);

const BY_ID: &str = concat!("SELECT ", columns!(), " FROM research_jobs WHERE id = $1");

const JOBS: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM research_jobs WHERE member = $1 AND id < $2 \
      AND (expires_at IS NULL OR expires_at > {now}) ORDER BY id DESC LIMIT $3"
);

const STATUS: &str = "SELECT status, attempt FROM research_jobs WHERE id = $1";

const STEPS: &str = "SELECT number, kind, attempt, detail, output, started_at, finished_at \
    FROM research_steps WHERE job = $1 ORDER BY number";

const EVENTS: &str = "SELECT sequence, at, kind, data FROM research_events \
    WHERE job = $1 AND sequence > $2 ORDER BY sequence LIMIT $3";

impl Postgres {
    pub(crate) async fn job(&self, member: MemberId, id: HoldId) -> Result<Option<ResearchJob>> {
        self.row(JOB, &[&HoldUuid(id), &member.0], |row| job(row)).await
    }

    pub(crate) async fn jobs(
        &self,
        member: MemberId,
        before: HoldId,
        limit: u32,
    ) -> Result<Vec<ResearchJob>> {
        let values: [Value<'_>; 3] = [&member.0, &HoldUuid(before), &page(limit)];
        self.rows(JOBS, &values, |row| job(row)).await
    }

    pub(crate) async fn job_status(&self, id: HoldId) -> Result<Option<(JobStatus, i64)>> {
        let read = |columns: &mut RowReader<'_>| Ok((job_status(columns)?, columns.take()?));
        self.row(STATUS, &[&HoldUuid(id)], read).await
    }

    pub(crate) async fn job_steps(&self, id: HoldId) -> Result<Vec<JobStep>> {
        self.rows(STEPS, &[&HoldUuid(id)], |row| job_step(row)).await
    }

    pub(crate) async fn job_events(
        &self,
        id: HoldId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<JobEvent>> {
        self.rows(EVENTS, &[&HoldUuid(id), &after, &page(limit)], |row| job_event(row)).await
    }
}

/// A job of any member.
pub(super) async fn by_id(
    connection: &mut PgConnection,
    id: HoldId,
) -> Result<Option<ResearchJob>> {
    let row = connection.row(BY_ID, &[&HoldUuid(id)]).await?;
    row.map(|row| job(&mut RowReader::new(&row))).transpose()
}
