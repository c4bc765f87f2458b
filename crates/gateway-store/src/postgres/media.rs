//! Runs, artifacts and objects.

use ledger::MemberId;

use super::fault::{fault, too_late};
use super::link::Link;
use super::rows::{self, Columns, page};
use super::statements::now;
use crate::backend::Result;
use crate::media::UNUSED_KEPT_MICROS;
use crate::{Artifact, MediaRun};

/// Runs of a batch.
pub(super) const INSERT_RUNS: &str = "INSERT INTO media_runs \
        (id, member, hold, model, capability, charge, created_at, expires_at) \
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::uuid[], $4::text[], $5::text[], \
        $6::bigint[], $7::bigint[], $8::bigint[])";

/// Their artifacts, and the objects that are referred to from now on. These are locked in the order
/// of their names, so that two batches do not wait for each other.
pub(super) const INSERT_ARTIFACTS: &str = "WITH \
    locked AS ( \
        SELECT name FROM media_objects WHERE name = ANY($5) AND state < 2 \
        ORDER BY name FOR NO KEY UPDATE), \
    referred AS ( \
        UPDATE media_objects o SET state = 1 FROM locked WHERE o.name = locked.name) \
    INSERT INTO artifacts (id, run, position, member, object, media_type, bytes, sha256, expires_at) \
    SELECT * FROM unnest($1::text[], $2::text[], $3::integer[], $4::bigint[], $5::text[], \
        $6::text[], $7::bigint[], $8::bytea[], $9::bigint[])";

const TOUCH: &str = concat!(
    "UPDATE media_objects SET touched_at = ",
    now!(),
    " WHERE sha256 = $1 AND state < 2 RETURNING name"
);

/// Another process may have been faster: then there is one to touch.
const CLAIM: &str = concat!(
    "INSERT INTO media_objects (name, sha256, state, touched_at) VALUES ($1, $2, 0, ",
    now!(),
    ") ON CONFLICT DO NOTHING"
);

const RUN: &str = concat!(
    "SELECT id, member, hold, model, capability, charge, created_at, expires_at FROM media_runs \
    WHERE id = $1 AND member = $2 AND expires_at > ",
    now!()
);

const ARTIFACTS: &str = "SELECT id, object, media_type, bytes, sha256 FROM artifacts \
    WHERE run = $1 ORDER BY position";

const ARTIFACT: &str = concat!(
    "SELECT id, object, media_type, bytes, sha256 FROM artifacts \
    WHERE id = $1 AND member = $2 AND expires_at > ",
    now!()
);

const OVER: &str = concat!(
    "SELECT id FROM media_runs WHERE expires_at <= ",
    now!(),
    " LIMIT $1 FOR UPDATE SKIP LOCKED"
);

const FREED: &str = "UPDATE media_objects SET state = 0 WHERE state = 1 \
    AND name IN (SELECT object FROM artifacts WHERE run = ANY($1)) \
    AND NOT EXISTS (SELECT FROM artifacts WHERE object = name AND run <> ALL($1))";

const REMOVE: &str = "DELETE FROM media_runs WHERE id = ANY($1)";

/// One that was claimed meanwhile is looked at again when its lock is had, and left alone. That no
/// artifact refers to it is asked again: one that was written while the last of another run went is
/// seen by now.
const DOOM: &str = concat!(
    "UPDATE media_objects SET state = 2 WHERE name IN (SELECT name FROM media_objects \
    WHERE state = 0 AND touched_at <= ",
    now!(),
    " - $1::bigint AND NOT EXISTS (SELECT FROM artifacts WHERE object = name) \
    LIMIT $2 FOR UPDATE SKIP LOCKED)"
);

const DOOMED: &str = "SELECT name FROM media_objects WHERE state = 2 LIMIT $1";

const FORGET: &str = "DELETE FROM media_objects WHERE name = ANY($1) AND state = 2";

/// How often a claim is tried that others are faster with.
const MAX_TRIES: usize = 5;

pub(super) async fn claim(link: &mut Link, sha256: &[u8; 32], name: &str) -> Result<String> {
    for _ in 0..MAX_TRIES {
        if let Some(row) = link.row(TOUCH, &[&&sha256[..]]).await? {
            return Columns::of(&row).take();
        }
        if link.run(CLAIM, &[&name, &&sha256[..]]).await? == 1 {
            return Ok(name.to_owned());
        }
    }
    Err(too_late())
}

pub(super) async fn run(link: &mut Link, member: MemberId, id: &str) -> Result<Option<MediaRun>> {
    let row = link.row(RUN, &[&id, &member.0]).await?;
    let Some(mut run) = row.as_ref().map(rows::media_run).transpose()? else { return Ok(None) };
    let found = link.rows(ARTIFACTS, &[&id]).await?;
    run.artifacts = found.iter().map(rows::artifact).collect::<Result<_>>()?;
    Ok(Some(run))
}

pub(super) async fn artifact(
    link: &mut Link,
    member: MemberId,
    id: &str,
) -> Result<Option<Artifact>> {
    link.row(ARTIFACT, &[&id, &member.0]).await?.as_ref().map(rows::artifact).transpose()
}

/// Removes runs that are over, and dooms the objects that nobody refers to; gives how many runs.
pub(super) async fn sweep(link: &mut Link, limit: i64) -> Result<u64> {
    let transaction = link.client_mut().transaction().await.map_err(fault)?;
    let found = transaction.query(OVER, &[&limit]).await.map_err(fault)?;
    let over: Vec<String> =
        found.iter().map(|row| Columns::of(row).take()).collect::<Result<_>>()?;
    if !over.is_empty() {
        transaction.execute(FREED, &[&over]).await.map_err(fault)?;
        transaction.execute(REMOVE, &[&over]).await.map_err(fault)?;
    }
    transaction.execute(DOOM, &[&UNUSED_KEPT_MICROS, &limit]).await.map_err(fault)?;
    transaction.commit().await.map_err(fault)?;
    Ok(over.len() as u64)
}

pub(super) async fn doomed(link: &mut Link, limit: u32) -> Result<Vec<String>> {
    let found = link.rows(DOOMED, &[&page(limit)]).await?;
    found.iter().map(|row| Columns::of(row).take()).collect()
}

pub(super) async fn forget(link: &mut Link, names: &[String]) -> Result<()> {
    link.run(FORGET, &[&names]).await.map(drop)
}
