//! Rows of the ledger, read from their tables.

use ledger::{
    Account, Book, Hold, HoldId, IdempotencyRecord, Lineage, LineageId, MemberId, Posting,
    PostingKind, Receipt, Time,
};
use rusqlite::{Connection, params};

use super::connection::{ConnectionExt, RowReader};
use crate::error::Result;
use crate::limits::MAX_PAGE;
use crate::records::{self, Columns, HoldUuid, first, hold_id};
use crate::{RelatedReceipts, StatementLine};

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
    db.row(sql, [id.0], |row| records::account(row))
}

pub(super) fn lineage(db: &Connection, id: LineageId) -> Result<Option<Lineage>> {
    let sql = "SELECT lineages.id, lineages.member, spend_limit, requests_per_minute, concurrency, \
               budget, budget_period, iif(budget IS NULL, 0, budget_start), \
               iif(budget IS NULL, 0, budget_charged), iif(budget IS NULL, 0, \
               coalesce(sum(amount) FILTER (WHERE since >= budget_start), 0)), spent, \
               coalesce(sum(amount), 0), count(amount), next_arrival, last_used \
               FROM lineages LEFT JOIN holds ON holds.member = lineages.member AND lineage = ?1 \
               WHERE lineages.id = ?1 GROUP BY lineages.id";
    db.row(sql, [id.0], |row| records::lineage(row))
}

pub(super) fn hold(db: &Connection, member: MemberId, id: HoldId) -> Result<Option<Hold>> {
    let sql = "SELECT id, member, payer, lineage, amount, operation, model, owner, since, \
               lease_until, idempotency FROM holds WHERE member = ?1 AND id = ?2";
    db.row(sql, params![member.0, id.to_bytes()], |row| records::hold(row))
}

pub(super) fn receipt(
    db: &Connection,
    member: Option<MemberId>,
    id: HoldId,
) -> Result<Option<Receipt>> {
    let sql = "SELECT id, member, lineage, charged, rule, operation, model, input_tokens, \
               output_tokens, since, at, payer, attempts FROM receipts WHERE id = ?1";
    let receipt = db.row(sql, [id.to_bytes()], |row| records::receipt(row))?;
    Ok(receipt.filter(|receipt| member.is_none_or(|member| member == receipt.member)))
}

/// Receipts of a member that a team paid, newest first.
pub(super) fn team_receipts(
    db: &Connection,
    member: MemberId,
    before: Option<HoldId>,
    limit: u32,
) -> Result<Vec<Receipt>> {
    let sql = "SELECT id, member, lineage, charged, rule, operation, model, input_tokens, \
               output_tokens, since, at, payer, attempts FROM receipts \
               WHERE member = ?1 AND payer IS NOT NULL AND id < ?2 ORDER BY id DESC LIMIT ?3";
    let before = before.map_or([u8::MAX; 16], HoldId::to_bytes);
    db.rows(sql, params![member.0, before, limit.min(MAX_PAGE)], |row| records::receipt(row))
}

pub(super) fn related(db: &Connection, id: HoldId) -> Result<RelatedReceipts> {
    let sql = "SELECT parent FROM sub_requests WHERE id = ?1";
    let parent = db.row(sql, [id.to_bytes()], |row| hold_id(row))?;
    let sql = "SELECT receipts.id, member, lineage, charged, rule, operation, model, \
               input_tokens, output_tokens, since, at, payer, attempts \
               FROM sub_requests JOIN receipts ON receipts.id = sub_requests.id \
               WHERE parent = ?1 ORDER BY since, receipts.id LIMIT ?2";
    let children = db.rows(sql, params![id.to_bytes(), MAX_PAGE], |row| records::receipt(row))?;
    Ok(RelatedReceipts { parent, children })
}

/// Follows the chain of a member's postings backwards.
pub(super) fn statement(
    db: &Connection,
    member: MemberId,
    before: i64,
    limit: u32,
) -> Result<Vec<StatementLine>> {
    let sql = "SELECT postings.id, postings.at, kind, amount, balance, hold, reason, reference, \
               operation, model, receipts.member, previous \
               FROM postings LEFT JOIN receipts ON receipts.id = postings.hold \
               WHERE postings.id = ?1 AND postings.member = ?2";
    let read = |columns: &mut RowReader<'_>| {
        let line = StatementLine {
            id: columns.take()?,
            posting: posting(columns, member)?,
            operation: columns.take()?,
            model: columns.take()?,
            asked_by: columns.optional_member()?,
        };
        Ok((line, columns.take()?))
    };
    let mut next = posting_before(db, member, before)?;
    let mut lines = Vec::new();
    while let Some(id) = next
        && lines.len() < limit.min(MAX_PAGE) as usize
    {
        let Some((line, previous)) = db.row(sql, [id, member.0], read)? else { break };
        lines.push(line);
        next = previous;
    }
    Ok(lines)
}

