//! Rows of the ledger, read from their tables.

use ledger::{Account, Book, Hold, HoldId, Lineage, LineageId, MemberId, Posting, Receipt, Time};
use rusqlite::{Connection, params};

use super::connection::ConnectionExt;
use crate::StatementLine;
use crate::audit::AuditTail;
use crate::batch_rows::{LoadedBatch, RowSet};
use crate::error::Result;
use crate::limits::MAX_PAGE;

pub(super) fn account(db: &Connection, id: MemberId) -> Result<Option<Account>> {
    // A member pays for holds without a payer. Its budget covers all of its holds.
    let sql = "SELECT id, balance, coalesce((SELECT sum(amount) FROM holds \
               WHERE member = ?1 AND payer IS NULL), 0) \
               + coalesce((SELECT sum(amount) FROM holds WHERE payer = ?1), 0), \
               blocked, day, day_requests, day_charged, month, month_requests, month_charged, \
               budget, budget_period, iif(budget IS NULL, 0, budget_start), \
               iif(budget IS NULL, 0, budget_charged), iif(budget IS NULL, 0, \
               coalesce((SELECT sum(amount) FROM holds \
               WHERE member = ?1 AND since >= budget_start), 0) \
               + coalesce((SELECT sum(amount) FROM holds \
               WHERE payer = ?1 AND since >= budget_start), 0)), kind, team \
               FROM members WHERE id = ?1";
    db.row(sql, [id.0])
}

pub(super) fn lineage(db: &Connection, id: LineageId) -> Result<Option<Lineage>> {
    let sql = "SELECT lineages.id, lineages.member, spend_limit, requests_per_minute, concurrency, \
               budget, budget_period, iif(budget IS NULL, 0, budget_start), \
               iif(budget IS NULL, 0, budget_charged), iif(budget IS NULL, 0, \
               coalesce(sum(amount) FILTER (WHERE since >= budget_start), 0)), spent, \
               coalesce(sum(amount), 0), count(amount), next_arrival, last_used \
               FROM lineages LEFT JOIN holds ON holds.member = lineages.member AND lineage = ?1 \
               WHERE lineages.id = ?1 GROUP BY lineages.id";
    db.row(sql, [id.0])
}

pub(super) fn hold(db: &Connection, member: MemberId, id: HoldId) -> Result<Option<Hold>> {
    let sql = "SELECT id, member, payer, lineage, amount, operation, model, owner, since, \
               lease_until, idempotency FROM holds WHERE member = ?1 AND id = ?2";
    db.row(sql, params![member.0, id.to_bytes()])
}

fn has_receipt(db: &Connection, id: HoldId) -> Result<bool> {
    let sql = "SELECT true FROM receipts WHERE id = ?1";
    Ok(db.row::<bool>(sql, [id.to_bytes()])?.is_some())
}

/// Follows the chain of a member's postings backwards.
pub(super) fn statement(
    db: &Connection,
    member: MemberId,
    before: i64,
    limit: u32,
) -> Result<Vec<StatementLine>> {
    let sql = "SELECT p.id, p.at, p.kind, p.member, p.amount, p.balance, p.hold, p.reason, \
               p.reference, r.operation, r.model, r.member, p.previous \
               FROM postings p LEFT JOIN receipts r ON r.id = p.hold \
               WHERE p.id = ?1 AND p.member = ?2";
    let mut next = posting_before(db, member, before)?;
    let mut lines = Vec::new();
    while let Some(id) = next
        && lines.len() < limit.min(MAX_PAGE) as usize
    {
        let found: Option<(StatementLine, Option<i64>)> = db.row(sql, [id, member.0])?;
        let Some((line, previous)) = found else { break };
        lines.push(line);
        next = previous;
    }
    Ok(lines)
}

/// The last posting of a member with an id below `before`, which usually is a posting of the member.
fn posting_before(db: &Connection, member: MemberId, before: i64) -> Result<Option<i64>> {
    let sql = "SELECT previous FROM postings WHERE id = ?1 AND member = ?2";
    if let Some(previous) = db.row(sql, [before, member.0])? {
        return Ok(previous);
    }
    let sql = "SELECT last_posting FROM members WHERE id = ?1";
    let mut last: Option<i64> = db.row(sql, [member.0])?.flatten();
    // Ids always decrease, so that a damaged file cannot cause an endless loop.
    let sql = "SELECT previous FROM postings WHERE id = ?1 AND previous < id";
    while let Some(id) = last
        && id >= before
    {
        last = db.row(sql, [id])?;
    }
    Ok(last)
}

