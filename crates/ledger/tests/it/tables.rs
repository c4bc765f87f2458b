//! Tables in memory, written from the changes of a book as a store does.

use std::collections::BTreeMap;

use ledger::{
    Account, Book, Changes, Hold, HoldId, IdempotencyRecord, Lineage, LineageId, MemberId, Posting,
    Receipt,
};

#[derive(Default)]
pub(crate) struct Tables {
    pub(crate) accounts: BTreeMap<MemberId, Account>,
    pub(crate) lineages: BTreeMap<LineageId, Lineage>,
    pub(crate) holds: BTreeMap<HoldId, Hold>,
    pub(crate) idempotency: BTreeMap<(LineageId, String), IdempotencyRecord>,
    pub(crate) receipts: BTreeMap<HoldId, Receipt>,
    pub(crate) postings: Vec<Posting>,
}

impl Tables {
    /// Writes a transaction: inserts only new rows and deletes only existing ones.
    pub(crate) fn write(&mut self, changes: Changes) {
        for account in changes.accounts {
            self.accounts.insert(account.id, account).unwrap();
        }
        for lineage in changes.lineages {
            self.lineages.insert(lineage.id, lineage).unwrap();
        }
        for hold in changes.opened_holds {
            assert!(self.holds.insert(hold.id, hold).is_none());
        }
        for (_, id) in changes.ended_holds {
            self.holds.remove(&id).unwrap();
        }
        for receipt in changes.receipts {
            assert!(self.receipts.insert(receipt.id, receipt).is_none());
        }
        self.postings.extend(changes.postings);
        for record in changes.idempotency {
            self.idempotency.insert((record.lineage, record.key.clone()), record);
        }
        for key in changes.deleted_idempotency {
            // A record that was added in the same transaction was never written.
            self.idempotency.remove(&key);
        }
    }

    /// A book with all rows.
    pub(crate) fn book(&self) -> Book {
        let mut book = Book::default();
        self.accounts.values().cloned().for_each(|account| book.add_account(account));
        self.lineages.values().cloned().for_each(|lineage| book.add_lineage(lineage));
        self.holds.values().cloned().for_each(|hold| book.add_hold(hold));
        self.idempotency.values().cloned().for_each(|record| book.add_idempotency_record(record));
        self.postings.iter().cloned().for_each(|posting| book.add_referenced_posting(posting));
        book
    }
}
