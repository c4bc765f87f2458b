//! The ledger check: recomputes all figures and compares.
//!
//! Each pass merges ordered lists row by row, so that memory does not grow with the number of postings.

use ledger::{ChargeRule, HoldId, HoldOutcome, Micros, PostingKind};
use rusqlite::{Connection, Rows, Statement};

use super::connection::RowReader;
use super::usage;
use crate::check::{BudgetSum, wrong_budgets};
use crate::error::Result;
use crate::records::{Columns, audit_entry};
use crate::usage::wrong_usage;
use crate::{LedgerCheck, LedgerFinding};

/// Checks one snapshot of the file.
pub(super) fn run(connection: &mut Connection) -> Result<LedgerCheck> {
    let snapshot = connection.transaction()?;
    let mut check = LedgerCheck::default();
    let applied = snapshot.query_row("SELECT posting FROM followed", [], |row| row.get(0))?;
    check_members(&snapshot, applied, &mut check)?;
    check_lineages(&snapshot, applied, &mut check)?;
    check_receipts(&snapshot, &mut check)?;
    check_ended_holds(&snapshot, &mut check)?;
    check_usage(&snapshot, applied, &mut check)?;
    check_audit(&snapshot, &mut check)?;
    Ok(check)
}

/// Compares balances with the postings that they include, and checks that balances cover live holds.
fn check_members(connection: &Connection, applied: i64, check: &mut LedgerCheck) -> Result<()> {
    let mut members = connection
        .prepare("SELECT id, balance, coalesce(last_posting, 0) FROM members ORDER BY id")?;
    let mut postings = connection.prepare(
        "SELECT member, id, amount, balance, kind = 'charge', kind = 'top_up', \
         coalesce(previous, 0) FROM postings ORDER BY member, id",
    )?;
    let mut holds = connection.prepare(
        "SELECT coalesce(payer, member), sum(amount), count(*) FROM holds GROUP BY 1 ORDER BY 1",
    )?;
    let mut members = RowCursor::new(&mut members, numbers::<3>)?;
    let mut postings = RowCursor::new(&mut postings, numbers::<7>)?;
    let mut holds = RowCursor::new(&mut holds, numbers::<3>)?;
    let (mut stored, mut house) = (0_i128, [0_i128; 3]);
    loop {
        let member = members.step()?;
        let id = member.map_or(i64::MAX, |[id, ..]| id);
        let (mut sum, mut last) = (0_i128, 0);
        let mut row = (0_i128, 0);
        while let Some([of, posting, amount, balance, charge, top_up, previous]) =
            postings.step_if(|[of, ..]| member.is_none() || *of <= id)?
        {
            check.postings += 1;
            let index = if charge == 1 { 0 } else { 2 - usize::from(top_up == 1) };
            house[index] -= i128::from(amount);
            check.members_total =
                clamped(i128::from(check.members_total.get()) + i128::from(amount));
            if of != id || member.is_none() {
                report(check, format!("posting {posting}"), "member", of, 0);
                continue;
            }
            sum += i128::from(amount);
            compare(check, || format!("posting {posting}"), "balance", balance, sum);
            compare(check, || format!("posting {posting}"), "previous", previous, last.into());
            last = posting;
            if posting <= applied {
                row = (sum, last);
            } else {
                stored += i128::from(amount);
            }
        }
        let mut held = 0;
        while let Some([of, amount, count]) =
            holds.step_if(|[of, ..]| member.is_none() || *of <= id)?
        {
            check.holds += u64::try_from(count).unwrap_or(0);
            if of != id || member.is_none() {
                report(check, format!("holds of member {of}"), "member", of, 0);
            } else {
                held = i128::from(amount);
            }
        }
        let Some([id, balance, has_last]) = member else { break };
        check.members += 1;
        stored += i128::from(balance);
        compare(check, || format!("member {id}"), "balance", balance, row.0);
        compare(check, || format!("member {id}"), "last posting", has_last, row.1.into());
        if held > sum {
            report(check, format!("member {id}"), "held", clamped(held).get(), clamped(sum).get());
        }
    }
    check.sum = clamped(stored + house.iter().sum::<i128>());
    if check.sum != Micros::ZERO {
        let sum = check.sum.get();
        report(check, "all accounts".to_owned(), "sum", sum, 0);
    }
    let kinds = [PostingKind::Charge, PostingKind::TopUp, PostingKind::Adjustment];
    let names = kinds.map(|kind| kind.house().as_str().to_owned());
    check.house = names.into_iter().zip(house.map(clamped)).collect();
    Ok(())
}