/// Postings that the rows of their members, keys and usage do not include yet, each with its id and the
/// receipt of a charge.
pub(super) fn unapplied_postings(db: &Connection) -> Result<Vec<(i64, Posting, Option<Receipt>)>> {
    let sql = "SELECT p.id, p.at, p.kind, p.member, p.amount, p.balance, p.hold, p.reason, \
               p.reference, r.id, r.member, r.lineage, r.charged, r.rule, r.operation, r.model, \
               r.input_tokens, r.output_tokens, r.since, r.at, r.payer, r.attempts \
               FROM postings p LEFT JOIN receipts r ON r.id = p.hold \
               WHERE p.id > (SELECT posting FROM followed) ORDER BY p.id";
    db.rows(sql, [])
}

pub(super) fn load_referenced_posting(
    db: &Connection,
    book: &mut Book,
    member: MemberId,
    reference: &str,
) -> Result<()> {
    if book.has_referenced_posting(member, reference) {
        return Ok(());
    }
    let sql = "SELECT at, kind, member, amount, balance, hold, reason, reference FROM postings \
               WHERE member = ?1 AND reference = ?2";
    if let Some(posting) = db.row(sql, params![member.0, reference])? {
        book.add_referenced_posting(posting);
    }
    Ok(())
}

/// Loads rows for a transaction that does not use the cache of the writer.
pub(super) fn load(db: &Connection, needed: &RowSet, now: Time) -> Result<LoadedBatch> {
    let mut book = Book::default();
    for member in &needed.members {
        load_member(db, &mut book, *member)?;
    }
    for lineage in &needed.lineages {
        load_lineage(db, &mut book, *lineage)?;
    }
    for (id, member) in &needed.holds {
        load_hold(db, &mut book, *member, *id, now)?;
    }
    for (lineage, key) in &needed.idempotency_keys {
        load_idempotency_record(db, &mut book, *lineage, key, now)?;
    }
    let mut used_ids = Vec::new();
    for (id, member) in &needed.new_holds {
        if hold(db, *member, *id)?.is_some() || has_receipt(db, *id)? {
            used_ids.push(*id);
        }
    }
    Ok(LoadedBatch { book, now, used_ids, audit_tail: AuditTail::default() })
}

/// Loads a live hold and the rows that its end changes.
fn load_hold(
    db: &Connection,
    book: &mut Book,
    member: MemberId,
    id: HoldId,
    now: Time,
) -> Result<()> {
    if !book.has_hold(id) {
        let Some(hold) = hold(db, member, id)? else { return Ok(()) };
        load_member(db, book, hold.member)?;
        load_account(db, book, hold.payer)?;
        load_lineage(db, book, hold.lineage)?;
        book.add_hold(hold);
    }
    load_key_of_hold(db, book, id, now)
}

/// Loads the idempotency record of a live hold.
pub(super) fn load_key_of_hold(
    db: &Connection,
    book: &mut Book,
    id: HoldId,
    now: Time,
) -> Result<()> {
    if let Some((lineage, key)) = book.idempotency_key_of(id) {
        let key = key.to_owned();
        load_idempotency_record(db, book, lineage, &key, now)?;
    }
    Ok(())
}

/// Loads the account of a member, and that of its team.
pub(super) fn load_member(db: &Connection, book: &mut Book, id: MemberId) -> Result<()> {
    load_account(db, book, id)?;
    match book.account(id).and_then(|account| account.team) {
        Some(team) => load_account(db, book, team),
        None => Ok(()),
    }
}

pub(super) fn load_account(db: &Connection, book: &mut Book, id: MemberId) -> Result<()> {
    if book.account(id).is_none()
        && let Some(account) = account(db, id)?
    {
        book.add_account(account);
    }
    Ok(())
}

fn load_lineage(db: &Connection, book: &mut Book, id: LineageId) -> Result<()> {
    if book.lineage(id).is_none()
        && let Some(lineage) = lineage(db, id)?
    {
        book.add_lineage(lineage);
    }
    Ok(())
}

/// Loads the record of an idempotency key that is in use or has not expired.
pub(super) fn load_idempotency_record(
    db: &Connection,
    book: &mut Book,
    lineage: LineageId,
    key: &str,
    now: Time,
) -> Result<()> {
    if book.has_idempotency_record(lineage, key) {
        return Ok(());
    }
    let sql = "SELECT lineage, word, body_sha256, hold, answered FROM repeats \
               WHERE lineage = ?1 AND word = ?2 AND (expires_at > ?3 OR NOT answered)";
    if let Some(record) = db.row(sql, params![lineage.0, key, now.micros()])? {
        book.add_idempotency_record(record);
    }
    Ok(())
}
