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
use super::rows;
use super::save::{self, LastPostings};
use crate::Calendar;
use crate::error::Result;
use crate::usage::UsageRollup;

/// Maximum lag of rows, in postings. As many are read when another process writes, or after a
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
        save::write_usage(db, &self.usage)
    }
}

/// Whether there are postings that the rows do not include.
pub(super) fn has_unapplied_postings(db: &Connection) -> Result<bool> {
    let sql = "SELECT (SELECT posting FROM followed) < (SELECT coalesce(max(id), 0) FROM postings)";
    Ok(db.row(sql, [])?.unwrap_or(false))
}

/// Rows as they are after the postings that they do not include.
#[derive(Default)]
struct CurrentRows {
    accounts: HashMap<MemberId, Account>,
    lineages: HashMap<LineageId, Lineage>,
    last: LastPostings,
    usage: UsageRollup,
}

impl CurrentRows {
    fn read(db: &Connection, calendar: &Calendar) -> Result<Self> {
        let mut current = Self::default();
        let Self { accounts, lineages, last, usage } = &mut current;
        for (id, posting, receipt) in rows::unapplied_postings(db)? {
            let asker = receipt.as_ref().map(|receipt| receipt.member);
            for owner in asker.into_iter().chain([posting.member]) {
                // The ledger check reports missing rows.
                if !accounts.contains_key(&owner) {
                    accounts.extend(rows::account(db, owner)?.map(|account| (owner, account)));
                }
            }
            if let Some(account) = accounts.get_mut(&posting.member) {
                account.apply(&posting);
                last.insert(posting.member, id);
            }
            let Some(receipt) = receipt else { continue };
            usage.add(&receipt);
            let Receipt { lineage, since, charged, .. } = receipt;
            let windows = calendar.windows(since);
            for owner in receipt.owners() {
                if let Some(account) = accounts.get_mut(&owner) {
                    account.budget_use.replay(account.budget, since, charged, &windows);
                }
            }
            if !lineages.contains_key(&lineage) {
                lineages.extend(rows::lineage(db, lineage)?.map(|row| (lineage, row)));
            }
            if let Some(row) = lineages.get_mut(&lineage) {
                row.spend(posting.charged(), posting.at);
                row.budget_use.replay(row.limits.budget, since, charged, &windows);
            }
        }
        Ok(current)
    }
}

/// Applies the postings that the rows do not include.
pub(super) fn apply_postings(db: &Connection, calendar: &Calendar) -> Result<()> {
    let CurrentRows { accounts, lineages, last, usage } = CurrentRows::read(db, calendar)?;
    save::write_accounts(db, accounts.values(), &last)?;
    save::write_lineages(db, lineages.values())?;
    save::write_usage(db, &usage)?;
    mark_all_applied(db)
}

/// The current account, if its row cannot be written.
pub(super) fn account(
    db: &Connection,
    calendar: &Calendar,
    id: MemberId,
) -> Result<Option<Account>> {
    let snapshot = db.unchecked_transaction()?;
    let changed = CurrentRows::read(&snapshot, calendar)?.accounts.remove(&id);
    changed.map_or_else(|| rows::account(&snapshot, id), |account| Ok(Some(account)))
}

/// The current lineage, if its row cannot be written.
pub(super) fn lineage(
    db: &Connection,
    calendar: &Calendar,
    id: LineageId,
) -> Result<Option<Lineage>> {
    let snapshot = db.unchecked_transaction()?;
    let changed = CurrentRows::read(&snapshot, calendar)?.lineages.remove(&id);
    changed.map_or_else(|| rows::lineage(&snapshot, id), |lineage| Ok(Some(lineage)))
}

/// Records that the rows include all postings, in the transaction that wrote them.
pub(super) fn mark_all_applied(db: &Connection) -> Result<()> {
    let sql = "UPDATE followed SET posting = (SELECT coalesce(max(id), 0) FROM postings) \
               WHERE posting <> (SELECT coalesce(max(id), 0) FROM postings)";
    db.run(sql, []).map(drop)
}
