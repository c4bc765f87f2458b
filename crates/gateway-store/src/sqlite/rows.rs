//! Rows of the ledger, read from their tables.

use ledger::{
    Account, AccountKind, Book, Budget, BudgetUse, ChargeRule, Hold, HoldId, IdempotencyRecord,
    LimitStatus, Limits, Lineage, LineageId, MemberId, Micros, Period, Posting, PostingKind,
    Receipt, Time, TokenCounts, Usage, UsagePeriod,
};
use rusqlite::types::Type;
use rusqlite::{Connection, Row, params};

use super::connection::ConnectionExt;
use crate::error::Result;
use crate::limits::MAX_PAGE;
use crate::{RelatedReceipts, StatementLine};

pub(super) fn account(db: &Connection, id: MemberId) -> Result<Option<Account>> {
    // A member pays for holds without a payer. Its budget covers all of its holds.
    let sql = "SELECT balance, coalesce((SELECT sum(amount) FROM holds \
               WHERE member = ?1 AND payer IS NULL), 0) \
               + coalesce((SELECT sum(amount) FROM holds WHERE payer = ?1), 0), \
               blocked, day, day_requests, day_charged, month, month_requests, month_charged, \
               budget, budget_period, budget_start, budget_charged, \
               coalesce((SELECT sum(amount) FROM holds \
               WHERE member = ?1 AND since >= budget_start), 0) \
               + coalesce((SELECT sum(amount) FROM holds \
               WHERE payer = ?1 AND since >= budget_start), 0), kind, team \
               FROM members WHERE id = ?1";
    db.row(sql, [id.0], |row| {
        let period = |first| -> rusqlite::Result<UsagePeriod> {
            Ok(UsagePeriod {
                number: row.get(first)?,
                requests: row.get(first + 1)?,
                charged: micros(row, first + 2)?,
            })
        };
        Ok(Account {
            id,
            kind: kind(row, 14)?,
            team: row.get::<_, Option<i64>>(15)?.map(MemberId),
            balance: micros(row, 0)?,
            held: micros(row, 1)?,
            blocked: row.get(2)?,
            usage: Usage { day: period(3)?, month: period(6)? },
            budget: budget(row, 9)?,
            budget_use: budget_use(row, 9)?,
        })
    })
}

pub(super) fn lineage(db: &Connection, id: LineageId) -> Result<Option<Lineage>> {
    let sql = "SELECT lineages.member, spend_limit, requests_per_minute, concurrency, budget, \
               budget_period, budget_start, budget_charged, \
               sum(amount) FILTER (WHERE since >= budget_start), spent, \
               coalesce(sum(amount), 0), count(amount), next_arrival, last_used \
               FROM lineages LEFT JOIN holds ON holds.member = lineages.member AND lineage = ?1 \
               WHERE lineages.id = ?1 GROUP BY lineages.id";
    db.row(sql, [id.0], |row| {
        Ok(Lineage {
            id,
            member: MemberId(row.get(0)?),
            limits: limits(row, 1)?,
            spent: micros(row, 9)?,
            held: micros(row, 10)?,
            running: row.get(11)?,
            next_arrival: time(row, 12)?,
            budget_use: budget_use(row, 4)?,
            last_used: time(row, 13)?,
        })
    })
}

pub(super) fn hold(db: &Connection, member: MemberId, id: HoldId) -> Result<Option<Hold>> {
    let sql = "SELECT lineage, amount, operation, model, owner, since, lease_until, idempotency, \
               payer FROM holds WHERE member = ?1 AND id = ?2";
    db.row(sql, params![member.0, id.to_bytes()], |row| {
        Ok(Hold {
            id,
            member,
            payer: payer(row, 8, member)?,
            lineage: LineageId(row.get(0)?),
            amount: micros(row, 1)?,
            operation: row.get(2)?,
            model: row.get(3)?,
            owner: row.get(4)?,
            since: time(row, 5)?,
            lease_until: time(row, 6)?,
            idempotency: row.get(7)?,
            limits: LimitStatus::default(),
        })
    })
}