/// Compares what keys have spent with the receipts that it includes, and checks the keys of holds.
fn check_lineages(connection: &Connection, applied: i64, check: &mut LedgerCheck) -> Result<()> {
    let mut lineages = connection.prepare("SELECT id, spent, member FROM lineages ORDER BY id")?;
    let mut holds = connection
        .prepare("SELECT lineage, member FROM holds GROUP BY lineage, member ORDER BY lineage")?;
    let mut ahead = connection.prepare(&format!(
        "SELECT lineage, sum(charged) FROM postings JOIN receipts ON receipts.id = hold \
         WHERE postings.id > {applied} GROUP BY lineage ORDER BY lineage"
    ))?;
    let mut receipts = connection
        .prepare("SELECT lineage, sum(charged) FROM receipts GROUP BY lineage ORDER BY lineage")?;
    let mut lineages = RowCursor::new(&mut lineages, numbers::<3>)?;
    let mut holds = RowCursor::new(&mut holds, numbers::<2>)?;
    let mut ahead = RowCursor::new(&mut ahead, numbers::<2>)?;
    let mut receipts = RowCursor::new(&mut receipts, numbers::<2>)?;
    loop {
        let lineage = lineages.step()?;
        let is_due = |of: i64| lineage.is_none_or(|[id, ..]| of <= id);
        let is_known = |of: i64| lineage.is_some_and(|[id, ..]| of == id);
        let mut spent = 0;
        while let Some([of, member]) = holds.step_if(|[of, _]| is_due(*of))? {
            if lineage.is_none_or(|[id, _, whose]| (of, member) != (id, whose)) {
                report(check, format!("holds of key lineage {of}"), "lineage", of, 0);
            }
        }
        while let Some([of, charged]) = receipts.step_if(|[of, ..]| is_due(*of))? {
            if is_known(of) {
                spent = charged;
            } else {
                report(check, format!("receipts of key lineage {of}"), "lineage", of, 0);
            }
        }
        while let Some([of, charged]) = ahead.step_if(|[of, _]| is_due(*of))? {
            if is_known(of) {
                spent -= charged;
            }
        }
        let Some([id, has_spent, _]) = lineage else { return Ok(()) };
        compare(check, || format!("key lineage {id}"), "spent", has_spent, spent.into());
    }
}

/// Checks that each charge has one posting of its amount, and each charge posting a receipt.
fn check_receipts(connection: &Connection, check: &mut LedgerCheck) -> Result<()> {
    let mut receipts = connection.prepare(
        "SELECT id, coalesce(payer, member), charged, rule FROM receipts \
                  WHERE charged > 0 ORDER BY id",
    )?;
    let mut postings = connection.prepare(
        "SELECT hold, member, -amount, id FROM postings WHERE hold IS NOT NULL ORDER BY hold, id",
    )?;
    let mut receipts = RowCursor::new(&mut receipts, |row| {
        let (id, member, charged) = (row.hold_id()?, row.take()?, row.take()?);
        let rule: String = row.take()?;
        let is_charged =
            ChargeRule::parse(&rule).map(ChargeRule::outcome) == Some(HoldOutcome::Settled);
        Ok((id, member, charged, is_charged))
    })?;
    let mut postings = RowCursor::new(&mut postings, |row| {
        Ok((row.hold_id()?, row.take()?, row.take()?, row.take::<i64>()?))
    })?;
    loop {
        let receipt: Option<(HoldId, i64, i64, bool)> = receipts.step()?;
        let mut posted = 0_i128;
        let mut count = 0;
        while let Some((hold, member, amount, posting)) =
            postings.step_if(|(hold, ..)| receipt.is_none_or(|(id, ..)| *hold <= id))?
        {
            if receipt.is_some_and(|(id, whose, ..)| (hold, member) == (id, whose)) {
                posted += i128::from(amount);
                count += 1;
                if count > 1 {
                    let figure = "charges of one receipt";
                    report(check, format!("posting {posting}"), figure, count, 1);
                }
            } else {
                report(check, format!("posting {posting}"), "receipt", amount, 0);
            }
        }
        let Some((id, _, charged, is_charged)) = receipt else { return Ok(()) };
        compare(check, || format!("receipt {id}"), "charged", charged, posted);
        if !is_charged {
            report(check, format!("receipt {id}"), "charge contradicts its rule", charged, 0);
        }
    }
}

