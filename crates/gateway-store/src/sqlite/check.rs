//! Adds the books up again, row by row in order, and compares.
//!
//! Each pass walks ordered lists side by side, so that it needs no more memory for ten million
//! postings than for ten.

use ledger::{ChargeRule, HoldId, HoldOutcome, Micros, PostingKind};
use rusqlite::{Connection, Row, Rows, Statement};

use super::{audit, rows};
use crate::backend::Result;
use crate::{LedgerCheck, LedgerFinding, MAX_FINDINGS};

/// Checks everything, in one state of the file.
pub(super) fn run(connection: &mut Connection) -> Result<LedgerCheck> {
    let state = connection.transaction()?;
    let mut check = LedgerCheck::default();
    let followed = state.query_row("SELECT posting FROM followed", [], |row| row.get(0))?;
    check_members(&state, followed, &mut check)?;
    check_lineages(&state, followed, &mut check)?;
    check_receipts(&state, &mut check)?;
    check_ended_holds(&state, &mut check)?;
    check_audit(&state, &mut check)?;
    Ok(check)
}

/// Balances against postings, as far as the rows follow them, and whether live holds are of members
/// and covered.
fn check_members(connection: &Connection, followed: i64, check: &mut LedgerCheck) -> Result<()> {
    let mut members = connection
        .prepare("SELECT id, balance, coalesce(last_posting, 0) FROM members ORDER BY id")?;
    let mut postings = connection.prepare(
        "SELECT member, id, amount, balance, kind = 'charge', kind = 'top_up', \
         coalesce(previous, 0) FROM postings ORDER BY member, id",
    )?;
    let mut holds = connection.prepare(
        "SELECT member, sum(amount), count(*) FROM live_holds GROUP BY member ORDER BY member",
    )?;
    let mut members = Walk::new(&mut members, numbers::<3>)?;
    let mut postings = Walk::new(&mut postings, numbers::<7>)?;
    let mut holds = Walk::new(&mut holds, numbers::<3>)?;
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
                wrong(check, format!("posting {posting}"), "member", (of, 0));
                continue;
            }
            sum += i128::from(amount);
            compare(check, || format!("posting {posting}"), "balance", (balance, sum));
            compare(check, || format!("posting {posting}"), "previous", (previous, last.into()));
            last = posting;
            if posting <= followed {
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
                wrong(check, format!("holds of member {of}"), "member", (of, 0));
            } else {
                held = i128::from(amount);
            }
        }
        let Some([id, balance, has_last]) = member else { break };
        check.members += 1;
        stored += i128::from(balance);
        compare(check, || format!("member {id}"), "balance", (balance, row.0));
        compare(check, || format!("member {id}"), "last posting", (has_last, row.1.into()));
        if held > sum {
            wrong(check, format!("member {id}"), "held", (clamped(held).get(), clamped(sum).get()));
        }
    }
    check.sum = clamped(stored + house.iter().sum::<i128>());
    if check.sum != Micros::ZERO {
        let sum = check.sum.get();
        wrong(check, "all accounts".to_owned(), "sum", (sum, 0));
    }
    let kinds = [PostingKind::Charge, PostingKind::TopUp, PostingKind::Adjustment];
    let names = kinds.map(|kind| kind.house().as_str().to_owned());
    check.house = names.into_iter().zip(house.map(clamped)).collect();
    Ok(())
}

/// What keys have spent against receipts, as far as the rows follow them, and whether live holds are
/// of keys of their members.
fn check_lineages(connection: &Connection, followed: i64, check: &mut LedgerCheck) -> Result<()> {
    let mut lineages = connection.prepare("SELECT id, spent, member FROM lineages ORDER BY id")?;
    let mut holds = connection.prepare(
        "SELECT lineage, member FROM live_holds GROUP BY lineage, member ORDER BY lineage",
    )?;
    let mut ahead = connection.prepare(&format!(
        "SELECT lineage, sum(charged) FROM postings JOIN receipts ON receipts.id = hold \
         WHERE postings.id > {followed} GROUP BY lineage ORDER BY lineage"
    ))?;
    let mut receipts = connection
        .prepare("SELECT lineage, sum(charged) FROM receipts GROUP BY lineage ORDER BY lineage")?;
    let mut lineages = Walk::new(&mut lineages, numbers::<3>)?;
    let mut holds = Walk::new(&mut holds, numbers::<2>)?;
    let mut ahead = Walk::new(&mut ahead, numbers::<2>)?;
    let mut receipts = Walk::new(&mut receipts, numbers::<2>)?;
    loop {
        let lineage = lineages.step()?;
        let is_due = |of: i64| lineage.is_none_or(|[id, ..]| of <= id);
        let is_known = |of: i64| lineage.is_some_and(|[id, ..]| of == id);
        let mut spent = 0;
        while let Some([of, member]) = holds.step_if(|[of, _]| is_due(*of))? {
            if lineage.is_none_or(|[id, _, whose]| (of, member) != (id, whose)) {
                wrong(check, format!("holds of key lineage {of}"), "lineage", (of, 0));
            }
        }
        while let Some([of, charged]) = receipts.step_if(|[of, ..]| is_due(*of))? {
            if is_known(of) {
                spent = charged;
            } else {
                wrong(check, format!("receipts of key lineage {of}"), "lineage", (of, 0));
            }
        }
        while let Some([of, charged]) = ahead.step_if(|[of, _]| is_due(*of))? {
            if is_known(of) {
                spent -= charged;
            }
        }
        let Some([id, has_spent, _]) = lineage else { return Ok(()) };
        compare(check, || format!("key lineage {id}"), "spent", (has_spent, spent.into()));
    }
}

