//! Sessions of the web pages.

use ledger::MemberId;

use super::Postgres;
use super::connection::PgConnection;
use crate::error::Result;
use crate::records;
use crate::session::{MAX_SESSIONS, NewSession, WebSession};

const MAKE_ROOM: &str = "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions \
    WHERE member IS NOT DISTINCT FROM $1 ORDER BY created_at DESC OFFSET $2)";

const CREATE: &str = "INSERT INTO sessions (hash, member, key, client, address, created_at, \
    seen_at, idle_until, \
     ends_at) SELECT $1, $2, $3, $4, $5, at, at, at + $6, at + $7 FROM (SELECT {now} AS at) clock";

const FIND: &str = "SELECT hash, member, key, client, address, created_at, seen_at, idle_until, \
    ends_at \
     FROM sessions WHERE hash = $1 AND least(idle_until, ends_at) > {now}";

const RENEW: &str = "UPDATE sessions SET seen_at = {now}, idle_until = {now} + $2 WHERE hash = $1 \
    AND least(idle_until, ends_at) > {now}";

const LIST: &str = "SELECT hash, member, key, client, address, created_at, seen_at, idle_until, \
    ends_at \
     FROM sessions WHERE member IS NOT DISTINCT FROM $1 AND least(idle_until, ends_at) > {now} \
     ORDER BY created_at DESC LIMIT $2";

const END: &str = "DELETE FROM sessions WHERE hash = $1 AND member IS NOT DISTINCT FROM $2";

const DELETE_EXPIRED: &str = "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions \
     WHERE least(idle_until, ends_at) <= {now} LIMIT $1)";

impl Postgres {
    pub(crate) async fn create_session(&self, new: &NewSession) -> Result<()> {
        let member = new.member.map(|member| member.0);
        self.run(MAKE_ROOM, &[&member, &i64::from(MAX_SESSIONS - 1)]).await?;
        let values: [super::Value<'_>; 7] = [
            &&new.hash[..],
            &member,
            &new.key,
            &new.client,
            &new.address,
            &new.idle_micros,
            &new.max_micros,
        ];
        self.run(CREATE, &values).await.map(drop)
    }

    pub(crate) async fn session(&self, hash: [u8; 32]) -> Result<Option<WebSession>> {
        self.row(FIND, &[&&hash[..]], |row| records::session(row)).await
    }

    pub(crate) async fn renew_session(&self, hash: [u8; 32], idle_micros: i64) -> Result<()> {
        self.run(RENEW, &[&&hash[..], &idle_micros]).await.map(drop)
    }

    pub(crate) async fn sessions(&self, member: Option<MemberId>) -> Result<Vec<WebSession>> {
        let member = member.map(|member| member.0);
        self.rows(LIST, &[&member, &i64::from(MAX_SESSIONS)], |row| records::session(row)).await
    }

    pub(crate) async fn end_session(
        &self,
        member: Option<MemberId>,
        hash: [u8; 32],
    ) -> Result<bool> {
        let member = member.map(|member| member.0);
        Ok(self.run(END, &[&&hash[..], &member]).await? > 0)
    }
}

pub(super) async fn delete_expired(connection: &mut PgConnection, limit: i64) -> Result<u64> {
    connection.run(DELETE_EXPIRED, &[&limit]).await
}
