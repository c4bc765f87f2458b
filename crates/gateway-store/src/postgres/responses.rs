//! Stored responses and their events, and what else is kept by name.

use ledger::MemberId;

use super::fault::missing;
use super::link::Link;
use super::rows::{self, Columns, page};
use super::statements::now;
use crate::backend::Result;
use crate::{AuditEntry, Error, ResponseEvent, StoredResponse};

const RESPONSE: &str = concat!(
    "SELECT id, member, lineage, hold, status, body, input, previous, background, created_at, \
    expires_at FROM responses WHERE id = $1 AND member = $2 AND expires_at > ",
    now!()
);

const STATUS: &str =
    concat!("SELECT status FROM responses WHERE id = $1 AND member = $2 AND expires_at > ", now!());

/// One that has ended stays as it is.
const UPDATE: &str = "UPDATE responses SET status = $3, body = $4 \
    WHERE id = $1 AND member = $2 AND status IN ('queued', 'in_progress')";

const CANCEL_QUEUED: &str = "UPDATE responses SET status = 'cancelled', body = $3 \
    WHERE id = $1 AND member = $2 AND status = 'queued'";

const DELETE: &str = "DELETE FROM responses WHERE id = $1 AND member = $2";

/// An event that is written again is the same event.
const APPEND: &str = "INSERT INTO response_events (response, sequence, event) \
    SELECT $1, n.sequence, n.event FROM unnest($2::bigint[], $3::bytea[]) AS n (sequence, event) \
    ON CONFLICT DO NOTHING";

const EVENTS: &str = "SELECT sequence, event FROM response_events \
    WHERE response = $1 AND sequence > $2 ORDER BY sequence LIMIT $3";

const AUDIT: &str = "SELECT id, at, actor, request, action, subject, detail, digest FROM audit \
    WHERE id < $1 ORDER BY id DESC LIMIT $2";

const SETTING: &str = "SELECT value FROM settings WHERE name = $1";

const SET_ONCE: &str =
    "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";

pub(super) async fn response(
    link: &mut Link,
    member: MemberId,
    id: &str,
) -> Result<Option<StoredResponse>> {
    link.row(RESPONSE, &[&id, &member.0]).await?.as_ref().map(rows::response).transpose()
}

pub(super) async fn status(link: &mut Link, member: MemberId, id: &str) -> Result<Option<String>> {
    let row = link.row(STATUS, &[&id, &member.0]).await?;
    row.map(|row| Columns::of(&row).take()).transpose()
}

pub(super) async fn update(link: &mut Link, response: &StoredResponse) -> Result<bool> {
    let StoredResponse { id, member, status, body, .. } = response;
    Ok(link.run(UPDATE, &[id, &member.0, status, body]).await? > 0)
}

pub(super) async fn cancel_queued(link: &mut Link, response: &StoredResponse) -> Result<bool> {
    let StoredResponse { id, member, body, .. } = response;
    Ok(link.run(CANCEL_QUEUED, &[id, &member.0, body]).await? > 0)
}

pub(super) async fn delete(link: &mut Link, member: MemberId, id: &str) -> Result<bool> {
    Ok(link.run(DELETE, &[&id, &member.0]).await? > 0)
}

pub(super) async fn append(link: &mut Link, id: &str, events: &[ResponseEvent]) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let sequences: Vec<i64> = events.iter().map(|event| event.sequence).collect();
    let bodies: Vec<&[u8]> = events.iter().map(|event| &event.event[..]).collect();
    let statement = link.statement(APPEND).await?;
    let appended = link.client().execute(&statement, &[&id, &sequences, &bodies]).await;
    appended.map_err(missing("response"))?;
    Ok(())
}

pub(super) async fn events(
    link: &mut Link,
    id: &str,
    after: i64,
    limit: u32,
) -> Result<Vec<ResponseEvent>> {
    let found = link.rows(EVENTS, &[&id, &after, &page(limit)]).await?;
    let event = |row| {
        let mut columns = Columns::of(row);
        Ok(ResponseEvent { sequence: columns.take()?, event: columns.take()? })
    };
    found.iter().map(event).collect()
}

pub(super) async fn audit(link: &mut Link, before: i64, limit: u32) -> Result<Vec<AuditEntry>> {
    let found = link.rows(AUDIT, &[&before, &page(limit)]).await?;
    found.iter().map(rows::audit_entry).collect()
}

pub(super) async fn setting(link: &mut Link, name: &str) -> Result<Option<String>> {
    let row = link.row(SETTING, &[&name]).await?;
    row.map(|row| Columns::of(&row).take()).transpose()
}

pub(super) async fn set_once(link: &mut Link, name: &str, value: &str) -> Result<String> {
    link.run(SET_ONCE, &[&name, &value]).await?;
    setting(link, name).await?.ok_or(Error::Missing("setting"))
}
