//! What ends by itself: leases, idempotency keys, stored responses.

use ledger::{EndResult, HoldId, MemberId};
use tokio_postgres::Client;

use super::fault::fault;
use super::link::Link;
use super::load::{Loaded, Wants, load};
use super::media;
use super::needs::Needs;
use super::rows::{self, Columns, Uid};
use super::save::{Writes, save};
use super::statements::now;
use crate::StoredResponse;
use crate::backend::Result;
use crate::research::JOB_OWNER;
use crate::response::failed_body;

/// How many holds or rows end in one transaction.
const MAX_AT_ONCE: i64 = 1000;

/// A hold that a batch has locked is ending: to wait for it would be no use, and would make the
/// batch and this statement wait for each other.
const RENEW: &str = concat!(
    "UPDATE holds SET lease_until = ",
    now!(),
    " + $2::bigint WHERE id IN (SELECT id FROM holds WHERE owner = $1 FOR UPDATE SKIP LOCKED)"
);

/// A lease that ends this far ahead was written before the clock was set back. Without a new end it would
/// outlive a process that died by as much as the clock moved. A process that lives renews it anyway.
const SHORTEN: &str = concat!(
    "UPDATE holds SET lease_until = ",
    now!(),
    " + $1::bigint WHERE id IN (SELECT id FROM holds WHERE owner <> $2 AND lease_until > ",
    now!(),
    " + 2 * $1::bigint FOR UPDATE SKIP LOCKED)"
);

/// Not locked: the lock that counts is the member's, and it comes first. A hold that was renewed
/// or ended by then is left alone, so that any number of processes can look at the same time.
const OVER: &str = concat!(
    "SELECT id, member FROM holds WHERE lease_until < ",
    now!(),
    " ORDER BY lease_until LIMIT $1"
);

const STOPPED: &str = "SELECT id, member, lineage, hold, status, body, input, previous, \
        background, created_at, expires_at \
    FROM responses \
    WHERE hold = ANY($1) AND background AND status IN ('queued', 'in_progress') \
    ORDER BY id FOR NO KEY UPDATE";

const SWEEP_REPEATS: &str = concat!(
    "DELETE FROM repeats WHERE (lineage, word) IN (SELECT lineage, word FROM repeats \
    WHERE answered AND expires_at <= ",
    now!(),
    " LIMIT $1 FOR UPDATE SKIP LOCKED)"
);

const SWEEP_ANSWERS: &str = concat!(
    "DELETE FROM answers WHERE hold IN (SELECT hold FROM answers WHERE expires_at <= ",
    now!(),
    " LIMIT $1 FOR UPDATE SKIP LOCKED)"
);

/// One whose hold is live is still being written.
const SWEEP_RESPONSES: &str = concat!(
    "DELETE FROM responses WHERE id IN (SELECT id FROM responses r WHERE expires_at <= ",
    now!(),
    " AND NOT EXISTS (SELECT FROM holds h WHERE h.id = r.hold) \
    LIMIT $1 FOR UPDATE SKIP LOCKED)"
);

/// Responses that say that they run, and whose hold has ended without them. A hold never comes
/// back, so that nobody else writes them any more.
const STRAY: &str = "SELECT id, body FROM responses r \
    WHERE status IN ('queued', 'in_progress') AND background \
        AND NOT EXISTS (SELECT FROM holds h WHERE h.id = r.hold) \
    ORDER BY hold LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED";

const FAIL: &str = "UPDATE responses r SET status = 'failed', body = n.body \
    FROM unnest($1::text[], $2::bytea[]) AS n (id, body) WHERE r.id = n.id";

pub(super) async fn renew(link: &mut Link, owner: i64, lease_micros: i64) -> Result<u64> {
    link.run(SHORTEN, &[&lease_micros, &JOB_OWNER]).await?;
    link.run(RENEW, &[&owner, &lease_micros]).await
}

pub(super) async fn expire(link: &mut Link) -> Result<u64> {
    let over = link.rows(OVER, &[&MAX_AT_ONCE]).await?;
    let mut needs = Needs::default();
    for row in &over {
        let mut columns = Columns::of(row);
        needs.holds.insert(columns.take::<Uid>()?.0);
        needs.members.insert(MemberId(columns.take()?));
    }
    if needs.holds.is_empty() {
        return Ok(0);
    }
    let candidates: Vec<HoldId> = needs.holds.iter().copied().collect();
    let statements = link.statements().await?;
    let loaded = load(link.client(), statements, &Wants::from(needs)).await.map_err(fault)??;
    let Loaded { mut book, now, .. } = loaded;
    let is_over = |id: &HoldId| matches!(book.expire(*id, now), EndResult::Ended(_));
    let ended: Vec<HoldId> = candidates.into_iter().filter(is_over).collect();
    if ended.is_empty() {
        link.client().batch_execute("ROLLBACK").await.map_err(fault)?;
        return Ok(0);
    }
    let stopped = stopped(link.client(), &ended).await?;
    let responses = stopped.iter().collect();
    let writes =
        Writes { changes: book.take_changes(), responses, until: now, ..Writes::default() };
    Box::pin(save(link.client(), statements, writes)).await.map_err(fault)?;
    Ok(ended.len() as u64)
}

/// The background responses of these holds, as they are now that nobody works on them.
async fn stopped(client: &Client, holds: &[HoldId]) -> Result<Vec<StoredResponse>> {
    let holds: Vec<Uid> = holds.iter().copied().map(Uid).collect();
    let found = client.query(STOPPED, &[&holds]).await.map_err(fault)?;
    let fail = |row| {
        let mut response = rows::response(row)?;
        response.body = failed_body(&response.id, &response.body);
        "failed".clone_into(&mut response.status);
        Ok(response)
    };
    found.iter().map(fail).collect()
}

pub(super) async fn sweep(link: &mut Link) -> Result<u64> {
    // Answers belong to idempotency keys, and are not counted beside them.
    link.run(SWEEP_ANSWERS, &[&MAX_AT_ONCE]).await?;
    let repeats = link.run(SWEEP_REPEATS, &[&MAX_AT_ONCE]).await?;
    let responses = link.run(SWEEP_RESPONSES, &[&MAX_AT_ONCE]).await?;
    let jobs = super::research::sweep(link).await?;
    fail_stray(link).await?;
    let runs = media::sweep(link, MAX_AT_ONCE).await?;
    Ok(repeats + responses + jobs + runs)
}

async fn fail_stray(link: &mut Link) -> Result<()> {
    let transaction = link.client_mut().transaction().await.map_err(fault)?;
    let (mut ids, mut bodies) = (Vec::new(), Vec::new());
    for row in transaction.query(STRAY, &[&MAX_AT_ONCE]).await.map_err(fault)? {
        let mut columns = Columns::of(&row);
        let id: String = columns.take()?;
        bodies.push(failed_body(&id, columns.take()?));
        ids.push(id);
    }
    if !ids.is_empty() {
        transaction.execute(FAIL, &[&ids, &bodies]).await.map_err(fault)?;
    }
    transaction.commit().await.map_err(fault)
}
