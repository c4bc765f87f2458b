//! Writes the changes of a transaction.
//!
//! Postings, receipts, holds and idempotency records are written at once. The rows of members, keys
//! and usage may follow later: see `deferred_rows`.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use ledger::{Account, Changes, Lineage, MemberId, Micros, Posting, Time};
use rusqlite::{Connection, params, params_from_iter};

use super::connection::ConnectionExt;
use crate::batch::AppliedBatch;
use crate::error::Result;
use crate::tables::{self, ANSWERS, ARTIFACTS, HOLDS, IDEMPOTENCY, MEDIA_RUNS, RECEIPTS};
use crate::tables::{RESPONSES, SUB_REQUESTS};
use crate::usage::UsageRollup;
use crate::value::{Value, values};
use crate::{MediaRun, StoredResponse, UsageCounts};

const ADD_USAGE: &str = "INSERT INTO usage VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
    ON CONFLICT DO UPDATE SET requests = requests + ?7, input_tokens = input_tokens + ?8, \
        output_tokens = output_tokens + ?9, charged = charged + ?10";

const ADD_TOTAL: &str = "INSERT INTO usage_totals VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
    ON CONFLICT DO UPDATE SET requests = requests + ?4, input_tokens = input_tokens + ?5, \
        output_tokens = output_tokens + ?6, charged = charged + ?7";

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
    write_usage(db, &UsageRollup::of(free))?;
    insert(db, &SUB_REQUESTS.insert, applied.sub_requests().map(tables::sub_request))?;
    let answers = applied.answers().map(|answer| tables::answer((answer, expires_at)));
    insert(db, &ANSWERS.insert, answers)?;
    write_responses(db, applied.responses())?;
    applied.media().try_for_each(|run| write_media(db, run))
}

/// Writes all changes. The rows that follow from postings must include all earlier ones.
pub(super) fn write_changes(db: &Connection, changes: &Changes, expires_at: Time) -> Result<()> {
    let mut last = LastPostings::default();
    write_entries(db, changes, expires_at, &mut last)?;
    write_accounts(db, &changes.accounts, &last)?;
    write_usage(db, &UsageRollup::of(&changes.receipts))?;
    write_lineages(db, &changes.lineages)
}

fn write_entries(
    db: &Connection,
    changes: &Changes,
    expires_at: Time,
    last: &mut LastPostings,
) -> Result<()> {
    write_postings(db, &changes.postings, last)?;
    insert(db, &RECEIPTS.insert, changes.receipts.iter().map(tables::receipt))?;
    insert(db, &HOLDS.insert, changes.opened_holds.iter().map(tables::hold))?;
    for (member, id) in &changes.ended_holds {
        let sql = "DELETE FROM holds WHERE member = ?1 AND id = ?2";
        db.run(sql, params![member.0, id.to_bytes()])?;
    }
    write_idempotency_records(db, changes, expires_at)
}

/// Executes a statement for each row.
fn insert<'a, const N: usize>(
    db: &Connection,
    sql: &str,
    rows: impl Iterator<Item = [Value<'a>; N]>,
) -> Result<()> {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return Ok(());
    }
    let mut statement = db.prepare_cached(sql)?;
    for row in rows {
        statement.execute(params_from_iter(row))?;
    }
    Ok(())
}

pub(super) fn write_accounts<'a>(
    db: &Connection,
    accounts: impl IntoIterator<Item = &'a Account>,
    last: &LastPostings,
) -> Result<()> {
    let mut update = db.prepare_cached(
        "UPDATE members SET balance = ?2, day = ?4, day_requests = ?5, day_charged = ?6, \
         month = ?7, month_requests = ?8, month_charged = ?9, budget_start = ?10, \
         budget_charged = ?11, last_posting = coalesce(?13, last_posting) WHERE id = ?1",
    )?;
    for account in accounts {
        let last = Value::from(last.get(&account.id).copied());
        update.execute(params_from_iter(tables::member(account).into_iter().chain([last])))?;
    }
    Ok(())
}

