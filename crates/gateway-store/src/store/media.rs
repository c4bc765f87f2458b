//! Media runs, artifacts and objects.

use ledger::{MemberId, Time};

use super::{MAX_EXPIRED, Store, page};
use crate::error::Result;
use crate::executor::Executor;
use crate::media::UNUSED_RETENTION_MICROS;
use crate::value::values;
use crate::{Artifact, Error, MediaRun};

const RUN: &str = "SELECT id, member, hold, model, capability, charge, created_at, expires_at \
    FROM media_runs WHERE member = $1 AND expires_at > {now}";

const ARTIFACT: &str = "SELECT id, object, media_type, bytes, sha256 FROM artifacts";

/// Maximum tries of a claim that races with others.
const MAX_TRIES: usize = 5;

impl Store {
    /// Returns the object for bytes with this digest, which is created under this name if missing. An
    /// object without a run is kept for an hour.
    pub async fn claim_object(&self, sha256: [u8; 32], name: &str) -> Result<String> {
        let name = name.to_owned();
        statements!(self.write, db => claim(db, sha256, &name))
    }

    pub async fn media_run(&self, member: MemberId, id: &str) -> Result<Option<MediaRun>> {
        let id = id.to_owned();
        statements!(self.read, db => run(db, member, &id))
    }

    /// Lists runs of a member that were made before a time, newest first.
    pub async fn media_runs(
        &self,
        member: MemberId,
        before: Time,
        limit: u32,
    ) -> Result<Vec<MediaRun>> {
        statements!(self.read, db => runs(db, member, before, limit))
    }

    pub async fn artifact(&self, member: MemberId, id: &str) -> Result<Option<Artifact>> {
        let sql = format!("{ARTIFACT} WHERE id = $1 AND member = $2 AND expires_at > {{now}}");
        self.row(sql, values![id, member]).await
    }

    /// Lists objects whose bytes can be deleted.
    pub async fn deletable_objects(&self, limit: u32) -> Result<Vec<String>> {
        self.rows("SELECT name FROM media_objects WHERE state = 2 LIMIT $1", values![page(limit)])
            .await
    }

    /// Deletes the rows of objects whose bytes were deleted.
    pub async fn delete_objects(&self, names: &[String]) -> Result<()> {
        let sql = "DELETE FROM media_objects WHERE name {in $1} AND state = 2";
        self.run(sql, values![names]).await.map(drop)
    }
}

async fn claim(db: &mut impl Executor, sha256: [u8; 32], name: &str) -> Result<String> {
    for _ in 0..MAX_TRIES {
        let touch = "UPDATE media_objects SET touched_at = {now} \
                     WHERE sha256 = $1 AND state < 2 RETURNING name";
        if let Some(found) = db.row(touch, values![&sha256]).await? {
            return Ok(found);
        }
        // Does nothing if another process was faster; the object can then be touched.
        let insert = "INSERT INTO media_objects (name, sha256, state, touched_at) \
                      VALUES ($1, $2, 0, {now}) ON CONFLICT DO NOTHING";
        if db.run(insert, values![name, &sha256]).await? == 1 {
            return Ok(name.to_owned());
        }
    }
    Err(Error::Busy)
}

async fn run(db: &mut impl Executor, member: MemberId, id: &str) -> Result<Option<MediaRun>> {
    let found = db.row(&format!("{RUN} AND id = $2"), values![member, id]).await?;
    let Some(mut run) = found else { return Ok(None) };
    add_artifacts(db, &mut run).await?;
    Ok(Some(run))
}

async fn runs(
    db: &mut impl Executor,
    member: MemberId,
    before: Time,
    limit: u32,
) -> Result<Vec<MediaRun>> {
    let sql = format!("{RUN} AND created_at < $2 ORDER BY created_at DESC LIMIT $3");
    let mut runs = db.rows(&sql, values![member, before, page(limit)]).await?;
    for run in &mut runs {
        add_artifacts(db, run).await?;
    }
    Ok(runs)
}

async fn add_artifacts(db: &mut impl Executor, run: &mut MediaRun) -> Result<()> {
    let sql = format!("{ARTIFACT} WHERE run = $1 ORDER BY position");
    run.artifacts = db.rows(&sql, values![&run.id]).await?;
    Ok(())
}

/// Deletes expired runs and marks unreferenced objects as deletable; returns how many runs.
pub(super) async fn delete_expired(db: &mut impl Executor) -> Result<u64> {
    let sql = "SELECT id FROM media_runs WHERE expires_at <= {now} LIMIT $1 \
               {FOR UPDATE SKIP LOCKED|}";
    let expired: Vec<String> = db.rows(sql, values![MAX_EXPIRED]).await?;
    if !expired.is_empty() {
        for sql in [
            "UPDATE media_objects SET state = 0 WHERE state = 1 \
             AND name IN (SELECT object FROM artifacts WHERE run {in $1}) \
             AND NOT EXISTS (SELECT 1 FROM artifacts WHERE object = name AND NOT run {in $1})",
            "DELETE FROM artifacts WHERE run {in $1}",
            "DELETE FROM media_runs WHERE id {in $1}",
        ] {
            db.run(sql, values![&*expired]).await?;
        }
    }
    // An object that was claimed meanwhile is checked again under its lock and skipped. Artifacts are
    // checked again, because one may have been inserted while the last of another run was deleted.
    let sql = "UPDATE media_objects SET state = 2 WHERE name IN (SELECT name FROM media_objects \
               WHERE state = 0 AND touched_at <= {now} - $1 \
               AND NOT EXISTS (SELECT 1 FROM artifacts WHERE object = name) \
               LIMIT $2 {FOR UPDATE SKIP LOCKED|})";
    db.run(sql, values![UNUSED_RETENTION_MICROS, MAX_EXPIRED]).await?;
    Ok(expired.len() as u64)
}
