//! Rows of members, keys and holds that are written later.
//!
//! Money is what stands in the postings, and what is held in the live holds. What a member has, and
//! what a key has spent, follows from them; under load its row is written once for many charges,
//! not with each. The table `followed` names the last posting that the rows tell of. Most holds end
//! soon: under load those of one transaction stand together in a row of `opened`, and a hold gets a
//! row of its own only if it is still live when the others are written. Whoever finds postings after
//! the last one followed, or anything in `opened`, lets the rows follow before they read or change
//! any of them.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use ledger::{Account, Book, Changes, HoldId, Lineage, LineageId, MemberId, Micros};
use rusqlite::Connection;

use super::changes::{self, LastPostings};
use super::rows;
use crate::backend::Result;

/// The most postings that rows are behind, and the most holds that stand in `opened`. As many are read
/// when a process that was killed is followed by another, or when another process writes.
const MAX_BEHIND: usize = 16_384;

/// Which rows are behind.
#[derive(Debug, Default)]
pub(super) struct Arrears {
    accounts: HashSet<MemberId, RandomState>,
    lineages: HashSet<LineageId, RandomState>,
    /// Holds that have no row.
    holds: HashSet<HoldId, RandomState>,
    /// How many holds stand in `opened`, whether they have ended or not.
    opened: usize,
    postings: usize,
}

/// Whether a transaction writes all rows that are not as they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    Written,
    Later,
}

impl Arrears {
    /// Adds the rows that a batch changed.
    pub(super) fn add(&mut self, changes: &Changes) {
        self.accounts.extend(changes.accounts.iter().map(|account| account.id));
        self.lineages.extend(changes.lineages.iter().map(|lineage| lineage.id));
        self.postings += changes.postings.len();
    }

    /// Writes the holds that began in a batch, and takes away those that ended.
    pub(super) fn move_holds(
        &mut self,
        connection: &Connection,
        changes: &Changes,
        rows: Rows,
    ) -> Result<()> {
        // Of one that has no row, its receipt tells that it has ended.
        let with_row = changes.ended_holds.iter().filter(|(_, id)| !self.holds.remove(id));
        changes::remove_holds(connection, with_row)?;
        match rows {
            Rows::Written => changes::write_holds(connection, &changes.opened_holds),
            Rows::Later => {
                self.opened += changes.opened_holds.len();
                self.holds.extend(changes.opened_holds.iter().map(|hold| hold.id));
                changes::open_holds(connection, &changes.opened_holds)
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.accounts.is_empty() && self.lineages.is_empty() && self.opened == 0
    }

    /// Whether they are to be written now.
    pub(super) fn are_many(&self) -> bool {
        self.postings.max(self.opened) >= MAX_BEHIND
    }

    pub(super) fn lineages(&self) -> impl Iterator<Item = LineageId> {
        self.lineages.iter().copied()
    }

    /// Writes them as the book has them, inside a transaction.
    pub(super) fn write(
        &self,
        connection: &Connection,
        book: &Book,
        last: &LastPostings,
    ) -> Result<()> {
        let accounts = self.accounts.iter().filter_map(|id| book.account(*id));
        changes::write_accounts(connection, accounts, last)?;
        let lineages = self.lineages.iter().filter_map(|id| book.lineage(*id));
        changes::write_lineages(connection, lineages)?;
        let holds = self.holds.iter().filter_map(|id| book.live_hold(*id));
        changes::write_holds(connection, holds)?;
        if self.opened > 0 { forget_opened(connection) } else { Ok(()) }
    }
}

/// Whether there are postings that the rows do not tell of, or holds without a row.
pub(super) fn are_any(connection: &Connection) -> Result<bool> {
    let mut query = connection.prepare_cached(
        "SELECT (SELECT posting FROM followed) < (SELECT coalesce(max(id), 0) FROM postings) \
         OR EXISTS (SELECT 1 FROM opened)",
    )?;
    Ok(query.query_row([], |row| row.get(0))?)
}

/// Lets the rows follow what they do not tell of, inside a transaction.
pub(super) fn follow(connection: &Connection) -> Result<()> {
    if !are_any(connection)? {
        return Ok(());
    }
    connection.prepare_cached("INSERT INTO holds SELECT * FROM following_holds")?.execute([])?;
    forget_opened(connection)?;
    let (mut accounts, mut lineages) = (HashMap::new(), HashMap::new());
    let mut last = LastPostings::default();
    for rows::Unfollowed { id, posting, lineage } in rows::unfollowed(connection)? {
        // Rows that are not there are for the check to find.
        if !accounts.contains_key(&posting.member)
            && let Some(account) = rows::account(connection, posting.member)?
        {
            accounts.insert(posting.member, account);
        }
        if let Some(account) = accounts.get_mut(&posting.member) {
            account.apply(&posting);
            last.insert(posting.member, id);
        }
        let Some(lineage) = lineage else { continue };
        if !lineages.contains_key(&lineage)
            && let Some(row) = rows::lineage(connection, lineage)?
        {
            lineages.insert(lineage, row);
        }
        if let Some(row) = lineages.get_mut(&lineage) {
            row.spend(posting.charged());
        }
    }
    changes::write_accounts(connection, accounts.values(), &last)?;
    changes::write_lineages(connection, lineages.values())?;
    all_followed(connection)
}

/// An account as it would be if its row had followed: what can be known where nothing can be written.
pub(super) fn account(connection: &Connection, id: MemberId) -> Result<Option<Account>> {
    let state = connection.unchecked_transaction()?;
    let Some(mut account) = rows::account(&state, id)? else { return Ok(None) };
    let unfollowed = rows::unfollowed(&state)?;
    let of_it = unfollowed.iter().filter(|unfollowed| unfollowed.posting.member == id);
    of_it.for_each(|unfollowed| account.apply(&unfollowed.posting));
    (account.held, _) = live_holds(&state, "member", id.0)?;
    Ok(Some(account))
}

/// A lineage as it would be if its row had followed.
pub(super) fn lineage(connection: &Connection, id: LineageId) -> Result<Option<Lineage>> {
    let state = connection.unchecked_transaction()?;
    let Some(mut lineage) = rows::lineage(&state, id)? else { return Ok(None) };
    let unfollowed = rows::unfollowed(&state)?;
    let of_it = unfollowed.iter().filter(|unfollowed| unfollowed.lineage == Some(id));
    of_it.for_each(|unfollowed| lineage.spend(unfollowed.posting.charged()));
    (lineage.held, lineage.running) = live_holds(&state, "lineage", id.0)?;
    Ok(Some(lineage))
}

/// How much is held of one member or by one key, and by how many holds.
fn live_holds(connection: &Connection, whose: &str, id: i64) -> Result<(Micros, u32)> {
    let mut query = connection.prepare_cached(&format!(
        "SELECT coalesce(sum(amount), 0), count(*) FROM live_holds WHERE {whose} = ?1"
    ))?;
    Ok(query.query_row([id], |row| Ok((Micros::new(row.get(0)?), row.get(1)?)))?)
}

/// All holds have rows now, or receipts.
fn forget_opened(connection: &Connection) -> Result<()> {
    connection.prepare_cached("DELETE FROM opened")?.execute([])?;
    Ok(())
}

/// Says that the rows tell of all postings, inside the transaction that made them.
pub(super) fn all_followed(connection: &Connection) -> Result<()> {
    let mut update = connection.prepare_cached(
        "UPDATE followed SET posting = (SELECT coalesce(max(id), 0) FROM postings) \
         WHERE posting <> (SELECT coalesce(max(id), 0) FROM postings)",
    )?;
    update.execute([])?;
    Ok(())
}