pub(super) fn receipt(
    db: &Connection,
    member: Option<MemberId>,
    id: HoldId,
) -> Result<Option<Receipt>> {
    let sql = "SELECT id, member, lineage, charged, rule, operation, model, input_tokens, \
               output_tokens, since, at, payer, attempts FROM receipts WHERE id = ?1";
    let receipt = db.row(sql, [id.to_bytes()], |row| read_receipt(row, 0))?;
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
    db.rows(sql, params![member.0, before, limit.min(MAX_PAGE)], |row| read_receipt(row, 0))
}

pub(super) fn related(db: &Connection, id: HoldId) -> Result<RelatedReceipts> {
    let sql = "SELECT parent FROM sub_requests WHERE id = ?1";
    let parent = db.row(sql, [id.to_bytes()], |row| hold_id(row, 0))?;
    let sql = "SELECT receipts.id, member, lineage, charged, rule, operation, model, \
               input_tokens, output_tokens, since, at, payer, attempts \
               FROM sub_requests JOIN receipts ON receipts.id = sub_requests.id \
               WHERE parent = ?1 ORDER BY since, receipts.id LIMIT ?2";
    let children = db.rows(sql, params![id.to_bytes(), MAX_PAGE], |row| read_receipt(row, 0))?;
    Ok(RelatedReceipts { parent, children })
}

/// Reads the columns of a receipt, from this one on.
fn read_receipt(row: &Row<'_>, first: usize) -> rusqlite::Result<Receipt> {
    let rule: String = row.get(first + 4)?;
    let member = MemberId(row.get(first + 1)?);
    Ok(Receipt {
        id: hold_id(row, first)?,
        member,
        payer: payer(row, first + 11, member)?,
        lineage: LineageId(row.get(first + 2)?),
        charged: micros(row, first + 3)?,
        rule: ChargeRule::parse(&rule).ok_or_else(|| unknown(first + 4, &rule))?,
        operation: row.get(first + 5)?,
        model: row.get(first + 6)?,
        tokens: TokenCounts { input: row.get(first + 7)?, output: row.get(first + 8)? },
        attempts: row.get(first + 12)?,
        since: time(row, first + 9)?,
        at: time(row, first + 10)?,
    })
}

/// Follows the chain of a member's postings backwards.
pub(super) fn statement(
    db: &Connection,
    member: MemberId,
    before: i64,
    limit: u32,
) -> Result<Vec<StatementLine>> {
    let sql = "SELECT postings.at, kind, amount, balance, hold, reason, reference, postings.id, \
               operation, model, previous, receipts.member \
               FROM postings LEFT JOIN receipts ON receipts.id = postings.hold \
               WHERE postings.id = ?1 AND postings.member = ?2";
    let read = |row: &Row<'_>| {
        let posting = posting(row, member)?;
        let (id, operation, model) = (row.get(7)?, row.get(8)?, row.get(9)?);
        let asked_by = row.get::<_, Option<i64>>(11)?.map(MemberId);
        Ok((StatementLine { id, posting, operation, model, asked_by }, row.get(10)?))
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
    if let Some(previous) = db.row(sql, [before, member.0], |row| row.get(0))? {
        return Ok(previous);
    }
    let sql = "SELECT last_posting FROM members WHERE id = ?1";
    let mut last: Option<i64> = db.row(sql, [member.0], |row| row.get(0))?.flatten();
    // Ids always decrease, so that a damaged file cannot cause an endless loop.
    let sql = "SELECT previous FROM postings WHERE id = ?1 AND previous < id";
    while let Some(id) = last
        && id >= before
    {
        last = db.row(sql, [id], |row| row.get(0))?;
    }
    Ok(last)
}

