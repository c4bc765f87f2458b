//! Writes what a batch came to.
//!
//! Entries are added and removed, and are written at once: postings, receipts, idempotency keys. The
//! rows of members, keys and holds may follow: see `arrears`.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use ledger::{
    Account, Changes, Hold, HoldId, IdempotencyRecord, Lineage, MemberId, Posting, Receipt, Time,
};
use rusqlite::{Connection, params};

use super::{audit, media};
use crate::backend::Result;
use crate::batch::Applied;
use crate::{Error, SavedAnswer, StoredResponse};

/// The last posting of each member, where it is known.
pub(super) type LastPostings = HashMap<MemberId, i64, RandomState>;

/// Writes the entries of a batch but its holds, inside a transaction. Idempotency keys and answers are
/// kept until then.
pub(super) fn write_entries(
    connection: &Connection,
    applied: &Applied,
    until: Time,
    last: &mut LastPostings,
) -> Result<()> {
    write_money_entries(connection, &applied.changes, until, last)?;
    for (hold, answer) in applied.answers() {
        write_answer(connection, &hold.to_bytes(), answer, until)?;
    }
    for response in applied.responses() {
        write_response(connection, response)?;
    }
    for run in applied.media() {
        media::write(connection, run)?;
    }
    for (posting, actor) in &applied.audited {
        audit::posted(connection, posting, actor)?;
    }
    Ok(())
}

/// Writes what the ledger changed, entries and rows, inside a transaction that began with rows that
/// tell of all postings.
pub(super) fn write_money(connection: &Connection, changes: &Changes, until: Time) -> Result<()> {
    let mut last = LastPostings::default();
    write_money_entries(connection, changes, until, &mut last)?;
    write_holds(connection, &changes.opened_holds)?;
    remove_holds(connection, &changes.ended_holds)?;
    write_accounts(connection, &changes.accounts, &last)?;
    write_lineages(connection, &changes.lineages)
}

fn write_money_entries(
    connection: &Connection,
    changes: &Changes,
    until: Time,
    last: &mut LastPostings,
) -> Result<()> {
    write_postings(connection, &changes.postings, last)?;
    write_receipts(connection, &changes.receipts)?;
    write_repeats(connection, changes, until)
}

pub(super) fn write_accounts<'a>(
    connection: &Connection,
    accounts: impl IntoIterator<Item = &'a Account>,
    last: &LastPostings,
) -> Result<()> {
    let mut update = connection.prepare_cached(
        "UPDATE members SET balance = ?2, day = ?3, day_requests = ?4, day_charged = ?5, \
         month = ?6, month_requests = ?7, month_charged = ?8, \
         last_posting = coalesce(?9, last_posting) WHERE id = ?1",
    )?;
    for account in accounts {
        let (day, month) = (account.usage.day, account.usage.month);
        update.execute(params![
            account.id.0,
            account.balance.get(),
            day.number,
            day.requests,
            day.charged.get(),
            month.number,
            month.requests,
            month.charged.get(),
            last.get(&account.id),
        ])?;
    }
    Ok(())
}

pub(super) fn write_lineages<'a>(
    connection: &Connection,
    lineages: impl IntoIterator<Item = &'a Lineage>,
) -> Result<()> {
    // A rate only ever moves on: free requests that were counted meanwhile are not lost.
    let mut update = connection.prepare_cached(
        "UPDATE lineages SET spent = ?2, next_arrival = max(next_arrival, ?3) WHERE id = ?1",
    )?;
    for lineage in lineages {
        let (spent, next_arrival) = (lineage.spent.get(), lineage.next_arrival.micros());
        update.execute([lineage.id.0, spent, next_arrival])?;
    }
    Ok(())
}

