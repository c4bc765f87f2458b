//! What ends by itself: leases, idempotency keys, stored responses.

use ledger::{Book, ChargeRule, HoldEnd, HoldId, MemberId, Time, TokenCounts};
use rusqlite::{Connection, Row, params};

use super::{changes, media, research, responses, rows};
use crate::backend::Result;
use crate::research::JOB_OWNER;

/// The most holds that end in one transaction.
pub(super) const MAX_EXPIRED: u32 = 1000;

/// The most rows of each kind that one sweep removes or changes.
const MAX_SWEPT: u32 = 1000;

/// Which holds end.
#[derive(Debug, Clone, Copy)]
pub(super) enum Which {
    /// Those whose lease is over.
    Expired,
    /// Those of all processes but this one; what jobs hold is no process's.
    NotOf(i64),
}

pub(super) fn renew(
    connection: &Connection,
    owner: i64,
    lease_micros: i64,
    now: Time,
) -> Result<u64> {
    let until = now.plus_micros(lease_micros).micros();
    // A lease that ends later than this was written before the clock was set back.
    let latest = now.plus_micros(2 * lease_micros).micros();
    let mut shorten = connection.prepare_cached(
        "UPDATE holds SET lease_until = ?1 WHERE owner <> ?2 AND lease_until > ?3",
    )?;
    shorten.execute(params![until, JOB_OWNER, latest])?;
    let mut update =
        connection.prepare_cached("UPDATE holds SET lease_until = ?2 WHERE owner = ?1")?;
    Ok(update.execute(params![owner, until])? as u64)
}

/// Ends holds that nobody will end, and the responses that they pay for; gives how many.
pub(super) fn end(connection: &Connection, which: Which, now: Time) -> Result<u64> {
    let (condition, value) = match which {
        Which::Expired => ("lease_until < ?1 AND owner <> ?3", now.micros()),
        Which::NotOf(owner) => ("owner <> ?1 AND owner <> ?3", owner),
    };
    let sql = format!("SELECT member, id FROM holds WHERE {condition} LIMIT ?2");
    let mut query = connection.prepare_cached(&sql)?;
    let read = |row: &Row<'_>| Ok((MemberId(row.get(0)?), rows::hold_id(row, 1)?));
    let holds = query.query_map(params![value, MAX_EXPIRED, JOB_OWNER], read)?;
    let holds: Vec<(MemberId, HoldId)> = holds.collect::<rusqlite::Result<_>>()?;
    let mut book = Book::default();
    for &(member, id) in &holds {
        rows::load_hold(connection, &mut book, (member, id), now)?;
        match which {
            Which::Expired => book.expire(id, now),
            Which::NotOf(_) => {
                let (rule, tokens) = (ChargeRule::Expired, TokenCounts::default());
                let end = HoldEnd { id, member, rule, model: None, tokens, answered: false };
                book.end(end, now)
            }
        };
        responses::fail_running(connection, id)?;
    }
    changes::write_money(connection, &book.take_changes(), now)?;
    Ok(holds.len() as u64)
}

/// Removes what is kept for a time that is over; gives how many words, responses and runs. What still
/// runs stays; what only says so has failed.
pub(super) fn sweep(connection: &Connection, now: Time) -> Result<u64> {
    let mut query = connection.prepare_cached(
        "SELECT id FROM responses WHERE expires_at <= ?1 \
         AND NOT EXISTS (SELECT 1 FROM holds WHERE holds.member = responses.member \
         AND holds.id = responses.hold) LIMIT ?2",
    )?;
    let over = query.query_map(params![now.micros(), MAX_SWEPT], |row| row.get(0))?;
    let over: Vec<String> = over.collect::<rusqlite::Result<_>>()?;
    for id in &over {
        responses::delete_events(connection, id)?;
        connection.prepare_cached("DELETE FROM responses WHERE id = ?1")?.execute([id])?;
    }
    let mut remove = connection.prepare_cached(
        "DELETE FROM repeats WHERE (lineage, word) IN \
         (SELECT lineage, word FROM repeats WHERE expires_at <= ?1 AND answered LIMIT ?2)",
    )?;
    let repeats = remove.execute(params![now.micros(), MAX_SWEPT])?;
    // Answers go with their words, and are not counted again.
    let mut remove = connection.prepare_cached(
        "DELETE FROM answers WHERE id IN (SELECT id FROM answers WHERE expires_at <= ?1 LIMIT ?2)",
    )?;
    remove.execute(params![now.micros(), MAX_SWEPT])?;
    responses::fail_stray(connection, MAX_SWEPT)?;
    let runs = media::sweep(connection, MAX_SWEPT, now)?;
    let jobs = research::sweep(connection, now)?;
    Ok((over.len() + repeats + runs + jobs) as u64)
}
