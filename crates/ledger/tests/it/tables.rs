//! Tables in memory that are written as a store writes them: by what the book says has changed.

use std::collections::BTreeMap;

use ledger::{
    Account, Book, Changes, Hold, HoldId, Lineage, LineageId, MemberId, Posting, Receipt, Repeat,
};

#[derive(Default)]
pub(crate) struct Tables {
    pub(crate) accounts: BTreeMap<MemberId, Account>,
    pub(crate) lineages: BTreeMap<LineageId, Lineage>,
    pub(crate) holds: BTreeMap<HoldId, Hold>,
    pub(crate) repeats: BTreeMap<(LineageId, String), Repeat>,
    pub(crate) receipts: BTreeMap<HoldId, Receipt>,
    pub(crate) postings: Vec<Posting>,
}

impl Tables {
    /// Writes a transaction. A row is added once, and only one that is there is removed.
    pub(crate) fn write(&mut self, changes: Changes) {
        for account in changes.accounts {
            self.accounts.insert(account.id, account).unwrap();
        }
        for lineage in changes.lineages {
            self.lineages.insert(lineage.id, lineage).unwrap();
        }
        for hold in changes.begun {
            assert!(self.holds.insert(hold.id, hold).is_none());
        }
        for (_, id) in changes.ended {
            self.holds.remove(&id).unwrap();
        }
        for receipt in changes.receipts {
            assert!(self.receipts.insert(receipt.id, receipt).is_none());
        }
        self.postings.extend(changes.postings);
        for repeat in changes.repeats {
            self.repeats.insert((repeat.lineage, repeat.word.clone()), repeat);
        }
        for key in changes.forgotten {
            // One that began and ended in this transaction was never there.
            self.repeats.remove(&key);
        }
    }

    /// A book with all there is.
    pub(crate) fn book(&self) -> Book {
        let mut book = Book::default();
        self.accounts.values().cloned().for_each(|account| book.add_account(account));
        self.lineages.values().cloned().for_each(|lineage| book.add_lineage(lineage));
        self.holds.values().cloned().for_each(|hold| book.add_hold(hold));
        self.repeats.values().cloned().for_each(|repeat| book.add_repeat(repeat));
        self.postings.iter().cloned().for_each(|posting| book.add_referred(posting));
        book
    }
}
