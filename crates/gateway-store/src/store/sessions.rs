//! Sessions of the web pages.

use ledger::{MemberId, Time};

use super::Store;
use crate::error::Result;
use crate::executor::Executor;
use crate::value::values;

pub const MAX_SESSIONS: u32 = 32;

/// A person who signed in. A session ends at the earlier of both times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSession {
    /// Digest of the token in the cookie.
    pub hash: [u8; 32],
    /// `None` for an operator.
    pub member: Option<MemberId>,
    /// The public id of the key that was used.
    pub key: Option<String>,
    /// The browser's `User-Agent`.
    pub client: String,
    pub address: String,
    pub created_at: Time,
    pub seen_at: Time,
    /// Idle expiry.
    pub idle_until: Time,
    /// Absolute expiry.
    pub ends_at: Time,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    pub hash: [u8; 32],
    pub member: Option<MemberId>,
    pub key: Option<String>,
    pub client: String,
    pub address: String,
    pub idle_micros: i64,
    pub max_micros: i64,
}

const SESSION: &str = "SELECT hash, member, key, client, address, created_at, seen_at, idle_until, \
    ends_at FROM sessions WHERE {least|min}(idle_until, ends_at) > {now}";

impl Store {
    /// Creates a session, replacing the oldest of too many.
    pub async fn create_session(&self, new: &NewSession) -> Result<()> {
        let new = new.clone();
        statements!(self.write, db => create(db, &new))
    }

    /// Returns an unexpired session.
    pub async fn session(&self, hash: [u8; 32]) -> Result<Option<WebSession>> {
        self.row(format!("{SESSION} AND hash = $1"), values![&hash]).await
    }

    /// Extends a session in use, up to its absolute expiry.
    pub async fn renew_session(&self, hash: [u8; 32], idle_micros: i64) -> Result<()> {
        let sql = "UPDATE sessions SET seen_at = {now}, idle_until = {now} + $2 \
                   WHERE hash = $1 AND {least|min}(idle_until, ends_at) > {now}";
        self.run(sql, values![&hash, idle_micros]).await.map(drop)
    }

    /// Lists sessions of a member, or those of operators, newest first.
    pub async fn sessions(&self, member: Option<MemberId>) -> Result<Vec<WebSession>> {
        let sql = format!(
            "{SESSION} AND member IS NOT DISTINCT FROM $1 ORDER BY created_at DESC LIMIT $2"
        );
        self.rows(sql, values![member, MAX_SESSIONS]).await
    }

    /// Ends a session of a member or of an operator; returns whether it existed.
    pub async fn end_session(&self, member: Option<MemberId>, hash: [u8; 32]) -> Result<bool> {
        let sql = "DELETE FROM sessions WHERE hash = $1 AND member IS NOT DISTINCT FROM $2";
        Ok(self.run(sql, values![&hash, member]).await? > 0)
    }
}

async fn create(db: &mut impl Executor, new: &NewSession) -> Result<()> {
    let NewSession { hash, member, key, client, address, idle_micros, max_micros } = new.clone();
    let make_room = "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions \
                     WHERE member IS NOT DISTINCT FROM $1 ORDER BY created_at DESC \
                     LIMIT {ALL|-1} OFFSET $2)";
    db.run(make_room, values![member, MAX_SESSIONS - 1]).await?;
    let sql = "INSERT INTO sessions (hash, member, key, client, address, created_at, seen_at, \
               idle_until, ends_at) SELECT $1, $2, $3, $4, $5, at, at, at + $6, at + $7 \
               FROM (SELECT {now} AS at) AS clock";
    let values = values![&hash, member, key, client, address, idle_micros, max_micros];
    db.run(sql, values).await.map(drop)
}
