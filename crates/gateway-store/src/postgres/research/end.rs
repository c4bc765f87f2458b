//! How jobs end, how their ends are told, and when they are forgotten.

use ledger::{EndResult, HoldEnd, HoldId, MemberId, Micros, Time};
use tokio_postgres::Client;

use super::{Value, read, split};
use crate::backend::Result;
use crate::postgres::fault::fault;
use crate::postgres::link::Link;
use crate::postgres::load::{Loaded, Wants, load};
use crate::postgres::needs::Needs;
use crate::postgres::rows::{Columns, Uid};
use crate::postgres::save::{Writes, save};
use crate::postgres::statements::now;
use crate::research::{
    JobEnd, JobEndResult, JobStatus, MAX_REAPED, ResearchJob, Unattended, Webhook, WebhookOutcome,
};

/// A job that lives, locked after its member.
const LIVE: &str = concat!(
    "SELECT attempt, kept, status, done, deadline <= ",
    now!(),
    ", tries >= max_tries AND free_at <= ",
    now!(),
    " FROM research_jobs \
     WHERE id = $1 AND member = $2 AND status IN ('queued', 'running') FOR NO KEY UPDATE"
);

const FINISH: &str = "WITH job AS ( \
        UPDATE research_jobs SET status = $2, result = $3, error = $4, charged = $5, \
            finished_at = $6, expires_at = $7, worker = NULL, step = coalesce($8::text, $2), \
            done = coalesce($9::bigint, done), total = coalesce($10::bigint, total), \
            events = events + cardinality($11::text[]) \
        WHERE id = $1 RETURNING id, events, webhook_url), \
    steps AS (UPDATE research_steps SET output = NULL WHERE job = $1), \
    hook AS ( \
        INSERT INTO research_hooks (job, url, due_at) \
        SELECT id, webhook_url, $6 FROM job WHERE webhook_url IS NOT NULL) \
    INSERT INTO research_events (job, sequence, at, kind, data) \
    SELECT id, events - cardinality($11::text[]) + n.place, $6, n.kind, n.data \
    FROM job, unnest($11::text[], $12::bytea[]) WITH ORDINALITY AS n (kind, data, place)";

/// Not locked: whether it is so is looked at again under the lock.
const OVER: &str = concat!(
    "SELECT id, member FROM research_jobs WHERE status IN ('queued', 'running') AND (deadline <= ",
    now!(),
    " OR (tries >= max_tries AND free_at <= ",
    now!(),
    ")) LIMIT $1"
);

const CLAIM_HOOK: &str = concat!(
    "UPDATE research_hooks SET tries = tries + 1, due_at = ",
    now!(),
    " + $1::bigint WHERE job = (SELECT job FROM research_hooks \
        WHERE outcome IS NULL AND due_at <= ",
    now!(),
    " ORDER BY due_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) RETURNING job, url, tries"
);

const END_HOOK: &str = concat!(
    "UPDATE research_hooks SET outcome = $3, due_at = ",
    now!(),
    " + $4::bigint WHERE job = $1 AND tries = $2 AND outcome IS NULL"
);

/// Steps, events and hooks go with their job.
const SWEEP: &str = concat!(
    "DELETE FROM research_jobs WHERE id IN (SELECT id FROM research_jobs \
        WHERE expires_at <= ",
    now!(),
    " AND status NOT IN ('queued', 'running') LIMIT $1 FOR UPDATE SKIP LOCKED)"
);

/// Who ends a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Worker(i64),
    Member,
    /// Nobody: it is over by itself, if it still is.
    Itself,
}

/// A job that lives.
struct Live {
    attempt: i64,
    kept: i64,
    status: JobStatus,
    done: u32,
    is_late: bool,
    is_used_up: bool,
}

pub(super) async fn end(link: &mut Link, end: &JobEnd, repeats_kept: i64) -> Result<JobEndResult> {
    let by = end.attempt.map_or(By::Member, By::Worker);
    end_by(link, |_| end.clone(), (end.id, end.member, by), repeats_kept).await
}

pub(super) async fn reap(link: &mut Link) -> Result<u64> {
    let over = link.rows(OVER, &[&i64::from(MAX_REAPED)]).await?;
    let mut count = 0;
    for row in &over {
        let mut columns = Columns::of(row);
        let (id, member) = (columns.take::<Uid>()?.0, MemberId(columns.take()?));
        let how = |live: &Live| Unattended::of(live.is_late).end(id, member);
        let ended = end_by(link, how, (id, member, By::Itself), 0).await?;
        count += u64::from(ended != JobEndResult::NotEnded);
    }
    Ok(count)
}

