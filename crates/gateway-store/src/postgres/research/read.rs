//! Jobs, their steps and events, as they are read.

use ledger::{HoldId, LineageId, MemberId, Micros, Time};
use tokio_postgres::Row;

use crate::Error;
use crate::backend::Result;
use crate::postgres::link::Link;
use crate::postgres::rows::{Columns, Uid, damaged, page};
use crate::postgres::statements::now;
use crate::research::{JobEvent, JobStatus, JobStep, Progress, ResearchJob};

/// The columns of a job.
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

const ANY_JOB: &str = concat!("SELECT ", columns!(), " FROM research_jobs WHERE id = $1");

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

pub(super) fn of_row(row: &Row) -> Result<ResearchJob> {
    let mut columns = Columns::of(row);
    Ok(ResearchJob {
        id: columns.take::<Uid>()?.0,
        member: MemberId(columns.take()?),
        lineage: LineageId(columns.take()?),
        status: status_of(&mut columns)?,
        query: columns.take()?,
        model: columns.take()?,
        request: columns.take()?,
        attempt: columns.take()?,
        tries: small(&mut columns)?,
        max_tries: small(&mut columns)?,
        progress: Progress {
            step: columns.take()?,
            done: small(&mut columns)?,
            total: small(&mut columns)?,
        },
        created_at: columns.take().map(Time::from_micros)?,
        started_at: moment(&mut columns)?,
        finished_at: moment(&mut columns)?,
        deadline: columns.take().map(Time::from_micros)?,
        result: columns.take()?,
        error: columns.take()?,
        charged: columns.take::<Option<i64>>()?.map(Micros::new),
    })
}

fn small(columns: &mut Columns<'_>) -> Result<u32> {
    u32::try_from(columns.take::<i64>()?).map_err(|_| damaged("a count"))
}

fn moment(columns: &mut Columns<'_>) -> Result<Option<Time>> {
    Ok(columns.take::<Option<i64>>()?.map(Time::from_micros))
}

pub(super) fn status_of(columns: &mut Columns<'_>) -> Result<JobStatus> {
    let missing = || Error::Damaged("the status of a job cannot be read".to_owned());
    JobStatus::parse(columns.take()?).ok_or_else(missing)
}

pub(super) async fn job(
    link: &mut Link,
    member: MemberId,
    id: HoldId,
) -> Result<Option<ResearchJob>> {
    link.row(JOB, &[&Uid(id), &member.0]).await?.as_ref().map(of_row).transpose()
}

pub(super) async fn any_job(link: &mut Link, id: HoldId) -> Result<Option<ResearchJob>> {
    link.row(ANY_JOB, &[&Uid(id)]).await?.as_ref().map(of_row).transpose()
}

pub(super) async fn jobs(
    link: &mut Link,
    member: MemberId,
    before: HoldId,
    limit: u32,
) -> Result<Vec<ResearchJob>> {
    let found = link.rows(JOBS, &[&member.0, &Uid(before), &page(limit)]).await?;
    found.iter().map(of_row).collect()
}

pub(super) async fn status(link: &mut Link, id: HoldId) -> Result<Option<(JobStatus, i64)>> {
    let row = link.row(STATUS, &[&Uid(id)]).await?;
    let read = |row| {
        let mut columns = Columns::of(row);
        Ok((status_of(&mut columns)?, columns.take()?))
    };
    row.as_ref().map(read).transpose()
}

pub(super) async fn steps(link: &mut Link, id: HoldId) -> Result<Vec<JobStep>> {
    let found = link.rows(STEPS, &[&Uid(id)]).await?;
    let step = |row| {
        let mut columns = Columns::of(row);
        Ok(JobStep {
            number: small(&mut columns)?,
            kind: columns.take()?,
            attempt: columns.take()?,
            detail: columns.take()?,
            output: columns.take()?,
            started_at: columns.take().map(Time::from_micros)?,
            finished_at: columns.take().map(Time::from_micros)?,
        })
    };
    found.iter().map(step).collect()
}

pub(super) async fn events(
    link: &mut Link,
    id: HoldId,
    after: i64,
    limit: u32,
) -> Result<Vec<JobEvent>> {
    let found = link.rows(EVENTS, &[&Uid(id), &after, &page(limit)]).await?;
    let event = |row| {
        let mut columns = Columns::of(row);
        Ok(JobEvent {
            sequence: columns.take()?,
            at: columns.take().map(Time::from_micros)?,
            kind: columns.take()?,
            data: columns.take()?,
        })
    };
    found.iter().map(event).collect()
}
