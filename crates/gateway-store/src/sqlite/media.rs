//! Media runs, artifacts and objects.

use ledger::{MemberId, Time};
use rusqlite::{Connection, params};

use super::Sqlite;
use super::connection::ConnectionExt;
use crate::error::Result;
use crate::limits::MAX_PAGE;
use crate::media::{UNUSED_RETENTION_MICROS, stored_bytes};
use crate::records::{self, first};
use crate::{Artifact, MediaRun};

const RUN: &str = "SELECT id, member, hold, model, capability, charge, created_at, expires_at \
     FROM media_runs";

impl Sqlite {
    pub(crate) async fn claim_object(&self, sha256: [u8; 32], name: &str) -> Result<String> {
        let name = name.to_owned();
        self.write(move |db, now| {
            let touch = "UPDATE media_objects SET touched_at = ?2 \
                         WHERE sha256 = ?1 AND state < 2 RETURNING name";
            if let Some(found) = db.row(touch, params![sha256, now.micros()], |row| first(row))? {
                return Ok(found);
            }
            let insert = "INSERT INTO media_objects VALUES (?1, ?2, 0, ?3)";
            db.run(insert, params![name, sha256, now.micros()])?;
            Ok(name)
        })
        .await
    }

    pub(crate) async fn media_run(&self, member: MemberId, id: &str) -> Result<Option<MediaRun>> {
        let id = id.to_owned();
        self.read(move |db, now| {
            let sql = format!("{RUN} WHERE id = ?1 AND member = ?2 AND expires_at > ?3");
            let run =
                db.row(&sql, params![id, member.0, now.micros()], |row| records::media_run(row))?;
            run.map(|run| with_artifacts(db, run)).transpose()
        })
        .await
    }

    pub(crate) async fn media_runs(
        &self,
        member: MemberId,
        before: Time,
        limit: u32,
    ) -> Result<Vec<MediaRun>> {
        self.read(move |db, now| {
            let sql = format!(
                "{RUN} WHERE member = ?1 AND created_at < ?2 AND expires_at > ?3 \
                 ORDER BY created_at DESC LIMIT ?4"
            );
            let limit = limit.min(MAX_PAGE);
            let values = params![member.0, before.micros(), now.micros(), limit];
            let runs = db.rows(&sql, values, |row| records::media_run(row))?;
            runs.into_iter().map(|run| with_artifacts(db, run)).collect()
        })
        .await
    }

    pub(crate) async fn artifact(&self, member: MemberId, id: &str) -> Result<Option<Artifact>> {
        let id = id.to_owned();
        self.read(move |db, now| {
            let sql = "SELECT id, object, media_type, bytes, sha256 FROM artifacts \
                       WHERE id = ?1 AND member = ?2 AND expires_at > ?3";
            db.row(sql, params![id, member.0, now.micros()], |row| records::artifact(row))
        })
        .await
    }

    pub(crate) async fn deletable_objects(&self, limit: u32) -> Result<Vec<String>> {
        self.read(move |db, _| {
            let sql = "SELECT name FROM media_objects WHERE state = 2 LIMIT ?1";
            db.rows(sql, [limit.min(MAX_PAGE)], |row| first(row))
        })
        .await
    }

    pub(crate) async fn delete_objects(&self, names: &[String]) -> Result<()> {
        let names = names.to_vec();
        self.write(move |db, _| {
            for name in names {
                db.run("DELETE FROM media_objects WHERE name = ?1 AND state = 2", [name])?;
            }
            Ok(())
        })
        .await
    }
}

fn with_artifacts(db: &Connection, mut run: MediaRun) -> Result<MediaRun> {
    let sql = "SELECT id, object, media_type, bytes, sha256 FROM artifacts \
               WHERE run = ?1 ORDER BY position";
    run.artifacts = db.rows(sql, [&run.id], |row| records::artifact(row))?;
    Ok(run)
}

/// Inserts a run in the transaction that ends its hold.
pub(super) fn insert(db: &Connection, run: &MediaRun) -> Result<()> {
    db.run(
        "INSERT INTO media_runs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            run.id,
            run.member.0,
            run.hold.to_bytes(),
            run.model,
            run.capability,
            run.charge.get(),
            run.created_at.micros(),
            run.expires_at.micros(),
        ],
    )?;
    for (position, artifact) in run.artifacts.iter().enumerate() {
        db.run(
            "INSERT INTO artifacts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                artifact.id,
                run.id,
                i64::try_from(position).unwrap_or(i64::MAX),
                run.member.0,
                artifact.object,
                artifact.media_type,
                stored_bytes(artifact.bytes),
                artifact.sha256,
                run.expires_at.micros(),
            ],
        )?;
        let refer = "UPDATE media_objects SET state = 1 WHERE name = ?1 AND state < 2";
        db.run(refer, [&artifact.object])?;
    }
    Ok(())
}

/// Deletes expired runs and marks unreferenced objects as deletable; returns how many runs.
pub(super) fn delete_expired(db: &Connection, limit: u32, now: Time) -> Result<usize> {
    let sql = "SELECT id FROM media_runs WHERE expires_at <= ?1 LIMIT ?2";
    let expired: Vec<String> = db.rows(sql, params![now.micros(), limit], |row| first(row))?;
    for id in &expired {
        for sql in [
            "UPDATE media_objects SET state = 0 WHERE state = 1 \
             AND name IN (SELECT object FROM artifacts WHERE run = ?1) \
             AND NOT EXISTS (SELECT 1 FROM artifacts WHERE object = name AND run <> ?1)",
            "DELETE FROM artifacts WHERE run = ?1",
            "DELETE FROM media_runs WHERE id = ?1",
        ] {
            db.run(sql, [id])?;
        }
    }
    db.run(
        "UPDATE media_objects SET state = 2 WHERE name IN \
         (SELECT name FROM media_objects WHERE state = 0 AND touched_at <= ?1 \
         AND NOT EXISTS (SELECT 1 FROM artifacts WHERE object = name) LIMIT ?2)",
        params![now.plus_micros(-UNUSED_RETENTION_MICROS).micros(), limit],
    )?;
    Ok(expired.len())
}
