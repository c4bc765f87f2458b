//! Rows of the ledger, read from their tables.

use std::collections::HashMap;

use ledger::{Account, Book, Hold, HoldId, Lineage, LineageId, MemberId, Posting, Receipt, Time};
use rusqlite::{Connection, params};

use super::connection::ConnectionExt;
use crate::StatementLine;
use crate::audit::AuditTail;
use crate::batch_rows::{LoadedBatch, RowSet};
use crate::error::Result;

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
    let sql = "SELECT id, member, coalesce(payer, member), lineage, amount, operation, model, \
               owner, since, lease_until, idempotency FROM holds WHERE member = ?1 AND id = ?2";
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
        && lines.len() < limit as usize
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
               r.input_tokens, r.output_tokens, r.since, r.at, coalesce(r.payer, r.member), \
               r.attempts FROM postings p LEFT JOIN receipts r ON r.id = p.hold \
               WHERE p.id > (SELECT posting FROM followed) ORDER BY p.id";
    db.rows(sql, [])
}

/// Loads rows into a book that lacks them.
pub(super) struct RowLoader<'a> {
    pub(super) db: &'a Connection,
    pub(super) book: &'a mut Book,
    /// Rate limits that are not stored yet.
    pub(super) arrivals: &'a HashMap<LineageId, Time>,
}

impl RowLoader<'_> {
    pub(super) fn load(&mut self, needed: &RowSet, now: Time) -> Result<()> {
        for member in &needed.members {
            self.member(*member)?;
        }
        for lineage in &needed.lineages {
            self.lineage(*lineage)?;
        }
        for (id, member) in &needed.holds {
            self.hold(*member, *id, now)?;
        }
        for (lineage, key) in &needed.idempotency_keys {
            self.idempotency_record(*lineage, key, now)?;
        }
        for (member, reference) in &needed.references {
            self.referenced_posting(*member, reference)?;
        }
        Ok(())
    }

    /// Loads the account of a member, and that of its team.
    fn member(&mut self, id: MemberId) -> Result<()> {
        self.account(id)?;
        match self.book.account(id).and_then(|account| account.team) {
            Some(team) => self.account(team),
            None => Ok(()),
        }
    }

    pub(super) fn account(&mut self, id: MemberId) -> Result<()> {
        if self.book.account(id).is_none()
            && let Some(account) = account(self.db, id)?
        {
            self.book.add_account(account);
        }
        Ok(())
    }

    pub(super) fn lineage(&mut self, id: LineageId) -> Result<()> {
        if self.book.lineage(id).is_none()
            && let Some(mut lineage) = lineage(self.db, id)?
        {
            if let Some(arrival) = self.arrivals.get(&id) {
                lineage.next_arrival = lineage.next_arrival.max(*arrival);
            }
            self.book.add_lineage(lineage);
        }
        Ok(())
    }

    /// Loads a live hold and the rows that its end changes.
    fn hold(&mut self, member: MemberId, id: HoldId, now: Time) -> Result<()> {
        if !self.book.has_hold(id) {
            let Some(hold) = hold(self.db, member, id)? else { return Ok(()) };
            self.member(member)?;
            self.account(hold.payer)?;
            self.lineage(hold.lineage)?;
            self.book.add_hold(hold);
        }
        if let Some((lineage, key)) = self.book.idempotency_key_of(id) {
            let key = key.to_owned();
            self.idempotency_record(lineage, &key, now)?;
        }
        Ok(())
    }

    /// Loads the record of an idempotency key that is in use or has not expired.
    fn idempotency_record(&mut self, lineage: LineageId, key: &str, now: Time) -> Result<()> {
        if self.book.has_idempotency_record(lineage, key) {
            return Ok(());
        }
        let sql = "SELECT lineage, word, body_sha256, hold, answered FROM repeats \
                   WHERE lineage = ?1 AND word = ?2 AND (expires_at > ?3 OR NOT answered)";
        if let Some(record) = self.db.row(sql, params![lineage.0, key, now.micros()])? {
            self.book.add_idempotency_record(record);
        }
        Ok(())
    }

    fn referenced_posting(&mut self, member: MemberId, reference: &str) -> Result<()> {
        if self.book.has_referenced_posting(member, reference) {
            return Ok(());
        }
        let sql = "SELECT at, kind, member, amount, balance, hold, reason, reference \
                   FROM postings WHERE member = ?1 AND reference = ?2";
        if let Some(posting) = self.db.row(sql, params![member.0, reference])? {
            self.book.add_referenced_posting(posting);
        }
        Ok(())
    }
}

/// Loads rows for a transaction that does not use the cache of the writer.
pub(super) fn load(db: &Connection, needed: &RowSet, now: Time) -> Result<LoadedBatch> {
    let (mut book, arrivals) = (Book::default(), HashMap::new());
    RowLoader { db, book: &mut book, arrivals: &arrivals }.load(needed, now)?;
    let mut used_ids = Vec::new();
    for (id, member) in &needed.new_holds {
        if hold(db, *member, *id)?.is_some() || has_receipt(db, *id)? {
            used_ids.push(*id);
        }
    }
    Ok(LoadedBatch { book, now, used_ids, audit_tail: AuditTail::default() })
}