/// Checks that no live hold has a receipt.
fn check_ended_holds(connection: &Connection, check: &mut LedgerCheck) -> Result<()> {
    let mut both = connection.prepare(
        "SELECT holds.id, holds.amount FROM holds JOIN receipts ON receipts.id = holds.id \
         ORDER BY holds.id",
    )?;
    let mut both = RowCursor::new(&mut both, |row| Ok((row.hold_id()?, row.take()?)))?;
    while let Some((id, amount)) = both.step()? {
        report(check, format!("hold {id}"), "live hold has a receipt", amount, 0);
    }
    Ok(())
}

/// Compares usage and budgets with the receipts that they include.
fn check_usage(connection: &Connection, applied: i64, check: &mut LedgerCheck) -> Result<()> {
    let later = format!("(SELECT hold FROM postings WHERE id > {applied} AND hold IS NOT NULL)");
    let usage = wrong_usage(usage::DIALECT, &format!("AND id NOT IN {later}"));
    let budgets = wrong_budgets(BudgetSum::Charged, &format!("AND r.id NOT IN {later}"));
    let usage = usage.map(|sql| ("usage", sql));
    for (figure, sql) in usage.into_iter().chain(budgets.map(|sql| ("budget", sql))) {
        let mut wrong = connection.prepare(&sql)?;
        let mut wrong =
            RowCursor::new(&mut wrong, |row| Ok((row.take()?, row.take()?, row.take()?)))?;
        while let Some((what, stored, added_up)) = wrong.step()? {
            report(check, what, figure, stored, added_up);
        }
    }
    Ok(())
}

fn check_audit(connection: &Connection, check: &mut LedgerCheck) -> Result<()> {
    let mut entries = connection.prepare(
        "SELECT id, at, actor, request, action, subject, detail, digest FROM audit ORDER BY id",
    )?;
    let mut entries = RowCursor::new(&mut entries, |row| audit_entry(row))?;
    let (mut next, mut previous) = (1, [0; 32]);
    while let Some(entry) = entries.step()? {
        if entry.id != next {
            report(check, format!("audit {}", entry.id), "id", entry.id, next);
        }
        let digest = entry.digest_after(&previous);
        if digest != entry.digest {
            let (stored, expected) = (shortened(&entry.digest), shortened(&digest));
            report(check, format!("audit {}", entry.id), "digest", stored, expected);
        }
        (next, previous) = (entry.id + 1, entry.digest);
    }
    Ok(())
}

/// A cursor over ordered rows with one row of lookahead.
struct RowCursor<'rows, T> {
    rows: Rows<'rows>,
    read: fn(&mut RowReader<'_>) -> Result<T>,
    next: Option<T>,
}

impl<'rows, T> RowCursor<'rows, T> {
    fn new(
        statement: &'rows mut Statement<'_>,
        read: fn(&mut RowReader<'_>) -> Result<T>,
    ) -> Result<Self> {
        let mut cursor = Self { rows: statement.query([])?, read, next: None };
        cursor.step()?;
        Ok(cursor)
    }

    fn step(&mut self) -> Result<Option<T>> {
        let row = self.rows.next()?;
        let following = row.map(|row| (self.read)(&mut RowReader::new(row))).transpose()?;
        Ok(std::mem::replace(&mut self.next, following))
    }

    fn step_if(&mut self, accept: impl Fn(&T) -> bool) -> Result<Option<T>> {
        if self.next.as_ref().is_some_and(accept) { self.step() } else { Ok(None) }
    }
}

fn numbers<const N: usize>(row: &mut RowReader<'_>) -> Result<[i64; N]> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = row.take()?;
    }
    Ok(numbers)
}

fn compare(
    check: &mut LedgerCheck,
    what: impl FnOnce() -> String,
    figure: &str,
    stored: i64,
    added_up: i128,
) {
    if i128::from(stored) != added_up {
        report(check, what(), figure, stored, clamped(added_up).get());
    }
}

fn report(check: &mut LedgerCheck, what: String, figure: &str, stored: i64, added_up: i64) {
    check.wrong += 1;
    check.list(LedgerFinding { what, figure: figure.to_owned(), stored, added_up });
}

fn clamped(sum: i128) -> Micros {
    let least = i128::from(i64::MIN);
    Micros::new(i64::try_from(sum.clamp(least, i64::MAX.into())).unwrap_or(i64::MAX))
}

/// The first bytes of a digest, as a number.
fn shortened(digest: &[u8; 32]) -> i64 {
    digest.iter().take(8).fold(0, |number, byte| (number << 8) | i64::from(*byte))
}
