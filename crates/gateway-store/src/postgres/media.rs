//! Media runs, artifacts and objects.

use ledger::{MemberId, Time};

use super::Postgres;
use super::connection::PgConnection;
use super::error::timed_out;
use super::pool::pooled;
use super::rows::{self, page};
use super::statements::with_clock;
use crate::error::Result;
use crate::media::UNUSED_RETENTION_MICROS;
use crate::records::{self, first};
use crate::{Artifact, MediaRun};

const TOUCH: &str = "UPDATE media_objects SET touched_at = {now} WHERE sha256 = $1 AND state < 2 \
    RETURNING name";

/// Does nothing if another process was faster; the object can then be touched.
const CLAIM: &str = "INSERT INTO media_objects (name, sha256, state, touched_at) VALUES ($1, $2, \
    0, {now}) ON CONFLICT DO NOTHING";

const RUN: &str = "SELECT id, member, hold, model, capability, charge, created_at, expires_at \
    FROM media_runs \
    WHERE id = $1 AND member = $2 AND expires_at > {now}";

const RUNS: &str = "SELECT id, member, hold, model, capability, charge, created_at, expires_at \
    FROM media_runs \
    WHERE member = $1 AND created_at < $2 AND expires_at > {now} ORDER BY created_at DESC LIMIT $3";

const ARTIFACTS: &str = "SELECT id, object, media_type, bytes, sha256 FROM artifacts \
    WHERE run = $1 ORDER BY position";

const ARTIFACT: &str = "SELECT id, object, media_type, bytes, sha256 FROM artifacts \
    WHERE id = $1 AND member = $2 AND expires_at > {now}";

const EXPIRED: &str = "SELECT id FROM media_runs WHERE expires_at <= {now} LIMIT $1 FOR UPDATE \
    SKIP LOCKED";

const UNREFERENCE: &str = "UPDATE media_objects SET state = 0 WHERE state = 1 \
    AND name IN (SELECT object FROM artifacts WHERE run = ANY($1)) \
    AND NOT EXISTS (SELECT FROM artifacts WHERE object = name AND run <> ALL($1))";

const DELETE_RUNS: &str = "DELETE FROM media_runs WHERE id = ANY($1)";

/// An object that was claimed meanwhile is checked again under its lock and skipped. Artifacts are
/// checked again, because one may have been inserted while the last of another run was deleted.
const MARK_DELETABLE: &str = "UPDATE media_objects SET state = 2 WHERE name IN (SELECT name FROM \
    media_objects \
    WHERE state = 0 AND touched_at <= {now} - $1::bigint AND NOT EXISTS (SELECT FROM artifacts \
    WHERE object = name) \
    LIMIT $2 FOR UPDATE SKIP LOCKED)";

const DELETABLE: &str = "SELECT name FROM media_objects WHERE state = 2 LIMIT $1";

const DELETE_OBJECTS: &str = "DELETE FROM media_objects WHERE name = ANY($1) AND state = 2";

/// The most tries of a claim that races with others.
const MAX_TRIES: usize = 5;

impl Postgres {
    pub(crate) async fn claim_object(&self, sha256: [u8; 32], name: &str) -> Result<String> {
        pooled!(self, connection => claim(connection, &sha256, name))
    }

    pub(crate) async fn media_run(&self, member: MemberId, id: &str) -> Result<Option<MediaRun>> {
        let run = self.row(RUN, &[&id, &member.0], |row| records::media_run(row)).await?;
        let Some(mut run) = run else { return Ok(None) };
        run.artifacts = self.rows(ARTIFACTS, &[&id], |row| records::artifact(row)).await?;
        Ok(Some(run))
    }

    pub(crate) async fn media_runs(
        &self,
        member: MemberId,
        before: Time,
        limit: u32,
    ) -> Result<Vec<MediaRun>> {
        let values: [rows::Value<'_>; 3] = [&member.0, &before.micros(), &page(limit)];
        let mut runs = self.rows(RUNS, &values, |row| records::media_run(row)).await?;
        for run in &mut runs {
            run.artifacts = self.rows(ARTIFACTS, &[&run.id], |row| records::artifact(row)).await?;
        }
        Ok(runs)
    }

    pub(crate) async fn artifact(&self, member: MemberId, id: &str) -> Result<Option<Artifact>> {
        self.row(ARTIFACT, &[&id, &member.0], |row| records::artifact(row)).await
    }

    pub(crate) async fn deletable_objects(&self, limit: u32) -> Result<Vec<String>> {
        self.rows(DELETABLE, &[&page(limit)], |row| first(row)).await
    }

    pub(crate) async fn delete_objects(&self, names: &[String]) -> Result<()> {
        self.run(DELETE_OBJECTS, &[&names]).await.map(drop)
    }
}

async fn claim(connection: &mut PgConnection, sha256: &[u8; 32], name: &str) -> Result<String> {
    for _ in 0..MAX_TRIES {
        if let Some(row) = connection.row(TOUCH, &[&&sha256[..]]).await? {
            return rows::first(&row);
        }
        if connection.run(CLAIM, &[&name, &&sha256[..]]).await? == 1 {
            return Ok(name.to_owned());
        }
    }
    Err(timed_out())
}

/// Deletes expired runs and marks unreferenced objects as deletable; returns how many runs.
pub(super) async fn delete_expired(connection: &mut PgConnection, limit: i64) -> Result<u64> {
    let transaction = connection.client.transaction().await?;
    let found = transaction.query(&with_clock(EXPIRED), &[&limit]).await?;
    let expired: Vec<String> = found.iter().map(rows::first).collect::<Result<_>>()?;
    if !expired.is_empty() {
        transaction.execute(UNREFERENCE, &[&expired]).await?;
        transaction.execute(DELETE_RUNS, &[&expired]).await?;
    }
    transaction.execute(&with_clock(MARK_DELETABLE), &[&UNUSED_RETENTION_MICROS, &limit]).await?;
    transaction.commit().await?;
    Ok(expired.len() as u64)
}