/// Ends a job and its hold: the member is locked first, as everywhere, and then the job.
async fn end_by(
    link: &mut Link,
    how: impl Fn(&Live) -> JobEnd,
    (id, member, by): (HoldId, MemberId, By),
    repeats_kept: i64,
) -> Result<JobEndResult> {
    let mut needs = Needs::default();
    needs.members.insert(member);
    needs.holds.insert(id);
    let statements = link.statements().await?;
    let loaded = load(link.client(), statements, &Wants::from(needs)).await.map_err(fault)??;
    let Loaded { mut book, now, .. } = loaded;
    let live = live(link.client(), id, member).await?.filter(|live| match by {
        By::Worker(attempt) => attempt == live.attempt,
        By::Member => true,
        By::Itself => live.is_late || live.is_used_up,
    });
    let Some(live) = live else {
        link.client().batch_execute("ROLLBACK").await.map_err(fault)?;
        return Ok(JobEndResult::NotEnded);
    };
    let mut end = how(&live);
    let (rule, tokens) = (end.rule(live.status, live.done), end.tokens);
    let closing = HoldEnd { id, member, rule, model: None, tokens, answered: true };
    let ended = match book.end(closing, now) {
        EndResult::Ended(receipt) => JobEndResult::Ended(receipt),
        EndResult::AlreadyEnded => {
            // Nobody but a job ends its hold; one that lost it can only fail.
            end = Unattended::of(false).end(id, member);
            JobEndResult::NotEnded
        }
    };
    let charged = match &ended {
        JobEndResult::Ended(receipt) => receipt.charged,
        JobEndResult::NotEnded => Micros::ZERO,
    };
    finish(link.client(), &end, (charged, live.kept), now).await?;
    let until = now.plus_micros(repeats_kept);
    let writes = Writes { changes: book.take_changes(), until, ..Writes::default() };
    Box::pin(save(link.client(), statements, writes)).await.map_err(fault)?;
    Ok(ended)
}

async fn live(client: &Client, id: HoldId, member: MemberId) -> Result<Option<Live>> {
    let row = client.query_opt(LIVE, &[&Uid(id), &member.0]).await.map_err(fault)?;
    let Some(row) = row else { return Ok(None) };
    let mut columns = Columns::of(&row);
    let (attempt, kept) = (columns.take()?, columns.take()?);
    let status = read::status_of(&mut columns)?;
    let done = u32::try_from(columns.take::<i64>()?).unwrap_or(u32::MAX);
    let (is_late, is_used_up) = (columns.take()?, columns.take()?);
    Ok(Some(Live { attempt, kept, status, done, is_late, is_used_up }))
}

async fn finish(
    client: &Client,
    end: &JobEnd,
    (charged, kept): (Micros, i64),
    now: Time,
) -> Result<()> {
    let (kinds, data) = split(&end.events);
    let (at, expires_at) = (now.micros(), now.plus_micros(kept).micros());
    let progress = end.progress.as_ref();
    let step = progress.map(|progress| progress.step.as_str());
    let done = progress.map(|progress| i64::from(progress.done));
    let total = progress.map(|progress| i64::from(progress.total));
    let (status, charged) = (end.status.as_str(), charged.get());
    let values: [Value<'_>; 12] = [
        &Uid(end.id),
        &status,
        &end.result,
        &end.error,
        &charged,
        &at,
        &expires_at,
        &step,
        &done,
        &total,
        &kinds,
        &data,
    ];
    client.execute(FINISH, &values).await.map_err(fault)?;
    Ok(())
}

pub(super) async fn claim_webhook(
    link: &mut Link,
    lease: i64,
) -> Result<Option<(Webhook, ResearchJob)>> {
    let Some(row) = link.row(CLAIM_HOOK, &[&lease]).await? else { return Ok(None) };
    let mut columns = Columns::of(&row);
    let id = columns.take::<Uid>()?.0;
    let url = columns.take()?;
    let tries = u32::try_from(columns.take::<i64>()?).unwrap_or(u32::MAX);
    let job = read::any_job(link, id).await?;
    Ok(job.map(|job| (Webhook { id, url, tries }, job)))
}

pub(super) async fn finish_webhook(
    link: &mut Link,
    hook: &Webhook,
    outcome: WebhookOutcome,
) -> Result<bool> {
    let (word, after) = match outcome {
        WebhookOutcome::Delivered => (Some("delivered"), 0_i64),
        WebhookOutcome::GivenUp => (Some("given_up"), 0),
        WebhookOutcome::Again { after_micros } => (None, after_micros),
    };
    let tries = i64::from(hook.tries);
    Ok(link.run(END_HOOK, &[&Uid(hook.id), &tries, &word, &after]).await? > 0)
}

/// Removes jobs that are over; gives how many.
pub(in crate::postgres) async fn sweep(link: &mut Link) -> Result<u64> {
    link.run(SWEEP, &[&i64::from(MAX_REAPED)]).await
}
