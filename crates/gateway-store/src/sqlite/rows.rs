//! The rows that money is decided by, read from their tables.

use ledger::{
    Account, Book, ChargeRule, Hold, HoldId, IdempotencyRecord, Limits, Lineage, LineageId,
    MemberId, Micros, Posting, PostingKind, Receipt, Time, TokenCounts, Usage, UsagePeriod,
};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::StatementLine;
use crate::backend::Result;

/// The most lines of a list that are read at once.
pub(super) const MAX_PAGE: u32 = 1000;

type Read<T> = rusqlite::Result<T>;

pub(super) fn account(connection: &Connection, id: MemberId) -> Result<Option<Account>> {
    let mut query = connection.prepare_cached(
        "SELECT balance, (SELECT coalesce(sum(amount), 0) FROM holds WHERE member = ?1), blocked, \
         day, day_requests, day_charged, month, month_requests, month_charged \
         FROM members WHERE id = ?1",
    )?;
    let read = |row: &Row<'_>| {
        let period = |first| -> Read<UsagePeriod> {
            Ok(UsagePeriod {
                number: row.get(first)?,
                requests: row.get(first + 1)?,
                charged: micros(row, first + 2)?,
            })
        };
        Ok(Account {
            id,
            balance: micros(row, 0)?,
            held: micros(row, 1)?,
            blocked: row.get(2)?,
            usage: Usage { day: period(3)?, month: period(6)? },
        })
    };
    Ok(query.query_row([id.0], read).optional()?)
}

pub(super) fn lineage(connection: &Connection, id: LineageId) -> Result<Option<Lineage>> {
    let mut query = connection.prepare_cached(
        "SELECT lineages.member, spend_limit, requests_per_minute, concurrency, spent, \
         coalesce(sum(amount), 0), count(amount), next_arrival \
         FROM lineages LEFT JOIN holds ON holds.member = lineages.member AND lineage = ?1 \
         WHERE lineages.id = ?1 GROUP BY lineages.id",
    )?;
    let read = |row: &Row<'_>| {
        Ok(Lineage {
            id,
            member: MemberId(row.get(0)?),
            limits: limits(row, 1)?,
            spent: micros(row, 4)?,
            held: micros(row, 5)?,
            running: row.get(6)?,
            next_arrival: time(row, 7)?,
        })
    };
    Ok(query.query_row([id.0], read).optional()?)
}

pub(super) fn hold(connection: &Connection, member: MemberId, id: HoldId) -> Result<Option<Hold>> {
    let mut query = connection.prepare_cached(
        "SELECT lineage, amount, operation, model, owner, since, lease_until, idempotency \
         FROM holds WHERE member = ?1 AND id = ?2",
    )?;
    let read = |row: &Row<'_>| {
        Ok(Hold {
            id,
            member,
            lineage: LineageId(row.get(0)?),
            amount: micros(row, 1)?,
            operation: row.get(2)?,
            model: row.get(3)?,
            owner: row.get(4)?,
            since: time(row, 5)?,
            lease_until: time(row, 6)?,
            idempotency: row.get(7)?,
            rate_limit: None,
        })
    };
    Ok(query.query_row(params![member.0, id.to_bytes()], read).optional()?)
}

/// An idempotency key whose request runs, or whose time is not over.
pub(super) fn repeat(
    connection: &Connection,
    lineage: LineageId,
    word: &str,
    now: Time,
) -> Result<Option<IdempotencyRecord>> {
    let mut query = connection.prepare_cached(
        "SELECT body_sha256, hold, answered FROM repeats \
         WHERE lineage = ?1 AND word = ?2 AND (expires_at > ?3 OR NOT answered)",
    )?;
    let read = |row: &Row<'_>| {
        Ok(IdempotencyRecord {
            lineage,
            key: word.to_owned(),
            body_sha256: row.get(0)?,
            hold: hold_id(row, 1)?,
            answered: row.get(2)?,
        })
    };
    Ok(query.query_row(params![lineage.0, word, now.micros()], read).optional()?)
}

