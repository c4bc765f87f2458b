//! Sessions of the web pages.

use ledger::{MemberId, Time};
use rusqlite::{Connection, params};

use super::Sqlite;
use super::connection::ConnectionExt;
use crate::error::Result;
use crate::records;
use crate::session::{MAX_SESSIONS, NewSession, WebSession};

const COLUMNS: &str = "SELECT hash, member, key, client, address, created_at, seen_at, idle_until, \
     ends_at FROM sessions";

impl Sqlite {
    pub(crate) async fn create_session(&self, new: &NewSession) -> Result<()> {
        let new = new.clone();
        self.write(move |db, now| {
            let member = new.member.map(|member| member.0);
            let sql = "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions \
                       WHERE member IS ?1 ORDER BY created_at DESC LIMIT -1 OFFSET ?2)";
            db.run(sql, params![member, MAX_SESSIONS - 1])?;
            let (idle, end) = (now.plus_micros(new.idle_micros), now.plus_micros(new.max_micros));
            db.run(
                "INSERT INTO sessions VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8)",
                params![
                    new.hash,
                    member,
                    new.key,
                    new.client,
                    new.address,
                    now.micros(),
                    idle.micros(),
                    end.micros(),
                ],
            )?;
            Ok(())
        })
        .await
    }

    pub(crate) async fn session(&self, hash: [u8; 32]) -> Result<Option<WebSession>> {
        self.read(move |db, now| {
            let sql = format!("{COLUMNS} WHERE hash = ?1 AND min(idle_until, ends_at) > ?2");
            db.row(&sql, params![hash, now.micros()], |row| records::session(row))
        })
        .await
    }

    pub(crate) async fn renew_session(&self, hash: [u8; 32], idle_micros: i64) -> Result<()> {
        self.write(move |db, now| {
            let sql = "UPDATE sessions SET seen_at = ?2, idle_until = ?3 \
                       WHERE hash = ?1 AND min(idle_until, ends_at) > ?2";
            let idle_until = now.plus_micros(idle_micros).micros();
            db.run(sql, params![hash, now.micros(), idle_until]).map(drop)
        })
        .await
    }

    pub(crate) async fn sessions(&self, member: Option<MemberId>) -> Result<Vec<WebSession>> {
        self.read(move |db, now| {
            let sql = format!(
                "{COLUMNS} WHERE member IS ?1 AND min(idle_until, ends_at) > ?2 \
                 ORDER BY created_at DESC LIMIT ?3"
            );
            let member = member.map(|member| member.0);
            db.rows(&sql, params![member, now.micros(), MAX_SESSIONS], |row| records::session(row))
        })
        .await
    }

    pub(crate) async fn end_session(
        &self,
        member: Option<MemberId>,
        hash: [u8; 32],
    ) -> Result<bool> {
        self.write(move |db, _| {
            let sql = "DELETE FROM sessions WHERE hash = ?1 AND member IS ?2";
            Ok(db.run(sql, params![hash, member.map(|member| member.0)])? > 0)
        })
        .await
    }
}

pub(super) fn delete_expired(db: &Connection, limit: u32, now: Time) -> Result<usize> {
    let sql = "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions \
               WHERE min(idle_until, ends_at) <= ?1 LIMIT ?2)";
    db.run(sql, params![now.micros(), limit])
}
