//! Queries for jobs, their steps and events.

use ledger::{HoldId, LineageId, MemberId, Micros};
use tokio_postgres::Row;

use crate::Error;
use crate::error::Result;
use crate::postgres::Postgres;
use crate::postgres::connection::PgConnection;
use crate::postgres::rows::{HoldUuid, RowReader, Value, page};
use crate::postgres::statements::now;
use crate::research::{JobEvent, JobStatus, JobStep, Progress, ResearchJob};

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
      AND (expires_at IS NULL OR expires_at > ",
    now!(),
    ")"
);

const BY_ID: &str = concat!("SELECT ", columns!(), " FROM research_jobs WHERE id = $1");

const JOBS: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM research_jobs WHERE member = $1 AND id < $2 \
      AND (expires_at IS NULL OR expires_at > ",
    now!(),
    ") ORDER BY id DESC LIMIT $3"
);

const STATUS: &str = "SELECT status, attempt FROM research_jobs WHERE id = $1";

const STEPS: &str = "SELECT number, kind, attempt, detail, output, started_at, finished_at \
    FROM research_steps WHERE job = $1 ORDER BY number";

const EVENTS: &str = "SELECT sequence, at, kind, data FROM research_events \
    WHERE job = $1 AND sequence > $2 ORDER BY sequence LIMIT $3";

impl Postgres {
    pub(crate) async fn job(&self, member: MemberId, id: HoldId) -> Result<Option<ResearchJob>> {
        self.row(JOB, &[&HoldUuid(id), &member.0], job).await
    }

    pub(crate) async fn jobs(
        &self,
        member: MemberId,
        before: HoldId,
        limit: u32,
    ) -> Result<Vec<ResearchJob>> {
        let values: [Value<'_>; 3] = [&member.0, &HoldUuid(before), &page(limit)];
        self.rows(JOBS, &values, job).await
    }

    pub(crate) async fn job_status(&self, id: HoldId) -> Result<Option<(JobStatus, i64)>> {
        self.row(STATUS, &[&HoldUuid(id)], |row| {
            let mut columns = RowReader::new(row);
            Ok((status(&mut columns)?, columns.take()?))
        })
        .await
    }

    pub(crate) async fn job_steps(&self, id: HoldId) -> Result<Vec<JobStep>> {
        self.rows(STEPS, &[&HoldUuid(id)], |row| {
            let mut columns = RowReader::new(row);
            Ok(JobStep {
                number: columns.count()?,
                kind: columns.take()?,
                attempt: columns.take()?,
                detail: columns.take()?,
                output: columns.take()?,
                started_at: columns.time()?,
                finished_at: columns.time()?,
            })
        })
        .await
    }

    pub(crate) async fn job_events(
        &self,
        id: HoldId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<JobEvent>> {
        self.rows(EVENTS, &[&HoldUuid(id), &after, &page(limit)], |row| {
            let mut columns = RowReader::new(row);
            let (sequence, at) = (columns.take()?, columns.time()?);
            Ok(JobEvent { sequence, at, kind: columns.take()?, data: columns.take()? })
        })
        .await
    }
}

/// A job of any member.
pub(super) async fn by_id(
    connection: &mut PgConnection,
    id: HoldId,
) -> Result<Option<ResearchJob>> {
    connection.row(BY_ID, &[&HoldUuid(id)]).await?.as_ref().map(job).transpose()
}

pub(super) fn job(row: &Row) -> Result<ResearchJob> {
    let mut columns = RowReader::new(row);
    Ok(ResearchJob {
        id: columns.hold_id()?,
        member: MemberId(columns.take()?),
        lineage: LineageId(columns.take()?),
        status: status(&mut columns)?,
        query: columns.take()?,
        model: columns.take()?,
        request: columns.take()?,
        attempt: columns.take()?,
        tries: columns.count()?,
        max_tries: columns.count()?,
        progress: Progress {
            step: columns.take()?,
            done: columns.count()?,
            total: columns.count()?,
        },
        created_at: columns.time()?,
        started_at: columns.optional_time()?,
        finished_at: columns.optional_time()?,
        deadline: columns.time()?,
        result: columns.take()?,
        error: columns.take()?,
        charged: columns.take::<Option<i64>>()?.map(Micros::new),
    })
}

pub(super) fn status(columns: &mut RowReader<'_>) -> Result<JobStatus> {
    let unknown = || Error::Damaged("the status of a job is invalid".to_owned());
    JobStatus::parse(columns.take()?).ok_or_else(unknown)
}
