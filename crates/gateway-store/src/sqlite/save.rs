//! Writes the changes of a transaction.
//!
//! Postings, receipts, holds and idempotency records are written at once. The rows of members, keys
//! and usage may follow later: see `deferred_rows`.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use ledger::{
    Account, Budget, BudgetUse, Changes, Hold, HoldId, IdempotencyRecord, Lineage, MemberId,
    Micros, Posting, Receipt, Time,
};
use rusqlite::{Connection, params};

use super::connection::ConnectionExt;
use super::{audit, media, usage};
use crate::audit::AuditChange;
use crate::batch::AppliedBatch;
use crate::error::Result;
use crate::key::stored_budget;
use crate::member::stored_payer;
use crate::usage::UsageRollup;
use crate::{SavedAnswer, StoredResponse};

/// The last posting of each member, if known.
pub(super) type LastPostings = HashMap<MemberId, i64, RandomState>;

/// Writes a batch, except for the rows that follow from postings. Idempotency records and answers expire at
/// `expires_at`.
pub(super) fn write_batch(
    db: &Connection,
    applied: &AppliedBatch,
    expires_at: Time,
    last: &mut LastPostings,
) -> Result<()> {
    write_entries(db, &applied.changes, expires_at, last)?;
    let free = applied.changes.receipts.iter().filter(|receipt| receipt.charged == Micros::ZERO);
    usage::add(db, &UsageRollup::of(free))?;
    for (id, parent) in applied.sub_requests() {
        let sql = "INSERT INTO sub_requests VALUES (?1, ?2)";
        db.run(sql, [id.to_bytes(), parent.to_bytes()])?;
    }
    for (hold, answer) in applied.answers() {
        write_answer(db, hold, answer, expires_at)?;
    }
    for response in applied.responses() {
        write_response(db, response)?;
    }
    for run in applied.media() {
        media::insert(db, run)?;
    }
    for (posting, actor) in &applied.audited {
        audit::append(db, AuditChange::posted(posting), posting.at, actor)?;
    }
    Ok(())
}

/// Writes all changes. The rows that follow from postings must include all earlier ones.
pub(super) fn write_changes(db: &Connection, changes: &Changes, expires_at: Time) -> Result<()> {
    let mut last = LastPostings::default();
    write_entries(db, changes, expires_at, &mut last)?;
    write_accounts(db, &changes.accounts, &last)?;
    usage::add(db, &UsageRollup::of(&changes.receipts))?;
    write_lineages(db, &changes.lineages)
}

fn write_entries(
    db: &Connection,
    changes: &Changes,
    expires_at: Time,
    last: &mut LastPostings,
) -> Result<()> {
    write_postings(db, &changes.postings, last)?;
    write_receipts(db, &changes.receipts)?;
    write_holds(db, &changes.opened_holds)?;
    for (member, id) in &changes.ended_holds {
        let sql = "DELETE FROM holds WHERE member = ?1 AND id = ?2";
        db.run(sql, params![member.0, id.to_bytes()])?;
    }
    write_idempotency_records(db, changes, expires_at)
}

pub(super) fn write_accounts<'a>(
    db: &Connection,
    accounts: impl IntoIterator<Item = &'a Account>,
    last: &LastPostings,
) -> Result<()> {
    let mut update = db.prepare_cached(
        "UPDATE members SET balance = ?2, day = ?3, day_requests = ?4, day_charged = ?5, \
         month = ?6, month_requests = ?7, month_charged = ?8, \
         last_posting = coalesce(?9, last_posting), budget_start = ?10, budget_charged = ?11 \
         WHERE id = ?1",
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
            account.budget_use.start.micros(),
            account.budget_use.charged.get(),
        ])?;
    }
    Ok(())
}

