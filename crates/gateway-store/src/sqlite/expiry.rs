//! Expiry of leases, idempotency keys and stored responses.

use ledger::{Book, ChargeRule, HoldEnd, HoldId, MemberId, Time, TokenCounts};
use rusqlite::{Connection, params};

use super::connection::{ConnectionExt, RowReader};
use super::{Sqlite, media, research, responses, rows, save, sessions};
use crate::error::Result;
use crate::limits::MAX_EXPIRED;
use crate::records::{Columns, first};
use crate::research::JOB_OWNER;

/// The holds to end. Holds of jobs end with their job instead.
#[derive(Debug, Clone, Copy)]
enum EndedHolds {
    LeaseOver,
    /// Holds of all processes but this one.
    NotOwnedBy(i64),
}

impl Sqlite {
    pub(crate) async fn renew_leases(&self, owner: i64, lease_micros: i64) -> Result<u64> {
        self.write_ledger(move |db, now| {
            let until = now.plus_micros(lease_micros).micros();
            // A lease that ends later than this was written before the clock was set back.
            let latest = now.plus_micros(2 * lease_micros).micros();
            let sql = "UPDATE holds SET lease_until = ?1 WHERE owner <> ?2 AND lease_until > ?3";
            db.run(sql, params![until, JOB_OWNER, latest])?;
            let sql = "UPDATE holds SET lease_until = ?2 WHERE owner = ?1";
            Ok(db.run(sql, params![owner, until])? as u64)
        })
        .await
    }

    pub(crate) async fn expire_holds(&self) -> Result<u64> {
        self.write_ledger(|db, now| end_holds(db, EndedHolds::LeaseOver, now)).await
    }

    pub(crate) async fn end_holds_except(&self, owner: i64) -> Result<u64> {
        let mut total = 0;
        loop {
            let holds = EndedHolds::NotOwnedBy(owner);
            let ended = self.write_ledger(move |db, now| end_holds(db, holds, now)).await?;
            total += ended;
            if ended < u64::from(MAX_EXPIRED) {
                self.write(research::free_running_jobs).await?;
                return Ok(total);
            }
        }
    }

    pub(crate) async fn delete_expired(&self) -> Result<u64> {
        self.write(delete_expired).await
    }
}

/// Ends holds and fails the responses that they pay for; returns how many.
fn end_holds(db: &Connection, holds: EndedHolds, now: Time) -> Result<u64> {
    let (condition, value) = match holds {
        EndedHolds::LeaseOver => ("lease_until < ?1 AND owner <> ?3", now.micros()),
        EndedHolds::NotOwnedBy(owner) => ("owner <> ?1 AND owner <> ?3", owner),
    };
    let sql = format!("SELECT member, id FROM holds WHERE {condition} LIMIT ?2");
    let read = |row: &mut RowReader<'_>| Ok((MemberId(row.take()?), row.hold_id()?));
    let found: Vec<(MemberId, HoldId)> =
        db.rows(&sql, params![value, MAX_EXPIRED, JOB_OWNER], read)?;
    let mut book = Book::default();
    for &(member, id) in &found {
        rows::load_hold(db, &mut book, member, id, now)?;
        match holds {
            EndedHolds::LeaseOver => book.expire(id, now),
            EndedHolds::NotOwnedBy(_) => {
                let (rule, tokens) = (ChargeRule::Expired, TokenCounts::default());
                book.end(
                    HoldEnd {
                        id,
                        member,
                        rule,
                        model: None,
                        tokens,
                        attempts: None,
                        answered: false,
                    },
                    now,
                )
            }
        };
        responses::fail_running(db, id)?;
    }
    save::write_changes(db, &book.take_changes(), now)?;
    Ok(found.len() as u64)
}

fn delete_expired(db: &Connection, now: Time) -> Result<u64> {
    // A response with a live hold is still being written.
    let sql = "SELECT id FROM responses WHERE expires_at <= ?1 \
               AND NOT EXISTS (SELECT 1 FROM holds WHERE holds.member = responses.member \
               AND holds.id = responses.hold) LIMIT ?2";
    let limit = params![now.micros(), MAX_EXPIRED];
    let expired: Vec<String> = db.rows(sql, limit, |row| first(row))?;
    for id in &expired {
        responses::delete_events(db, id)?;
        db.run("DELETE FROM responses WHERE id = ?1", [id])?;
    }
    let sql = "DELETE FROM repeats WHERE (lineage, word) IN \
               (SELECT lineage, word FROM repeats WHERE expires_at <= ?1 AND answered LIMIT ?2)";
    let keys = db.run(sql, limit)?;
    // Answers belong to idempotency keys and are not counted.
    let sql =
        "DELETE FROM answers WHERE id IN (SELECT id FROM answers WHERE expires_at <= ?1 LIMIT ?2)";
    db.run(sql, limit)?;
    responses::fail_stray(db, MAX_EXPIRED)?;
    let runs = media::delete_expired(db, MAX_EXPIRED, now)?;
    let jobs = research::delete_expired(db, now)?;
    let sessions = sessions::delete_expired(db, MAX_EXPIRED, now)?;
    Ok((expired.len() + keys + runs + jobs + sessions) as u64)
}
