//! Media runs, artifacts and objects.

use ledger::{MemberId, Micros, Time};
use rusqlite::{Connection, Row, params};

use super::Sqlite;
use super::connection::ConnectionExt;
use super::rows::{hold_id, time};
use crate::error::Result;
use crate::limits::MAX_PAGE;
use crate::media::{UNUSED_RETENTION_MICROS, stored_bytes};
use crate::{Artifact, MediaRun};

impl Sqlite {
    pub(crate) async fn claim_object(&self, sha256: [u8; 32], name: &str) -> Result<String> {
        let name = name.to_owned();
        self.write(move |db, now| {
            let touch = "UPDATE media_objects SET touched_at = ?2 \
                         WHERE sha256 = ?1 AND state < 2 RETURNING name";
            if let Some(found) = db.row(touch, params![sha256, now.micros()], |row| row.get(0))? {
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
            let sql = "SELECT hold, model, capability, charge, created_at, expires_at \
                       FROM media_runs WHERE id = ?1 AND member = ?2 AND expires_at > ?3";
            let run = db.row(sql, params![id, member.0, now.micros()], |row| {
                Ok(MediaRun {
                    id: id.clone(),
                    member,
                    hold: hold_id(row, 0)?,
                    model: row.get(1)?,
                    capability: row.get(2)?,
                    charge: Micros::new(row.get(3)?),
                    created_at: time(row, 4)?,
                    expires_at: time(row, 5)?,
                    artifacts: Vec::new(),
                })
            })?;
            let Some(mut run) = run else { return Ok(None) };
            let sql = "SELECT id, object, media_type, bytes, sha256 FROM artifacts \
                       WHERE run = ?1 ORDER BY position";
            run.artifacts = db.rows(sql, [id], read_artifact)?;
            Ok(Some(run))
        })
        .await
    }

    pub(crate) async fn artifact(&self, member: MemberId, id: &str) -> Result<Option<Artifact>> {
        let id = id.to_owned();
        self.read(move |db, now| {
            let sql = "SELECT id, object, media_type, bytes, sha256 FROM artifacts \
                       WHERE id = ?1 AND member = ?2 AND expires_at > ?3";
            db.row(sql, params![id, member.0, now.micros()], read_artifact)
        })
        .await
    }

    pub(crate) async fn deletable_objects(&self, limit: u32) -> Result<Vec<String>> {
        self.read(move |db, _| {
            let sql = "SELECT name FROM media_objects WHERE state = 2 LIMIT ?1";
            db.rows(sql, [limit.min(MAX_PAGE)], |row| row.get(0))
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

fn read_artifact(row: &Row<'_>) -> rusqlite::Result<Artifact> {
    Ok(Artifact {
        id: row.get(0)?,
        object: row.get(1)?,
        media_type: row.get(2)?,
        bytes: row.get::<_, i64>(3)?.unsigned_abs(),
        sha256: row.get(4)?,
    })
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
    let expired: Vec<String> = db.rows(sql, params![now.micros(), limit], |row| row.get(0))?;
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
