//! Stored responses, their events, and answers saved for idempotency keys.

use ledger::{HoldId, MemberId};
use rusqlite::{Connection, params};

use super::Sqlite;
use super::connection::{ConnectionExt, RowReader};
use crate::error::Result;
use crate::limits::MAX_PAGE;
use crate::records::{self, first, response_event};
use crate::{Error, ResponseEvent, SavedAnswer, StoredResponse};

impl Sqlite {
    pub(crate) async fn answer(&self, id: HoldId) -> Result<Option<SavedAnswer>> {
        self.read(move |db, now| {
            let sql = "SELECT status, content_type, body FROM answers \
                       WHERE hold = ?1 AND expires_at > ?2";
            db.row(sql, params![id.to_bytes(), now.micros()], |row| records::answer(row))
        })
        .await
    }

    pub(crate) async fn response(
        &self,
        member: MemberId,
        id: &str,
    ) -> Result<Option<StoredResponse>> {
        let id = id.to_owned();
        self.read(move |db, now| {
            let sql = "SELECT id, member, lineage, hold, status, body, input, previous, \
                       background, created_at, expires_at FROM responses \
                       WHERE id = ?1 AND member = ?2 AND expires_at > ?3";
            db.row(sql, params![id, member.0, now.micros()], |row| records::response(row))
        })
        .await
    }

    pub(crate) async fn response_status(
        &self,
        member: MemberId,
        id: &str,
    ) -> Result<Option<String>> {
        let id = id.to_owned();
        self.read(move |db, now| {
            let sql =
                "SELECT status FROM responses WHERE id = ?1 AND member = ?2 AND expires_at > ?3";
            db.row(sql, params![id, member.0, now.micros()], |row| first(row))
        })
        .await
    }

    pub(crate) async fn update_response(&self, response: &StoredResponse) -> Result<bool> {
        let StoredResponse { id, member, status, body, .. } = response.clone();
        self.write(move |db, _| {
            let sql = "UPDATE responses SET status = ?3, body = ?4 WHERE id = ?1 AND member = ?2 \
                       AND status IN ('queued', 'in_progress')";
            Ok(db.run(sql, params![id, member.0, status, body])? > 0)
        })
        .await
    }

    pub(crate) async fn cancel_queued_response(&self, response: &StoredResponse) -> Result<bool> {
        let StoredResponse { id, member, body, .. } = response.clone();
        self.write(move |db, _| {
            let sql = "UPDATE responses SET status = 'cancelled', body = ?3 \
                       WHERE id = ?1 AND member = ?2 AND status = 'queued'";
            Ok(db.run(sql, params![id, member.0, body])? > 0)
        })
        .await
    }

    pub(crate) async fn delete_response(&self, member: MemberId, id: &str) -> Result<bool> {
        let id = id.to_owned();
        self.write(move |db, _| {
            let sql = "DELETE FROM responses WHERE id = ?1 AND member = ?2";
            if db.run(sql, params![id, member.0])? == 0 {
                return Ok(false);
            }
            delete_events(db, &id)?;
            Ok(true)
        })
        .await
    }

    /// Events that exist, as after a retry, are kept.
    pub(crate) async fn append_events(&self, id: &str, events: &[ResponseEvent]) -> Result<()> {
        let (id, events) = (id.to_owned(), events.to_vec());
        self.write(move |db, _| {
            if !db.prepare_cached("SELECT 1 FROM responses WHERE id = ?1")?.exists([&id])? {
                return Err(Error::Missing("response"));
            }
            let sql = "INSERT INTO response_events VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
            for ResponseEvent { sequence, event } in events {
                db.run(sql, params![id, sequence, event])?;
            }
            Ok(())
        })
        .await
    }

    pub(crate) async fn events(
        &self,
        id: &str,
        after: i64,
        limit: u32,
    ) -> Result<Vec<ResponseEvent>> {
        let id = id.to_owned();
        self.read(move |db, _| {
            let sql = "SELECT sequence, event FROM response_events \
                       WHERE response = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3";
            db.rows(sql, params![id, after, limit.min(MAX_PAGE)], |row| response_event(row))
        })
        .await
    }
}

pub(super) fn delete_events(db: &Connection, id: &str) -> Result<()> {
    db.run("DELETE FROM response_events WHERE response = ?1", [id]).map(drop)
}

/// Fails the running responses of a hold that ends without them.
pub(super) fn fail_running(db: &Connection, hold: HoldId) -> Result<()> {
    let sql =
        "SELECT id, body FROM responses WHERE hold = ?1 AND status IN ('queued', 'in_progress')";
    fail(db, db.rows(sql, [hold.to_bytes()], id_and_body)?)
}

/// Fails background responses that still run although their hold has ended.
pub(super) fn fail_stray(db: &Connection, limit: u32) -> Result<()> {
    let sql = "SELECT id, body FROM responses \
               WHERE status IN ('queued', 'in_progress') AND background \
               AND NOT EXISTS (SELECT 1 FROM holds WHERE holds.member = responses.member \
               AND holds.id = responses.hold) LIMIT ?1";
    fail(db, db.rows(sql, [limit], id_and_body)?)
}

fn id_and_body(row: &mut RowReader<'_>) -> Result<(String, Vec<u8>)> {
    Ok((row.take()?, row.take()?))
}

fn fail(db: &Connection, responses: Vec<(String, Vec<u8>)>) -> Result<()> {
    for (id, body) in responses {
        let body = crate::response::failed_body(&id, &body);
        db.run(
            "UPDATE responses SET status = 'failed', body = ?2 WHERE id = ?1",
            params![id, body],
        )?;
    }
    Ok(())
}