pub(super) fn receipt(
    connection: &Connection,
    member: Option<MemberId>,
    id: HoldId,
) -> Result<Option<Receipt>> {
    let mut query = connection.prepare_cached(
        "SELECT member, lineage, charged, rule, operation, model, input_tokens, output_tokens, \
         since, at FROM receipts WHERE id = ?1",
    )?;
    let read = |row: &Row<'_>| {
        let rule: String = row.get(3)?;
        Ok(Receipt {
            id,
            member: MemberId(row.get(0)?),
            lineage: LineageId(row.get(1)?),
            charged: micros(row, 2)?,
            rule: ChargeRule::parse(&rule).ok_or_else(|| unknown(3, &rule))?,
            operation: row.get(4)?,
            model: row.get(5)?,
            tokens: TokenCounts { input: row.get(6)?, output: row.get(7)? },
            since: time(row, 8)?,
            at: time(row, 9)?,
        })
    };
    let receipt = query.query_row([id.to_bytes()], read).optional()?;
    Ok(receipt.filter(|receipt| member.is_none_or(|member| member == receipt.member)))
}

pub(super) fn statement(
    connection: &Connection,
    member: MemberId,
    before: i64,
    limit: u32,
) -> Result<Vec<StatementLine>> {
    let mut query = connection.prepare_cached(
        "SELECT postings.at, kind, amount, balance, hold, reason, reference, postings.id, \
         operation, model, previous \
         FROM postings LEFT JOIN receipts ON receipts.id = postings.hold \
         WHERE postings.id = ?1 AND postings.member = ?2",
    )?;
    let read = |row: &Row<'_>| {
        let posting = posting(row, member)?;
        let (operation, model) = (row.get(8)?, row.get(9)?);
        Ok((StatementLine { id: row.get(7)?, posting, operation, model }, row.get(10)?))
    };
    let mut next = posting_before(connection, member, before)?;
    let mut lines = Vec::new();
    while let Some(id) = next
        && lines.len() < limit.min(MAX_PAGE) as usize
    {
        let Some((line, previous)) = query.query_row([id, member.0], read).optional()? else {
            break;
        };
        lines.push(line);
        next = previous;
    }
    Ok(lines)
}

/// The last posting of a member before a number, which usually is that of a posting of theirs.
fn posting_before(connection: &Connection, member: MemberId, number: i64) -> Result<Option<i64>> {
    let mut query =
        connection.prepare_cached("SELECT previous FROM postings WHERE id = ?1 AND member = ?2")?;
    let known = query.query_row([number, member.0], |row| row.get(0)).optional()?;
    if let Some(previous) = known {
        return Ok(previous);
    }
    let mut query = connection.prepare_cached("SELECT last_posting FROM members WHERE id = ?1")?;
    let mut last: Option<i64> = query.query_row([member.0], |row| row.get(0)).optional()?.flatten();
    // It only ever goes back, whatever a damaged file says.
    let mut query = connection
        .prepare_cached("SELECT previous FROM postings WHERE id = ?1 AND previous < id")?;
    while let Some(id) = last
        && id >= number
    {
        last = query.query_row([id], |row| row.get(0)).optional()?;
    }
    Ok(last)
}

