//! The writer thread: operations that wait at the same time become one transaction.
//!
//! Between transactions it caches ledger rows. The cache is valid because this thread makes all writes
//! of the process, and `PRAGMA data_version` detects writes of other processes. Any failure clears it.
//! When a transaction has several operations, rows of members and keys are written later: see
//! `deferred_rows`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use ledger::{Account, Book, Lineage, LineageId, MemberId, Time};
use rusqlite::{Connection, params};
use tokio::sync::{mpsc, oneshot};

use super::checkpoint::WalMonitor;
use super::connection::{self, ConnectionExt, ConnectionMode};
use super::deferred_rows::{self, DeferredRows, RowWrites};
use super::executor::SqliteExecutor;
use super::rows::RowLoader;
use super::save::{self, LastPostings};
use crate::audit::AuditChange;
use crate::batch::{AppliedBatch, LedgerOperation, apply};
use crate::batch_rows::RowSet;
use crate::error::Result;
use crate::executor::ready;
use crate::{Error, StoreOptions, audit_log};

pub(super) const MAX_WAITING: usize = 4096;
const MAX_BATCH: usize = 512;
/// Bytes of answers and responses after which a transaction takes no more operations, because a
/// checkpoint cannot move a part of a transaction.
const MAX_BATCH_BYTES: usize = 8 * 1024 * 1024;
/// Wait for more operations if the previous batch had several. A single operation never waits.
const BATCH_DELAY: Duration = Duration::from_micros(100);
/// Batches of one operation in a row after which deferred rows are written, because the load is over.
const MAX_SINGLE_BATCHES: u32 = 16;
/// Maximum cached rows, of a few hundred bytes each.
const MAX_CACHED_ROWS: usize = 20_000;
/// Maximum number of keys with counted but unwritten free requests.
const MAX_ARRIVALS: usize = 10_000;

pub(super) enum WriterMessage {
    Operation(LedgerOperation),
    Task(Task),
    /// Complete the queue, and end.
    Stop(oneshot::Sender<()>),
}

pub(super) type Task = Box<dyn FnOnce(&mut Writer) + Send>;

/// Durability of a transaction.
///
/// Opening a hold need not survive a power loss: a lost hold charges nothing, like a hold of a process
/// that crashed. The end of a hold waits for the disk, and everything before it is then on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Durability {
    PowerLoss,
    ProcessCrash,
}

impl Durability {
    fn of(operations: &[LedgerOperation]) -> Self {
        let is_plain_hold = |operation: &LedgerOperation| match operation {
            LedgerOperation::Open(open) => open.operation.response.is_none(),
            _ => false,
        };
        if operations.iter().all(is_plain_hold) { Self::ProcessCrash } else { Self::PowerLoss }
    }
}

pub(super) struct Writer {
    path: PathBuf,
    options: StoreOptions,
    connection: Connection,
    /// Whether the connection must be opened again.
    broken: bool,
    /// The current setting of the connection.
    durability: Durability,
    book: Book,
    /// The `data_version` of the file when the book was read.
    version: i64,
    deferred: DeferredRows,
    last: LastPostings,
    /// Whether there may be unapplied postings that the cache does not include.
    is_behind: bool,
    /// Rate limits that are not written yet, and may not be in the book.
    arrivals: HashMap<LineageId, Time>,
    wal: WalMonitor,
    /// Batches of one operation in a row.
    single_batches: u32,
}

/// Takes operations until another kind of message.
fn take_operations(
    operations: &mut Vec<LedgerOperation>,
    waiting: &mut mpsc::Receiver<WriterMessage>,
) -> Option<WriterMessage> {
    let mut bytes: usize = operations.iter().map(LedgerOperation::bytes).sum();
    while operations.len() < MAX_BATCH && bytes < MAX_BATCH_BYTES {
        match waiting.try_recv() {
            Ok(WriterMessage::Operation(operation)) => {
                bytes += operation.bytes();
                operations.push(operation);
            }
            Ok(message) => return Some(message),
            Err(_) => break,
        }
    }
    None
}

impl Writer {
    pub(super) fn new(
        path: PathBuf,
        options: StoreOptions,
        mut connection: Connection,
        wal: WalMonitor,
    ) -> Result<Self> {
        wal.watch(&mut connection)?;
        Ok(Self {
            path,
            options,
            connection,
            broken: false,
            durability: Durability::PowerLoss,
            book: Book::default(),
            version: 0,
            deferred: DeferredRows::default(),
            last: LastPostings::default(),
            is_behind: true,
            arrivals: HashMap::new(),
            wal,
            single_batches: 1,
        })
    }

