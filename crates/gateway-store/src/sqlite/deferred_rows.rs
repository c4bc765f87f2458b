//! Rows of members, keys and usage that are written later than the postings they follow from.
//!
//! Balances, spent amounts and the usage of charged requests follow from the postings. Under load, several transactions share one
//! write of these rows. The table `followed` has the id of the last posting that the rows include.
//! A process that finds later postings applies them before it reads or changes any of the rows.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use ledger::{Account, Book, Changes, Lineage, LineageId, MemberId, Micros, Receipt};
use rusqlite::Connection;

use super::connection::ConnectionExt;
use super::rows::{self, UnappliedPosting};
use super::save::{self, LastPostings};
use super::usage;
use crate::Calendar;
use crate::error::Result;
use crate::records::first;
use crate::usage::UsageRollup;

/// The most postings that rows may be behind. As many are read when another process writes, or after a
/// crash.
const MAX_UNAPPLIED: usize = 16_384;

#[derive(Debug, Default)]
pub(super) struct DeferredRows {
    accounts: HashSet<MemberId, RandomState>,
    lineages: HashSet<LineageId, RandomState>,
    usage: UsageRollup,
    postings: usize,
}

/// Whether a transaction writes all changed rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowWrites {
    Complete,
    Deferred,
}

impl DeferredRows {
    pub(super) fn add(&mut self, changes: &Changes) {
        self.accounts.extend(changes.accounts.iter().map(|account| account.id));
        self.lineages.extend(changes.lineages.iter().map(|lineage| lineage.id));
        let is_charged = |receipt: &&Receipt| receipt.charged > Micros::ZERO;
        changes.receipts.iter().filter(is_charged).for_each(|receipt| self.usage.add(receipt));
        self.postings += changes.postings.len();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.accounts.is_empty() && self.lineages.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.postings >= MAX_UNAPPLIED
    }

    pub(super) fn lineages(&self) -> impl Iterator<Item = LineageId> {
        self.lineages.iter().copied()
    }

    /// Writes the rows with the values of the book.
    pub(super) fn write(&self, db: &Connection, book: &Book, last: &LastPostings) -> Result<()> {
        let accounts = self.accounts.iter().filter_map(|id| book.account(*id));
        save::write_accounts(db, accounts, last)?;
        let lineages = self.lineages.iter().filter_map(|id| book.lineage(*id));
        save::write_lineages(db, lineages)?;
        usage::add(db, &self.usage)
    }
}

/// Whether there are postings that the rows do not include.
pub(super) fn has_unapplied_postings(db: &Connection) -> Result<bool> {
    let sql = "SELECT (SELECT posting FROM followed) < (SELECT coalesce(max(id), 0) FROM postings)";
    Ok(db.row(sql, [], |row| first(row))?.unwrap_or(false))
}

/// Applies the postings that the rows do not include.
pub(super) fn apply_postings(db: &Connection, calendar: &Calendar) -> Result<()> {
    let unapplied = rows::unapplied_postings(db)?;
    if unapplied.is_empty() {
        return Ok(());
    }
    let (mut accounts, mut lineages) = (HashMap::new(), HashMap::new());
    let mut last = LastPostings::default();
    let mut used = UsageRollup::default();
    for UnappliedPosting { id, posting, receipt } in unapplied {
        let asker = receipt.as_ref().map(|receipt| receipt.member);
        for owner in asker.into_iter().chain([posting.member]) {
            // The ledger check reports missing rows.
            if !accounts.contains_key(&owner)
                && let Some(account) = rows::account(db, owner)?
            {
                accounts.insert(owner, account);
            }
        }
        if let Some(account) = accounts.get_mut(&posting.member) {
            account.apply(&posting);
            last.insert(posting.member, id);
        }
        let Some(receipt) = receipt else { continue };
        used.add(&receipt);
        let windows = calendar.windows(receipt.since);
        for owner in receipt.owners() {
            if let Some(account) = accounts.get_mut(&owner) {
                account.budget_use.replay(account.budget, receipt.since, receipt.charged, &windows);
            }
        }
        let lineage = receipt.lineage;
        if !lineages.contains_key(&lineage)
            && let Some(row) = rows::lineage(db, lineage)?
        {
            lineages.insert(lineage, row);
        }
        if let Some(row) = lineages.get_mut(&lineage) {
            row.spend(posting.charged(), posting.at);
            row.budget_use.replay(row.limits.budget, receipt.since, receipt.charged, &windows);
        }
    }
    save::write_accounts(db, accounts.values(), &last)?;
    save::write_lineages(db, lineages.values())?;
    usage::add(db, &used)?;
    mark_all_applied(db)
}

/// The current account, if its row cannot be written.
pub(super) fn account(
    db: &Connection,
    calendar: &Calendar,
    id: MemberId,
) -> Result<Option<Account>> {
    let snapshot = db.unchecked_transaction()?;
    let Some(mut account) = rows::account(&snapshot, id)? else { return Ok(None) };
    for unapplied in rows::unapplied_postings(&snapshot)? {
        if unapplied.posting.member == id {
            account.apply(&unapplied.posting);
        }
        if let Some(receipt) = unapplied.receipt.filter(|it| it.owners().any(|owner| owner == id)) {
            let windows = calendar.windows(receipt.since);
            account.budget_use.replay(account.budget, receipt.since, receipt.charged, &windows);
        }
    }
    Ok(Some(account))
}

/// The current lineage, if its row cannot be written.
pub(super) fn lineage(
    db: &Connection,
    calendar: &Calendar,
    id: LineageId,
) -> Result<Option<Lineage>> {
    let snapshot = db.unchecked_transaction()?;
    let Some(mut lineage) = rows::lineage(&snapshot, id)? else { return Ok(None) };
    for unapplied in rows::unapplied_postings(&snapshot)? {
        if let Some(receipt) = unapplied.receipt.filter(|receipt| receipt.lineage == id) {
            lineage.spend(unapplied.posting.charged(), unapplied.posting.at);
            let windows = calendar.windows(receipt.since);
            lineage.budget_use.replay(
                lineage.limits.budget,
                receipt.since,
                receipt.charged,
                &windows,
            );
        }
    }
    Ok(Some(lineage))
}

/// Records that the rows include all postings, in the transaction that wrote them.
pub(super) fn mark_all_applied(db: &Connection) -> Result<()> {
    let sql = "UPDATE followed SET posting = (SELECT coalesce(max(id), 0) FROM postings) \
               WHERE posting <> (SELECT coalesce(max(id), 0) FROM postings)";
    db.run(sql, []).map(drop)
}