pub(super) fn write_holds<'a>(
    connection: &Connection,
    holds: impl IntoIterator<Item = &'a Hold>,
) -> Result<()> {
    let mut insert = connection
        .prepare_cached("INSERT INTO holds VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?;
    for hold in holds {
        insert.execute(params![
            hold.id.to_bytes(),
            hold.member.0,
            hold.lineage.0,
            hold.amount.get(),
            hold.operation,
            hold.model,
            hold.owner,
            hold.since.micros(),
            hold.lease_until.micros(),
            hold.idempotency,
        ])?;
    }
    Ok(())
}

/// Writes holds whose rows follow later, all of them in one row.
pub(super) fn open_holds(connection: &Connection, holds: &[Hold]) -> Result<()> {
    if holds.is_empty() {
        return Ok(());
    }
    let lists: Vec<_> = holds
        .iter()
        .map(|hold| {
            (
                hold.id.digits(),
                hold.member,
                hold.lineage,
                hold.amount.get(),
                hold.operation.as_ref(),
                hold.model.as_deref(),
                hold.owner,
                hold.since.micros(),
                hold.lease_until.micros(),
                hold.idempotency.as_deref(),
            )
        })
        .collect();
    let lists = serde_json::to_string(&lists).map_err(|error| Error::Refused(error.into()))?;
    connection.prepare_cached("INSERT INTO opened (holds) VALUES (?1)")?.execute([lists])?;
    Ok(())
}

pub(super) fn remove_holds<'a>(
    connection: &Connection,
    ended: impl IntoIterator<Item = &'a (MemberId, HoldId)>,
) -> Result<()> {
    let mut remove =
        connection.prepare_cached("DELETE FROM holds WHERE member = ?1 AND id = ?2")?;
    for (member, id) in ended {
        remove.execute(params![member.0, id.to_bytes()])?;
    }
    Ok(())
}

fn write_receipts(connection: &Connection, receipts: &[Receipt]) -> Result<()> {
    if receipts.is_empty() {
        return Ok(());
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO receipts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?;
    for receipt in receipts {
        insert.execute(params![
            receipt.id.to_bytes(),
            receipt.member.0,
            receipt.lineage.0,
            receipt.charged.get(),
            receipt.rule.as_str(),
            receipt.operation,
            receipt.model,
            receipt.tokens.input,
            receipt.tokens.output,
            receipt.since.micros(),
            receipt.at.micros(),
        ])?;
    }
    Ok(())
}

/// Adds postings, each with the one before it of its member, which the member's row names if it is
/// not known here.
fn write_postings(
    connection: &Connection,
    postings: &[Posting],
    last: &mut LastPostings,
) -> Result<()> {
    if postings.is_empty() {
        return Ok(());
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO postings \
         (at, kind, member, amount, balance, hold, reason, reference, previous) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, \
         coalesce(?9, (SELECT last_posting FROM members WHERE id = ?3)))",
    )?;
    for posting in postings {
        let id = insert.insert(params![
            posting.at.micros(),
            posting.kind.as_str(),
            posting.member.0,
            posting.amount.get(),
            posting.balance.get(),
            posting.hold.map(HoldId::to_bytes),
            posting.reason,
            posting.reference,
            last.get(&posting.member),
        ])?;
        last.insert(posting.member, id);
    }
    Ok(())
}

fn write_repeats(connection: &Connection, changes: &Changes, until: Time) -> Result<()> {
    for IdempotencyRecord { lineage, key, body_sha256, hold, answered } in &changes.idempotency {
        // The same hold keeps its end; a later one takes the word over.
        let mut upsert = connection.prepare_cached(
            "INSERT INTO repeats VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET \
             body_sha256 = excluded.body_sha256, answered = excluded.answered, \
             expires_at = iif(hold = excluded.hold, expires_at, excluded.expires_at), \
             hold = excluded.hold",
        )?;
        let expires_at = until.micros();
        let hold = hold.to_bytes();
        upsert.execute(params![lineage.0, key, body_sha256, hold, answered, expires_at])?;
    }
    for (lineage, word) in &changes.deleted_idempotency {
        let mut remove =
            connection.prepare_cached("DELETE FROM repeats WHERE lineage = ?1 AND word = ?2")?;
        remove.execute(params![lineage.0, word])?;
    }
    Ok(())
}

fn write_answer(
    connection: &Connection,
    hold: &[u8; 16],
    answer: &SavedAnswer,
    until: Time,
) -> Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO answers (hold, status, content_type, body, expires_at) \
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    let expires_at = until.micros();
    let SavedAnswer { status, content_type, body } = answer;
    insert.execute(params![hold, status, content_type, body, expires_at])?;
    Ok(())
}

fn write_response(connection: &Connection, response: &StoredResponse) -> Result<()> {
    let mut upsert = connection.prepare_cached(
        "INSERT INTO responses (id, member, lineage, hold, status, body, input, previous, \
         background, created_at, expires_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (id) DO UPDATE SET \
         status = excluded.status, body = excluded.body, input = excluded.input, \
         previous = excluded.previous, expires_at = excluded.expires_at",
    )?;
    upsert.execute(params![
        response.id,
        response.member.0,
        response.lineage.0,
        response.hold.to_bytes(),
        response.status,
        response.body,
        response.input,
        response.previous,
        response.background,
        response.created_at.micros(),
        response.expires_at.micros(),
    ])?;
    Ok(())
}