/// Each charge has one posting of its amount to its member, and each posting of a charge a receipt.
fn check_receipts(connection: &Connection, check: &mut LedgerCheck) -> Result<()> {
    let mut receipts = connection
        .prepare("SELECT id, member, charged, rule FROM receipts WHERE charged > 0 ORDER BY id")?;
    let mut postings = connection.prepare(
        "SELECT hold, member, -amount, id FROM postings WHERE hold IS NOT NULL ORDER BY hold, id",
    )?;
    let mut receipts = Walk::new(&mut receipts, |row| {
        let rule: String = row.get(3)?;
        let is_charged =
            ChargeRule::parse(&rule).map(ChargeRule::outcome) == Some(HoldOutcome::Settled);
        Ok((rows::hold_id(row, 0)?, row.get(1)?, row.get(2)?, is_charged))
    })?;
    let mut postings = Walk::new(&mut postings, |row| {
        Ok((rows::hold_id(row, 0)?, row.get(1)?, row.get(2)?, row.get::<_, i64>(3)?))
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
                    wrong(
                        check,
                        format!("posting {posting}"),
                        "charges of one receipt",
                        (count, 1),
                    );
                }
            } else {
                wrong(check, format!("posting {posting}"), "receipt", (amount, 0));
            }
        }
        let Some((id, _, charged, is_charged)) = receipt else { return Ok(()) };
        compare(check, || format!("receipt {id}"), "charged", (charged, posted));
        if !is_charged {
            wrong(check, format!("receipt {id}"), "charged against its rule", (charged, 0));
        }
    }
}

/// No hold is live that has ended.
fn check_ended_holds(connection: &Connection, check: &mut LedgerCheck) -> Result<()> {
    let mut both = connection.prepare(
        "SELECT holds.id, holds.amount FROM holds JOIN receipts ON receipts.id = holds.id \
         ORDER BY holds.id",
    )?;
    let mut both = Walk::new(&mut both, |row| Ok((rows::hold_id(row, 0)?, row.get(1)?)))?;
    while let Some((id, amount)) = both.step()? {
        wrong(check, format!("hold {id}"), "live though ended", (amount, 0));
    }
    Ok(())
}

/// No entry of the audit log is missing or changed.
fn check_audit(connection: &Connection, check: &mut LedgerCheck) -> Result<()> {
    let mut entries = connection.prepare(
        "SELECT id, at, actor, request, action, subject, detail, digest FROM audit ORDER BY id",
    )?;
    let mut entries = Walk::new(&mut entries, audit::entry)?;
    let (mut next, mut previous) = (1, [0; 32]);
    while let Some(entry) = entries.step()? {
        if entry.id != next {
            wrong(check, format!("audit {}", entry.id), "id", (entry.id, next));
        }
        let digest = entry.digest_after(&previous);
        if digest != entry.digest {
            let pair = (shortened(&entry.digest), shortened(&digest));
            wrong(check, format!("audit {}", entry.id), "digest", pair);
        }
        (next, previous) = (entry.id + 1, entry.digest);
    }
    Ok(())
}

/// An ordered list, one row ahead.
struct Walk<'rows, T> {
    rows: Rows<'rows>,
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
    next: Option<T>,
}

impl<'rows, T> Walk<'rows, T> {
    fn new(
        statement: &'rows mut Statement<'_>,
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Self> {
        let mut walk = Self { rows: statement.query([])?, read, next: None };
        walk.step()?;
        Ok(walk)
    }

    /// The next row.
    fn step(&mut self) -> Result<Option<T>> {
        let following = self.rows.next()?.map(self.read).transpose()?;
        Ok(std::mem::replace(&mut self.next, following))
    }

    /// The next row, if it is so.
    fn step_if(&mut self, is_so: impl Fn(&T) -> bool) -> Result<Option<T>> {
        if self.next.as_ref().is_some_and(is_so) { self.step() } else { Ok(None) }
    }
}

fn numbers<const N: usize>(row: &Row<'_>) -> rusqlite::Result<[i64; N]> {
    let mut numbers = [0; N];
    for (column, number) in numbers.iter_mut().enumerate() {
        *number = row.get(column)?;
    }
    Ok(numbers)
}

fn compare(
    check: &mut LedgerCheck,
    what: impl FnOnce() -> String,
    figure: &str,
    (stored, added_up): (i64, i128),
) {
    if i128::from(stored) != added_up {
        wrong(check, what(), figure, (stored, clamped(added_up).get()));
    }
}

fn wrong(check: &mut LedgerCheck, what: String, figure: &str, (stored, added_up): (i64, i64)) {
    check.wrong += 1;
    if check.findings.len() < MAX_FINDINGS {
        let figure = figure.to_owned();
        check.findings.push(LedgerFinding { what, figure, stored, added_up });
    }
}

fn clamped(sum: i128) -> Micros {
    let least = i128::from(i64::MIN);
    Micros::new(i64::try_from(sum.clamp(least, i64::MAX.into())).unwrap_or(i64::MAX))
}

/// The beginning of a digest, as a number to tell it by.
fn shortened(digest: &[u8; 32]) -> i64 {
    digest.iter().take(8).fold(0, |number, byte| (number << 8) | i64::from(*byte))
}