/// The last posting of a member with an id below `before`, which usually is a posting of the member.
fn posting_before(db: &Connection, member: MemberId, before: i64) -> Result<Option<i64>> {
    let sql = "SELECT previous FROM postings WHERE id = ?1 AND member = ?2";
    if let Some(previous) = db.row(sql, [before, member.0], |row| first(row))? {
        return Ok(previous);
    }
    let sql = "SELECT last_posting FROM members WHERE id = ?1";
    let mut last: Option<i64> = db.row(sql, [member.0], |row| first(row))?.flatten();
    // Ids always decrease, so that a damaged file cannot cause an endless loop.
    let sql = "SELECT previous FROM postings WHERE id = ?1 AND previous < id";
    while let Some(id) = last
        && id >= before
    {
        last = db.row(sql, [id], |row| first(row))?;
    }
    Ok(last)
}

/// Reads `at, kind, amount, balance, hold, reason, reference`.
fn posting(columns: &mut RowReader<'_>, member: MemberId) -> Result<Posting> {
    let (at, kind) = (columns.time()?, columns.parsed("a kind", PostingKind::parse)?);
    Ok(Posting {
        at,
        kind,
        member,
        house: kind.house(),
        amount: columns.micros()?,
        balance: columns.micros()?,
        hold: columns.take::<Option<HoldUuid>>()?.map(|id| id.0),
        reason: columns.take()?,
        reference: columns.take()?,
    })
}

/// A posting that the rows of its member, key and usage do not include yet.
pub(super) struct UnappliedPosting {
    pub(super) id: i64,
    pub(super) posting: Posting,
    /// The receipt of a charge.
    pub(super) receipt: Option<Receipt>,
}

pub(super) fn unapplied_postings(db: &Connection) -> Result<Vec<UnappliedPosting>> {
    let sql = "SELECT postings.id, postings.member, postings.at, kind, amount, balance, hold, reason, \
               reference, receipts.id IS NOT NULL, receipts.id, receipts.member, lineage, charged, \
               rule, operation, model, input_tokens, output_tokens, since, receipts.at, payer, \
               attempts \
               FROM postings LEFT JOIN receipts ON receipts.id = postings.hold \
               WHERE postings.id > (SELECT posting FROM followed) ORDER BY postings.id";
    db.rows(sql, [], |columns| {
        let (id, member) = (columns.take()?, MemberId(columns.take()?));
        let posting = posting(columns, member)?;
        let has_receipt: bool = columns.take()?;
        let receipt = has_receipt.then(|| records::receipt(columns)).transpose()?;
        Ok(UnappliedPosting { id, posting, receipt })
    })
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
    let sql = "SELECT at, kind, amount, balance, hold, reason, reference FROM postings \
               WHERE member = ?1 AND reference = ?2";
    if let Some(posting) =
        db.row(sql, params![member.0, reference], |columns| posting(columns, member))?
    {
        book.add_referenced_posting(posting);
    }
    Ok(())
}

/// Loads a live hold and the rows that its end changes.
pub(super) fn load_hold(
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

pub(super) fn load_lineage(db: &Connection, book: &mut Book, id: LineageId) -> Result<()> {
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
    let sql = "SELECT body_sha256, hold, answered FROM repeats \
               WHERE lineage = ?1 AND word = ?2 AND (expires_at > ?3 OR NOT answered)";
    let record = db.row(sql, params![lineage.0, key, now.micros()], |columns| {
        let (body_sha256, hold) = (columns.digest()?, columns.hold_id()?);
        let (key, answered) = (key.to_owned(), columns.take()?);
        Ok(IdempotencyRecord { lineage, key, body_sha256, hold, answered })
    })?;
    if let Some(record) = record {
        book.add_idempotency_record(record);
    }
    Ok(())
}