pub(super) fn write_lineages<'a>(
    db: &Connection,
    lineages: impl IntoIterator<Item = &'a Lineage>,
) -> Result<()> {
    // The arrival time only increases, so that free requests counted meanwhile are not lost.
    let mut update = db.prepare_cached(
        "UPDATE lineages SET spent = ?2, next_arrival = max(next_arrival, ?5), budget_start = ?6, \
         budget_charged = ?7, last_used = ?9 WHERE id = ?1",
    )?;
    for lineage in lineages {
        update.execute(params_from_iter(tables::lineage(lineage)))?;
    }
    Ok(())
}

pub(super) fn write_usage(db: &Connection, rollup: &UsageRollup) -> Result<()> {
    if rollup.is_empty() {
        return Ok(());
    }
    let mut insert = db.prepare_cached(ADD_USAGE)?;
    for row in rollup.rows() {
        insert.execute(params_from_iter(tables::usage(row)))?;
    }
    let mut insert = db.prepare_cached(ADD_TOTAL)?;
    for ((day, operation, model), counts) in rollup.totals() {
        let UsageCounts { requests, input_tokens, output_tokens, charged } = counts;
        let values = values![day, operation, model, requests, input_tokens, output_tokens, charged];
        insert.execute(params_from_iter(values))?;
    }
    Ok(())
}

/// Inserts postings, each with the member's previous one: the last known, else the one in the member's
/// row.
fn write_postings(db: &Connection, postings: &[Posting], last: &mut LastPostings) -> Result<()> {
    let mut insert = db.prepare_cached(
        "INSERT INTO postings \
         (at, kind, member, amount, balance, hold, reason, reference, previous) \
         VALUES (?1, ?2, ?3, ?5, ?6, ?7, ?8, ?9, \
         coalesce(?10, (SELECT last_posting FROM members WHERE id = ?3)))",
    )?;
    for posting in postings {
        let previous = Value::from(last.get(&posting.member).copied());
        let values = tables::posting(posting).into_iter().chain([previous]);
        last.insert(posting.member, insert.insert(params_from_iter(values))?);
    }
    Ok(())
}

fn write_idempotency_records(db: &Connection, changes: &Changes, expires_at: Time) -> Result<()> {
    // The record of the same hold keeps its expiry.
    let sql = format!(
        "{} ON CONFLICT DO UPDATE SET body_sha256 = excluded.body_sha256, \
         answered = excluded.answered, \
         expires_at = iif(hold = excluded.hold, expires_at, excluded.expires_at), \
         hold = excluded.hold",
        IDEMPOTENCY.insert
    );
    let records = changes.idempotency.iter();
    insert(db, &sql, records.map(|record| tables::idempotency((record, expires_at))))?;
    for (lineage, key) in &changes.deleted_idempotency {
        let sql = "DELETE FROM repeats WHERE lineage = ?1 AND word = ?2";
        db.run(sql, params![lineage.0, key])?;
    }
    Ok(())
}

pub(super) fn write_responses<'a>(
    db: &Connection,
    responses: impl Iterator<Item = &'a StoredResponse>,
) -> Result<()> {
    let sql = format!("{} {}", RESPONSES.insert, tables::UPDATE_RESPONSE);
    insert(db, &sql, responses.map(tables::response))
}

fn write_media(db: &Connection, run: &MediaRun) -> Result<()> {
    insert(db, &MEDIA_RUNS.insert, std::iter::once(tables::media_run(run)))?;
    insert(db, &ARTIFACTS.insert, tables::artifacts(run))?;
    for artifact in &run.artifacts {
        let refer = "UPDATE media_objects SET state = 1 WHERE name = ?1 AND state < 2";
        db.run(refer, [&artifact.object])?;
    }
    Ok(())
}