/// Reads `at, kind, amount, balance, hold, reason, reference`.
fn posting(row: &Row<'_>, member: MemberId) -> Read<Posting> {
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

/// A posting that the rows of its member and of its key do not tell of.
pub(super) struct Unfollowed {
    pub(super) id: i64,
    pub(super) posting: Posting,
    /// The key that was charged.
    pub(super) lineage: Option<LineageId>,
}

pub(super) fn unfollowed(connection: &Connection) -> Result<Vec<Unfollowed>> {
    let mut query = connection.prepare_cached(
        "SELECT postings.at, kind, amount, balance, hold, reason, reference, postings.id, \
         postings.member, lineage FROM postings LEFT JOIN receipts ON receipts.id = postings.hold \
         WHERE postings.id > (SELECT posting FROM followed) ORDER BY postings.id",
    )?;
    let read = |row: &Row<'_>| {
        let posting = posting(row, MemberId(row.get(8)?))?;
        let lineage: Option<i64> = row.get(9)?;
        Ok(Unfollowed { id: row.get(7)?, posting, lineage: lineage.map(LineageId) })
    };
    let rows = query.query_map([], read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Puts in the book the posting that has a reference, if there is one.
pub(super) fn load_referred(
    connection: &Connection,
    book: &mut Book,
    (member, reference): (MemberId, &str),
) -> Result<()> {
    if book.has_referenced_posting(member, reference) {
        return Ok(());
    }
    let mut query = connection.prepare_cached(
        "SELECT at, kind, amount, balance, hold, reason, reference FROM postings \
         WHERE member = ?1 AND reference = ?2",
    )?;
    let found = query.query_row(params![member.0, reference], |row| posting(row, member));
    if let Some(posting) = found.optional()? {
        book.add_referenced_posting(posting);
    }
    Ok(())
}

/// Puts in the book what a live hold needs to end.
pub(super) fn load_hold(
    connection: &Connection,
    book: &mut Book,
    (member, id): (MemberId, HoldId),
    now: Time,
) -> Result<()> {
    if !book.has_hold(id) {
        let Some(hold) = hold(connection, member, id)? else { return Ok(()) };
        load_member(connection, book, hold.member)?;
        load_lineage(connection, book, hold.lineage)?;
        book.add_hold(hold);
    }
    load_word(connection, book, id, now)
}

/// Puts in the book the idempotency key that a live hold of the book was asked with.
pub(super) fn load_word(
    connection: &Connection,
    book: &mut Book,
    id: HoldId,
    now: Time,
) -> Result<()> {
    if let Some((lineage, word)) = book.idempotency_key_of(id) {
        let word = word.to_owned();
        load_repeat(connection, book, (lineage, &word), now)?;
    }
    Ok(())
}

pub(super) fn load_member(connection: &Connection, book: &mut Book, id: MemberId) -> Result<()> {
    if book.account(id).is_none()
        && let Some(account) = account(connection, id)?
    {
        book.add_account(account);
    }
    Ok(())
}

pub(super) fn load_lineage(connection: &Connection, book: &mut Book, id: LineageId) -> Result<()> {
    if book.lineage(id).is_none()
        && let Some(lineage) = lineage(connection, id)?
    {
        book.add_lineage(lineage);
    }
    Ok(())
}

pub(super) fn load_repeat(
    connection: &Connection,
    book: &mut Book,
    (lineage, word): (LineageId, &str),
    now: Time,
) -> Result<()> {
    if !book.has_idempotency_record(lineage, word)
        && let Some(repeat) = repeat(connection, lineage, word, now)?
    {
        book.add_idempotency_record(repeat);
    }
    Ok(())
}

pub(super) fn limits(row: &Row<'_>, first: usize) -> Read<Limits> {
    let spend: Option<i64> = row.get(first)?;
    Ok(Limits {
        spend: spend.map(Micros::new),
        requests_per_minute: row.get(first + 1)?,
        concurrency: row.get(first + 2)?,
    })
}

pub(super) fn time(row: &Row<'_>, column: usize) -> Read<Time> {
    row.get(column).map(Time::from_micros)
}

pub(super) fn hold_id(row: &Row<'_>, column: usize) -> Read<HoldId> {
    row.get(column).map(HoldId::from_bytes)
}

pub(super) fn micros(row: &Row<'_>, column: usize) -> Read<Micros> {
    row.get(column).map(Micros::new)
}

/// A word that no version of this program wrote.
pub(super) fn unknown(column: usize, word: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(
        column,
        Type::Text,
        format!("{word:?} is no known word").into(),
    )
}
