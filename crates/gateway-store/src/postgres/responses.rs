//! Stored responses and their events.

use ledger::MemberId;

use super::Postgres;
use super::connection::PgConnection;
use super::error::missing;
use super::pool::pooled;
use super::rows::page;
use crate::error::Result;
use crate::records::{self, first, response_event};
use crate::{ResponseEvent, StoredResponse};

const RESPONSE: &str = "SELECT id, member, lineage, hold, status, body, input, previous, \
    background, created_at, \
    expires_at FROM responses WHERE id = $1 AND member = $2 AND expires_at > {now}";

const STATUS: &str =
    "SELECT status FROM responses WHERE id = $1 AND member = $2 AND expires_at > {now}";

const UPDATE: &str = "UPDATE responses SET status = $3, body = $4 \
    WHERE id = $1 AND member = $2 AND status IN ('queued', 'in_progress')";

const CANCEL_QUEUED: &str = "UPDATE responses SET status = 'cancelled', body = $3 \
    WHERE id = $1 AND member = $2 AND status = 'queued'";

const DELETE: &str = "DELETE FROM responses WHERE id = $1 AND member = $2";

/// Events that exist, as after a retry, are kept.
const APPEND: &str = "INSERT INTO response_events (response, sequence, event) \
    SELECT $1, n.sequence, n.event FROM unnest($2::bigint[], $3::bytea[]) AS n (sequence, event) \
    ON CONFLICT DO NOTHING";

const EVENTS: &str = "SELECT sequence, event FROM response_events \
    WHERE response = $1 AND sequence > $2 ORDER BY sequence LIMIT $3";

impl Postgres {
    pub(crate) async fn response(
        &self,
        member: MemberId,
        id: &str,
    ) -> Result<Option<StoredResponse>> {
        self.row(RESPONSE, &[&id, &member.0], |row| records::response(row)).await
    }

    pub(crate) async fn response_status(
        &self,
        member: MemberId,
        id: &str,
    ) -> Result<Option<String>> {
        self.row(STATUS, &[&id, &member.0], |row| first(row)).await
    }

    pub(crate) async fn update_response(&self, response: &StoredResponse) -> Result<bool> {
        let StoredResponse { id, member, status, body, .. } = response;
        Ok(self.run(UPDATE, &[id, &member.0, status, body]).await? > 0)
    }

    pub(crate) async fn cancel_queued_response(&self, response: &StoredResponse) -> Result<bool> {
        let StoredResponse { id, member, body, .. } = response;
        Ok(self.run(CANCEL_QUEUED, &[id, &member.0, body]).await? > 0)
    }

    pub(crate) async fn delete_response(&self, member: MemberId, id: &str) -> Result<bool> {
        Ok(self.run(DELETE, &[&id, &member.0]).await? > 0)
    }

    pub(crate) async fn append_events(&self, id: &str, events: &[ResponseEvent]) -> Result<()> {
        pooled!(self, connection => append(connection, id, events))
    }

    pub(crate) async fn events(
        &self,
        id: &str,
        after: i64,
        limit: u32,
    ) -> Result<Vec<ResponseEvent>> {
        self.rows(EVENTS, &[&id, &after, &page(limit)], |row| response_event(row)).await
    }
}

async fn append(connection: &mut PgConnection, id: &str, events: &[ResponseEvent]) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let sequences: Vec<i64> = events.iter().map(|event| event.sequence).collect();
    let bodies: Vec<&[u8]> = events.iter().map(|event| &event.event[..]).collect();
    let statement = connection.statement(APPEND).await?;
    let appended = connection.client.execute(&statement, &[&id, &sequences, &bodies]).await;
    appended.map_err(missing("response"))?;
    Ok(())
}
