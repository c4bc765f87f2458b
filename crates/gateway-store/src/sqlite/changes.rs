//! Writes what a batch came to.

use ledger::{Account, Changes, Hold, Lineage, Posting, Receipt, Repeat, Time};
use rusqlite::{Connection, params};

use super::{audit, media};
use crate::backend::Result;
use crate::batch::Applied;
use crate::{Answer, StoredResponse};

/// Writes all of it, inside a transaction. Idempotency keys and answers are kept until then.
pub(super) fn write(connection: &Connection, applied: &Applied, until: Time) -> Result<()> {
    write_money(connection, &applied.changes, until)?;
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

/// Writes what the ledger changed, inside a transaction.
pub(super) fn write_money(connection: &Connection, changes: &Changes, until: Time) -> Result<()> {
    write_accounts(connection, &changes.accounts)?;
    write_lineages(connection, &changes.lineages)?;
    write_holds(connection, &changes.begun)?;
    if !changes.ended.is_empty() {
        let mut remove = connection.prepare_cached("DELETE FROM holds WHERE id = ?1")?;
        for id in &changes.ended {
            remove.execute([id.to_bytes()])?;
        }
    }
    write_receipts(connection, &changes.receipts)?;
    write_postings(connection, &changes.postings)?;
    write_repeats(connection, changes, until)
}

fn write_accounts(connection: &Connection, accounts: &[Account]) -> Result<()> {
    if accounts.is_empty() {
        return Ok(());
    }
    let mut update = connection.prepare_cached(
        "UPDATE members SET balance = ?2, held = ?3, day = ?4, day_requests = ?5, \
         day_charged = ?6, month = ?7, month_requests = ?8, month_charged = ?9 WHERE id = ?1",
    )?;
    for account in accounts {
        let (day, month) = (account.usage.day, account.usage.month);
        update.execute(params![
            account.id.0,
            account.balance.get(),
            account.held.get(),
            day.number,
            day.requests,
            day.charged.get(),
            month.number,
            month.requests,
            month.charged.get(),
        ])?;
    }
    Ok(())
}

fn write_lineages(connection: &Connection, lineages: &[Lineage]) -> Result<()> {
    if lineages.is_empty() {
        return Ok(());
    }
    // A rate only ever moves on: free requests that were counted meanwhile are not lost.
    let mut update = connection.prepare_cached(
        "UPDATE lineages SET spent = ?2, held = ?3, running = ?4, \
         next_arrival = max(next_arrival, ?5) WHERE id = ?1",
    )?;
    for lineage in lineages {
        update.execute(params![
            lineage.id.0,
            lineage.spent.get(),
            lineage.held.get(),
            lineage.running,
            lineage.next_arrival.micros(),
        ])?;
    }
    Ok(())
}

fn write_holds(connection: &Connection, holds: &[Hold]) -> Result<()> {
    if holds.is_empty() {
        return Ok(());
    }
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
            receipt.rule.word(),
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

fn write_postings(connection: &Connection, postings: &[Posting]) -> Result<()> {
    if postings.is_empty() {
        return Ok(());
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO postings (at, kind, member, amount, balance, hold, reason, reference) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    for posting in postings {
        insert.execute(params![
            posting.at.micros(),
            posting.kind.word(),
            posting.member.0,
            posting.amount.get(),
            posting.balance.get(),
            posting.hold.map(ledger::HoldId::to_bytes),
            posting.reason,
            posting.reference,
        ])?;
    }
    Ok(())
}

fn write_repeats(connection: &Connection, changes: &Changes, until: Time) -> Result<()> {
    for Repeat { lineage, word, body_sha256, hold, answered } in &changes.repeats {
        // The same hold keeps its end; a later one takes the word over.
        let mut upsert = connection.prepare_cached(
            "INSERT INTO repeats VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET \
             body_sha256 = excluded.body_sha256, answered = excluded.answered, \
             expires_at = iif(hold = excluded.hold, expires_at, excluded.expires_at), \
             hold = excluded.hold",
        )?;
        let expires_at = until.micros();
        let hold = hold.to_bytes();
        upsert.execute(params![lineage.0, word, body_sha256, hold, answered, expires_at])?;
    }
    for (lineage, word) in &changes.forgotten {
        let mut remove =
            connection.prepare_cached("DELETE FROM repeats WHERE lineage = ?1 AND word = ?2")?;
        remove.execute(params![lineage.0, word])?;
    }
    Ok(())
}

fn write_answer(
    connection: &Connection,
    hold: &[u8; 16],
    answer: &Answer,
    until: Time,
) -> Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO answers (hold, status, content_type, body, expires_at) \
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    let expires_at = until.micros();
    let Answer { status, content_type, body } = answer;
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