    /// Runs until a stop message, or until all senders are dropped. It joins the checkpoint thread
    /// before it confirms the stop, so that no connection to the file is open then.
    pub(super) fn run(
        mut self,
        mut waiting: mpsc::Receiver<WriterMessage>,
        checkpointer: JoinHandle<()>,
    ) {
        let mut stopped = Vec::new();
        while let Some(first) = waiting.blocking_recv() {
            let mut next = Some(first);
            while let Some(message) = next.take() {
                match message {
                    WriterMessage::Operation(first) => next = self.collect(first, &mut waiting),
                    WriterMessage::Task(task) => task(&mut self),
                    WriterMessage::Stop(reply) => {
                        // Messages that are already in the queue are still processed.
                        waiting.close();
                        stopped.push(reply);
                    }
                }
                self.wal.checkpoint_if_needed(&self.connection);
            }
        }
        // A failure is harmless: the next process applies the postings, and lost counts of free
        // requests only let a few more through.
        let _ = self.write_deferred();
        drop(self);
        let _ = checkpointer.join();
        for reply in stopped {
            let _ = reply.send(());
        }
    }

    /// Runs a batch of the first operation and those that wait; returns the next other message.
    fn collect(
        &mut self,
        first: LedgerOperation,
        waiting: &mut mpsc::Receiver<WriterMessage>,
    ) -> Option<WriterMessage> {
        let mut operations = vec![first];
        let mut other = take_operations(&mut operations, waiting);
        if self.is_under_load() && other.is_none() && operations.len() < MAX_BATCH {
            std::thread::sleep(BATCH_DELAY);
            other = take_operations(&mut operations, waiting);
        }
        let is_single = operations.len() == 1;
        self.single_batches = if is_single { self.single_batches.saturating_add(1) } else { 0 };
        if operations.iter().all(|operation| matches!(operation, LedgerOperation::Admit(_))) {
            self.run_free_requests(operations);
        } else {
            self.run_batch(operations);
        }
        self.book.clear_idempotency_records();
        if self.book.rows() > MAX_CACHED_ROWS {
            if !self.deferred.is_empty() {
                // The next transaction reports the same failure.
                let _ = self.write_deferred();
            }
            self.clear_cache();
        }
        other
    }

    /// Whether the last batch had several operations.
    fn is_under_load(&self) -> bool {
        self.single_batches == 0
    }

    /// Free requests are counted now and written with the next transaction.
    fn run_free_requests(&mut self, operations: Vec<LedgerOperation>) {
        let now = self.options.clock.now();
        if let Err(error) = self.refresh().and_then(|()| self.load(&operations, now)) {
            return self.refuse(operations, &error);
        }
        let applied = apply(&mut self.book, operations, now, &self.options.calendar);
        for lineage in &applied.changes.lineages {
            self.arrivals.insert(lineage.id, lineage.next_arrival);
        }
        applied.committed();
        if self.arrivals.len() > MAX_ARRIVALS && self.write_deferred().is_err() {
            self.arrivals.clear();
        }
    }

    fn run_batch(&mut self, operations: Vec<LedgerOperation>) {
        if let Err(error) = self.begin(Durability::of(&operations)) {
            return self.refuse(operations, &error);
        }
        let now = self.options.clock.now();
        let loaded = self.refresh_in_transaction().and_then(|()| self.load(&operations, now));
        if let Err(error) = loaded {
            return self.refuse(operations, &error);
        }
        let applied = apply(&mut self.book, operations, now, &self.options.calendar);
        match self.finish(&applied, now) {
            Ok(()) => applied.committed(),
            Err(error) => self.refuse(applied.into_operations(), &error),
        }
    }

    fn finish(&mut self, applied: &AppliedBatch, now: Time) -> Result<()> {
        let changes = &applied.changes;
        if changes.is_empty() {
            return self.run_cached("ROLLBACK");
        }
        let expires_at = now.plus_micros(self.options.idempotency_retention_micros());
        save::write_batch(&self.connection, applied, expires_at, &mut self.last)?;
        for (posting, actor) in &applied.audited {
            let executor = &mut SqliteExecutor { db: &self.connection, now };
            ready(audit_log::append(executor, AuditChange::posted(posting), actor))?;
        }
        let is_quiet = self.deferred.is_empty() || self.single_batches >= MAX_SINGLE_BATCHES;
        self.deferred.add(changes);
        if !self.deferred.is_full() && (self.is_under_load() || !is_quiet) {
            return self.commit(RowWrites::Deferred);
        }
        self.write_rows()?;
        deferred_rows::mark_all_applied(&self.connection)?;
        self.commit(RowWrites::Complete)
    }

    /// Runs a transaction that changes no cached rows.
    pub(super) fn transact<T>(
        &mut self,
        work: impl FnOnce(&Connection, Time) -> Result<T>,
    ) -> Result<T> {
        self.begin(Durability::PowerLoss)?;
        let now = self.options.clock.now();
        let result = self.refresh_in_transaction().and_then(|()| {
            self.write_rows()?;
            let result = work(&self.connection, now)?;
            deferred_rows::mark_all_applied(&self.connection)?;
            self.commit(RowWrites::Complete)?;
            Ok(result)
        });
        if result.is_err() {
            self.roll_back();
        }
        result
    }

