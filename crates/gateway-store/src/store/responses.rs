//! Stored responses, their events, and answers saved for idempotency keys.

use ledger::{HoldId, MemberId};

use super::{Store, page};
use crate::error::Result;
use crate::executor::{Executor, ready};
use crate::value::values;
use crate::{Error, ResponseEvent, SavedAnswer, StoredResponse};

pub(super) const RESPONSE: &str = "SELECT id, member, lineage, hold, status, body, input, previous, \
    background, created_at, expires_at FROM responses";

impl Store {
    /// Returns the answer that is saved for an idempotency key.
    pub async fn answer(&self, id: HoldId) -> Result<Option<SavedAnswer>> {
        let sql =
            "SELECT status, content_type, body FROM answers WHERE hold = $1 AND expires_at > {now}";
        self.row(sql, values![id]).await
    }

    pub async fn response(&self, member: MemberId, id: &str) -> Result<Option<StoredResponse>> {
        let sql = format!("{RESPONSE} WHERE id = $1 AND member = $2 AND expires_at > {{now}}");
        self.row(sql, values![id, member]).await
    }

    pub async fn response_status(&self, member: MemberId, id: &str) -> Result<Option<String>> {
        let sql =
            "SELECT status FROM responses WHERE id = $1 AND member = $2 AND expires_at > {now}";
        self.row(sql, values![id, member]).await
    }

    /// Updates status and body of a response that has not ended; returns whether it did.
    pub async fn update_response(&self, response: &StoredResponse) -> Result<bool> {
        let StoredResponse { id, member, status, body, .. } = response;
        let sql = "UPDATE responses SET status = $3, body = $4 WHERE id = $1 AND member = $2 \
                   AND status IN ('queued', 'in_progress')";
        Ok(self.run(sql, values![id, *member, status, body]).await? > 0)
    }

    /// Cancels a response that is still queued; returns whether it did. A response in progress is
    /// ended with its hold instead.
    pub async fn cancel_queued_response(&self, response: &StoredResponse) -> Result<bool> {
        let StoredResponse { id, member, body, .. } = response;
        let sql = "UPDATE responses SET status = 'cancelled', body = $3 \
                   WHERE id = $1 AND member = $2 AND status = 'queued'";
        Ok(self.run(sql, values![id, *member, body]).await? > 0)
    }

    /// Deletes a response and its events; returns whether it existed.
    pub async fn delete_response(&self, member: MemberId, id: &str) -> Result<bool> {
        let id = id.to_owned();
        statements!(self.write, db => delete(db, member, &id))
    }

    /// Appends events; existing ones, as after a retry, are kept.
    pub async fn append_events(&self, id: &str, events: &[ResponseEvent]) -> Result<()> {
        match self {
            Self::Sqlite(database) => {
                let (id, events) = (id.to_owned(), events.to_vec());
                database.write(move |db| ready(append_events(db, &id, events))).await
            }
            Self::Postgres(database) => Box::pin(database.append_events(id, events)).await,
        }
    }

    /// Lists events of a background response after a sequence number, in order.
    pub async fn events(&self, id: &str, after: i64, limit: u32) -> Result<Vec<ResponseEvent>> {
        let sql = "SELECT sequence, event FROM response_events \
                   WHERE response = $1 AND sequence > $2 ORDER BY sequence LIMIT $3";
        self.rows(sql, values![id, after, page(limit)]).await
    }
}

async fn delete(db: &mut impl Executor, member: MemberId, id: &str) -> Result<bool> {
    let sql = "DELETE FROM responses WHERE id = $1 AND member = $2";
    let is_deleted = db.run(sql, values![id, member]).await? > 0;
    if is_deleted {
        delete_events(db, id).await?;
    }
    Ok(is_deleted)
}

async fn append_events(db: &mut impl Executor, id: &str, events: Vec<ResponseEvent>) -> Result<()> {
    if !db.exists("SELECT true FROM responses WHERE id = $1", values![id]).await? {
        return Err(Error::Missing("response"));
    }
    for ResponseEvent { sequence, event } in events {
        let sql = "INSERT INTO response_events (response, sequence, event) VALUES ($1, $2, $3) \
                   ON CONFLICT DO NOTHING";
        db.run(sql, values![id, sequence, event]).await?;
    }
    Ok(())
}

/// Deletes events after their response; PostgreSQL does this by itself.
pub(super) async fn delete_events(db: &mut impl Executor, id: &str) -> Result<()> {
    let sql = "{|DELETE FROM response_events WHERE response = $1}";
    db.run(sql, values![id]).await.map(drop)
}