pub(super) fn write_lineages<'a>(
    db: &Connection,
    lineages: impl IntoIterator<Item = &'a Lineage>,
) -> Result<()> {
    // The arrival time only increases, so that free requests counted meanwhile are not lost.
    let mut update = db.prepare_cached(
        "UPDATE lineages SET spent = ?2, next_arrival = max(next_arrival, ?3), budget_start = ?4, \
         budget_charged = ?5, last_used = ?6 WHERE id = ?1",
    )?;
    for lineage in lineages {
        let (spent, next_arrival) = (lineage.spent.get(), lineage.next_arrival.micros());
        let BudgetUse { start, charged, .. } = lineage.budget_use;
        let (charged, last_used) = (charged.get(), lineage.last_used.micros());
        let id = lineage.id.0;
        update.execute([id, spent, next_arrival, start.micros(), charged, last_used])?;
    }
    Ok(())
}

/// Sets or removes the budget of a row. A new one counts requests that begin after now.
pub(super) fn set_budget(
    db: &Connection,
    table: &str,
    id: i64,
    budget: Option<Budget>,
    now: Time,
) -> Result<()> {
    let sql = format!(
        "UPDATE {table} SET budget = ?2, budget_period = ?3, \
         budget_start = iif(budget IS NULL, ?4, budget_start), \
         budget_charged = iif(budget IS NULL, 0, budget_charged) WHERE id = ?1"
    );
    let (amount, period) = stored_budget(budget);
    db.run(&sql, params![id, amount, period, now.plus_micros(1).micros()]).map(drop)
}

fn write_holds(db: &Connection, holds: &[Hold]) -> Result<()> {
    let mut insert = db.prepare_cached(
        "INSERT INTO holds VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?;
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
            stored_payer(hold.member, hold.payer),
        ])?;
    }
    Ok(())
}

fn write_receipts(db: &Connection, receipts: &[Receipt]) -> Result<()> {
    let mut insert = db.prepare_cached(
        "INSERT INTO receipts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
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
            stored_payer(receipt.member, receipt.payer),
            receipt.attempts,
        ])?;
    }
    Ok(())
}

/// Inserts postings, each with the member's previous one: the last known, else the one in the member's
/// row.
fn write_postings(db: &Connection, postings: &[Posting], last: &mut LastPostings) -> Result<()> {
    let mut insert = db.prepare_cached(
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

fn write_idempotency_records(db: &Connection, changes: &Changes, expires_at: Time) -> Result<()> {
    for IdempotencyRecord { lineage, key, body_sha256, hold, answered } in &changes.idempotency {
        // The record of the same hold keeps its expiry.
        let sql = "INSERT INTO repeats VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET \
                   body_sha256 = excluded.body_sha256, answered = excluded.answered, \
                   expires_at = iif(hold = excluded.hold, expires_at, excluded.expires_at), \
                   hold = excluded.hold";
        let (hold, expires_at) = (hold.to_bytes(), expires_at.micros());
        db.run(sql, params![lineage.0, key, body_sha256, hold, answered, expires_at])?;
    }
    for (lineage, key) in &changes.deleted_idempotency {
        let sql = "DELETE FROM repeats WHERE lineage = ?1 AND word = ?2";
        db.run(sql, params![lineage.0, key])?;
    }
    Ok(())
}

fn write_answer(
    db: &Connection,
    hold: HoldId,
    answer: &SavedAnswer,
    expires_at: Time,
) -> Result<()> {
    let sql = "INSERT INTO answers (hold, status, content_type, body, expires_at) \
               VALUES (?1, ?2, ?3, ?4, ?5)";
    let SavedAnswer { status, content_type, body } = answer;
    let (hold, expires_at) = (hold.to_bytes(), expires_at.micros());
    db.run(sql, params![hold, status, content_type, body, expires_at]).map(drop)
}

fn write_response(db: &Connection, response: &StoredResponse) -> Result<()> {
    db.run(
        "INSERT INTO responses (id, member, lineage, hold, status, body, input, previous, \
         background, created_at, expires_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (id) DO UPDATE SET \
         status = excluded.status, body = excluded.body, input = excluded.input, \
         previous = excluded.previous, expires_at = excluded.expires_at",
        params![
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
        ],
    )
    .map(drop)
}