    /// Runs a transaction that changes cached rows.
    pub(super) fn transact_ledger<T>(
        &mut self,
        work: impl FnOnce(&Connection, Time) -> Result<T>,
    ) -> Result<T> {
        let result = self.transact(work)?;
        self.clear_cache();
        Ok(result)
    }

    /// Writes deferred rows and counts.
    pub(super) fn write_deferred(&mut self) -> Result<()> {
        self.refresh()?;
        if self.deferred.is_empty() && self.arrivals.is_empty() {
            return Ok(());
        }
        self.transact(|_, _| Ok(()))
    }

    pub(super) fn account(&mut self, id: MemberId) -> Result<Option<Account>> {
        if self.refresh().is_err() {
            return deferred_rows::account(&self.connection, &self.options.calendar, id);
        }
        self.loader().account(id)?;
        Ok(self.book.account(id).cloned())
    }

    pub(super) fn lineage(&mut self, id: LineageId) -> Result<Option<Lineage>> {
        if self.refresh().is_err() {
            return deferred_rows::lineage(&self.connection, &self.options.calendar, id);
        }
        self.loader().lineage(id)?;
        Ok(self.book.lineage(id).cloned())
    }

    fn begin(&mut self, durability: Durability) -> Result<()> {
        if self.broken {
            let mode = ConnectionMode::ReadWrite;
            self.connection = connection::open(&self.path, mode, &self.options)?;
            self.wal.watch(&mut self.connection)?;
            self.broken = false;
            self.durability = Durability::PowerLoss;
            self.clear_cache();
        }
        if self.options.power_loss_safe && durability != self.durability {
            let level = match durability {
                Durability::PowerLoss => "FULL",
                Durability::ProcessCrash => "NORMAL",
            };
            // Not a cached statement: SQLite applies this pragma when it is prepared.
            self.connection.pragma_update(None, "synchronous", level)?;
            self.durability = durability;
        }
        self.run_cached("BEGIN IMMEDIATE")
    }

    fn commit(&mut self, rows: RowWrites) -> Result<()> {
        self.run_cached("COMMIT")?;
        self.is_behind = false;
        if rows == RowWrites::Complete {
            self.deferred = DeferredRows::default();
            self.arrivals.clear();
        }
        Ok(())
    }

    fn roll_back(&mut self) {
        self.clear_cache();
        if !self.connection.is_autocommit() && self.run_cached("ROLLBACK").is_err() {
            self.broken = true;
        }
    }

    fn refuse(&mut self, operations: Vec<LedgerOperation>, error: &Error) {
        self.roll_back();
        for operation in operations {
            operation.refuse(error.copy());
        }
    }

    /// Clears the cached rows. Rate limits are kept, because they are not stored elsewhere.
    fn clear_cache(&mut self) {
        for id in self.deferred.lineages() {
            if let Some(Lineage { next_arrival, .. }) = self.book.lineage(id) {
                let known = self.arrivals.entry(id).or_default();
                *known = (*known).max(*next_arrival);
            }
        }
        self.book = Book::default();
        self.deferred = DeferredRows::default();
        self.last.clear();
        self.is_behind = true;
    }

    /// Makes the cache valid and applies unapplied postings, outside a transaction.
    fn refresh(&mut self) -> Result<()> {
        if !self.broken {
            self.check_version()?;
            if !self.is_behind {
                return Ok(());
            }
            if !deferred_rows::has_unapplied_postings(&self.connection)? {
                self.is_behind = false;
                return Ok(());
            }
        }
        self.transact(|_, _| Ok(()))
    }

    fn refresh_in_transaction(&mut self) -> Result<()> {
        self.check_version()?;
        if !self.is_behind {
            return Ok(());
        }
        deferred_rows::apply_postings(&self.connection, &self.options.calendar)
    }

    /// Clears the cache if another process has written.
    fn check_version(&mut self) -> Result<()> {
        let version = self.connection.row("PRAGMA data_version", [])?;
        let version = version.unwrap_or_default();
        if version != self.version {
            self.clear_cache();
            self.version = version;
        }
        Ok(())
    }

    fn loader(&mut self) -> RowLoader<'_> {
        let Self { connection: db, book, arrivals, .. } = self;
        RowLoader { db, book, arrivals }
    }

    /// Loads the rows that the operations need and the cache lacks.
    fn load(&mut self, operations: &[LedgerOperation], now: Time) -> Result<()> {
        self.loader().load(&RowSet::of(operations), now)
    }

    /// Writes deferred rows and counts in the current transaction.
    fn write_rows(&self) -> Result<()> {
        self.deferred.write(&self.connection, &self.book, &self.last)?;
        for (lineage, arrival) in &self.arrivals {
            let sql = "UPDATE lineages SET next_arrival = max(next_arrival, ?2) WHERE id = ?1";
            self.connection.run(sql, params![lineage.0, arrival.micros()])?;
        }
        Ok(())
    }

    fn run_cached(&self, sql: &str) -> Result<()> {
        self.connection.run(sql, []).map(drop)
    }
}

#[cfg(test)]
mod tests;