/// Reads `at, kind, amount, balance, hold, reason, reference`.
fn posting(row: &Row<'_>, member: MemberId) -> rusqlite::Result<Posting> {
    let kind: String = row.get(1)?;
    let kind = PostingKind::parse(&kind).ok_or_else(|| unknown(1, &kind))?;
    let hold: Option<[u8; 16]> = row.get(4)?;
    Ok(Posting {
        at: time(row, 0)?,
        kind,
        member,
        house: kind.house(),
        amount: micros(row, 2)?,
        balance: micros(row, 3)?,
        hold: hold.map(HoldId::from_bytes),
        reason: row.get(5)?,
        reference: row.get(6)?,
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
    let sql = "SELECT postings.at, kind, amount, balance, hold, reason, reference, postings.id, \
               postings.member, receipts.id, receipts.member, lineage, charged, rule, operation, \
               model, input_tokens, output_tokens, since, receipts.at, payer, attempts \
               FROM postings LEFT JOIN receipts ON receipts.id = postings.hold \
               WHERE postings.id > (SELECT posting FROM followed) ORDER BY postings.id";
    db.rows(sql, [], |row| {
        let posting = posting(row, MemberId(row.get(8)?))?;
        let has_receipt = row.get::<_, Option<[u8; 16]>>(9)?.is_some();
        let receipt = has_receipt.then(|| read_receipt(row, 9)).transpose()?;
        Ok(UnappliedPosting { id: row.get(7)?, posting, receipt })
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
    if let Some(posting) = db.row(sql, params![member.0, reference], |row| posting(row, member))? {
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
    let record = db.row(sql, params![lineage.0, key, now.micros()], |row| {
        let (body_sha256, hold, answered) = (row.get(0)?, hold_id(row, 1)?, row.get(2)?);
        Ok(IdempotencyRecord { lineage, key: key.to_owned(), body_sha256, hold, answered })
    })?;
    if let Some(record) = record {
        book.add_idempotency_record(record);
    }
    Ok(())
}

/// Reads `spend_limit, requests_per_minute, concurrency, budget, budget_period`.
pub(super) fn limits(row: &Row<'_>, first: usize) -> rusqlite::Result<Limits> {
    let spend: Option<i64> = row.get(first)?;
    Ok(Limits {
        spend: spend.map(Micros::new),
        requests_per_minute: row.get(first + 1)?,
        concurrency: row.get(first + 2)?,
        budget: budget(row, first + 3)?,
    })
}

/// Reads `budget, budget_period`.
pub(super) fn budget(row: &Row<'_>, first: usize) -> rusqlite::Result<Option<Budget>> {
    let (amount, period): (Option<i64>, Option<String>) = (row.get(first)?, row.get(first + 1)?);
    let (Some(amount), Some(period)) = (amount, period) else { return Ok(None) };
    let period = Period::parse(&period).ok_or_else(|| unknown(first + 1, &period))?;
    Ok(Some(Budget { amount: Micros::new(amount), period }))
}

/// Reads `budget, budget_period, budget_start, budget_charged`, and what is held since then.
fn budget_use(row: &Row<'_>, first: usize) -> rusqlite::Result<BudgetUse> {
    if budget(row, first)?.is_none() {
        return Ok(BudgetUse::default());
    }
    let held: Option<i64> = row.get(first + 4)?;
    let (start, charged) = (time(row, first + 2)?, micros(row, first + 3)?);
    Ok(BudgetUse { start, charged, held: Micros::new(held.unwrap_or_default()) })
}

/// Reads the account that pays for a request of this member.
fn payer(row: &Row<'_>, column: usize, member: MemberId) -> rusqlite::Result<MemberId> {
    Ok(row.get::<_, Option<i64>>(column)?.map_or(member, MemberId))
}

pub(super) fn kind(row: &Row<'_>, column: usize) -> rusqlite::Result<AccountKind> {
    let kind: String = row.get(column)?;
    AccountKind::parse(&kind).ok_or_else(|| unknown(column, &kind))
}

pub(super) fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Time> {
    row.get(column).map(Time::from_micros)
}

pub(super) fn optional_time(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Time>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Time::from_micros))
}

pub(super) fn hold_id(row: &Row<'_>, column: usize) -> rusqlite::Result<HoldId> {
    row.get(column).map(HoldId::from_bytes)
}

fn micros(row: &Row<'_>, column: usize) -> rusqlite::Result<Micros> {
    row.get(column).map(Micros::new)
}

/// A text that no version of this program writes.
pub(super) fn unknown(column: usize, text: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(
        column,
        Type::Text,
        format!("unknown value {text:?}").into(),
    )
}
