//! The one thread that writes: what waits at the same time is one transaction.
//!
//! Between transactions it keeps the rows that money is decided by. They stay true because nobody
//! else in this process writes, and `PRAGMA data_version` tells when another process did. Whatever
//! fails, they are forgotten and read again. Where several operations are one transaction, rows of
//! members, keys and holds are written later: see `arrears`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use ledger::{Account, Book, Lineage, LineageId, MemberId, Time};
use rusqlite::{Connection, params};
use tokio::sync::{mpsc, oneshot};

use super::arrears::{self, Arrears, Rows};
use super::changes::{self, LastPostings};
use super::checkpoint::Log;
use super::connection::{self, Role};
use super::{failure, rows};
use crate::backend::Result;
use crate::batch::{Applied, LedgerOperation, apply};
use crate::{Error, StoreOptions};

/// The most operations that wait.
pub(super) const MAX_WAITING: usize = 4096;

/// The most operations of one transaction.
const MAX_BATCH: usize = 512;

/// Bytes of answers and responses from which on a transaction takes no more operations: all of it
/// stands in the log before any of it can be moved.
const MAX_BATCH_BYTES: usize = 8 * 1024 * 1024;

/// How long an operation waits for others, where the batch before had several: one commit then
/// serves more of them. Whoever is alone never waits.
const GATHER: Duration = Duration::from_micros(100);

/// After so many operations in a row that were alone, what was left for later is written: whatever
/// the load was, it is over.
const MANY_ALONE: u32 = 16;

/// The most rows that are kept between transactions, a few hundred bytes each.
const MAX_KEPT_ROWS: usize = 20_000;

/// The most keys whose free requests are counted but not written.
const MAX_ARRIVALS: usize = 10_000;

/// What the thread is asked.
pub(super) enum Message {
    /// An operation on money.
    Operation(LedgerOperation),
    /// Anything else.
    Task(Task),
    /// Do what waits, and end.
    Stop(oneshot::Sender<()>),
}

/// Anything else that writes.
pub(super) type Task = Box<dyn FnOnce(&mut Writer) + Send>;

/// Whether something that is not a batch changes rows that money is decided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Touches {
    Money,
    Else,
}

/// Whether a transaction must outlive the power.
///
/// A hold alone need not: without it nothing is charged, and that is what becomes of a hold whose
/// process died. Its end is written to the disk, and with it everything before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outlives {
    Power,
    Process,
}

impl Outlives {
    fn of(jobs: &[LedgerOperation]) -> Self {
        let is_hold_alone = |job: &LedgerOperation| matches!(job, LedgerOperation::Open(opening, _) if opening.response.is_none());
        if jobs.iter().all(is_hold_alone) { Self::Process } else { Self::Power }
    }
}

/// What the thread has.
pub(super) struct Writer {
    path: PathBuf,
    options: StoreOptions,
    connection: Connection,
    /// Whether the connection must be opened again.
    broken: bool,
    /// What the connection is set to.
    outlives: Outlives,
    book: Book,
    /// The version of the file that the book was read from.
    version: i64,
    /// Rows of the book that are not written yet.
    arrears: Arrears,
    /// The last postings of members of the book.
    last: LastPostings,
    /// Whether there may be postings that the written rows do not tell of, and that this thread does
    /// not know.
    is_behind: bool,
    /// Where the rates of keys stand that are not written yet, and may not be in the book.
    arrivals: HashMap<LineageId, Time>,
    log: Log,
    /// How many batches in a row had one operation; none, if the last one had several.
    alone: u32,
}

/// Takes what waits, until something comes that is not an operation on money.
fn take_jobs(
    jobs: &mut Vec<LedgerOperation>,
    waiting: &mut mpsc::Receiver<Message>,
) -> Option<Message> {
    let mut bytes: usize = jobs.iter().map(LedgerOperation::bytes).sum();
    while jobs.len() < MAX_BATCH && bytes < MAX_BATCH_BYTES {
        match waiting.try_recv() {
            Ok(Message::Operation(job)) => {
                bytes += job.bytes();
                jobs.push(job);
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
        log: Log,
    ) -> Result<Self> {
        log.watch(&mut connection)?;
        Ok(Self {
            path,
            options,
            connection,
            broken: false,
            outlives: Outlives::Power,
            book: Book::default(),
            version: 0,
            arrears: Arrears::default(),
            last: LastPostings::default(),
            is_behind: true,
            arrivals: HashMap::new(),
            log,
            alone: 1,
        })
    }

    /// Works until it is told to stop, or nobody is left to ask; ends after the thread that moves
    /// the log, so that nothing has the file open when it says that it has stopped.
    pub(super) fn run(mut self, mut waiting: mpsc::Receiver<Message>, mover: JoinHandle<()>) {
        let mut stopped = Vec::new();
        while let Some(first) = waiting.blocking_recv() {
            let mut next = Some(first);
            while let Some(message) = next.take() {
                match message {
                    Message::Operation(first) => next = self.collect(first, &mut waiting),
                    Message::Task(task) => task(&mut self),
                    Message::Stop(reply) => {
                        // Nothing more comes in; what is in is done first.
                        waiting.close();
                        stopped.push(reply);
                    }
                }
                self.log.tend(&self.connection);
            }
        }
        // Whoever opens the file next would let the rows follow as well; of rates, what is lost lets a
        // few more requests through, no harm else.
        let _ = self.write_arrears();
        drop(self);
        let _ = mover.join();
        for reply in stopped {
            let _ = reply.send(());
        }
    }

    /// Takes what waits as well, until something comes that is not an operation on money.
    fn collect(
        &mut self,
        first: LedgerOperation,
        waiting: &mut mpsc::Receiver<Message>,
    ) -> Option<Message> {
        let mut jobs = vec![first];
        let mut other = take_jobs(&mut jobs, waiting);
        if self.had_company() && other.is_none() && jobs.len() < MAX_BATCH {
            std::thread::sleep(GATHER);
            other = take_jobs(&mut jobs, waiting);
        }
        self.alone = if jobs.len() > 1 { 0 } else { self.alone.saturating_add(1) };
        if jobs.iter().all(|job| matches!(job, LedgerOperation::Admit(..))) {
            self.admit(jobs);
        } else {
            self.decide(jobs);
        }
        self.book.clear_idempotency_records();
        if self.book.rows() > MAX_KEPT_ROWS {
            if !self.arrears.is_empty() {
                // What fails here is what the next transaction would find.
                let _ = self.write_arrears();
            }
            self.forget();
        }
        other
    }

    /// Whether the last batch had several operations.
    fn had_company(&self) -> bool {
        self.alone == 0
    }

    /// Requests that cost nothing: counted, and written with whatever comes next.
    fn admit(&mut self, jobs: Vec<LedgerOperation>) {
        let now = self.options.clock.now();
        if let Err(error) = self.catch_up().and_then(|()| self.load(&jobs, now)) {
            return self.refuse(jobs, &error);
        }
        let applied = apply(&mut self.book, jobs, now);
        for lineage in &applied.changes.lineages {
            self.arrivals.insert(lineage.id, lineage.next_arrival);
        }
        applied.committed();
        if self.arrivals.len() > MAX_ARRIVALS && self.write_arrears().is_err() {
            self.arrivals.clear();
        }
    }

    /// Operations on money: one transaction.
    fn decide(&mut self, jobs: Vec<LedgerOperation>) {
        if let Err(error) = self.begin(Outlives::of(&jobs)) {
            return self.refuse(jobs, &error);
        }
        let now = self.options.clock.now();
        if let Err(error) = self.freshen().and_then(|()| self.load(&jobs, now)) {
            return self.refuse(jobs, &error);
        }
        let applied = apply(&mut self.book, jobs, now);
        match self.finish(&applied, now) {
            Ok(()) => applied.committed(),
            Err(error) => {
                self.refuse(applied.into_jobs(), &error);
            }
        }
    }

    fn finish(&mut self, applied: &Applied, now: Time) -> Result<()> {
        let changes = &applied.changes;
        if changes.is_empty() {
            return self.run_cached("ROLLBACK");
        }
        let until = now.plus_micros(self.options.repeats_kept_micros());
        changes::write_entries(&self.connection, applied, until, &mut self.last)?;
        let is_quiet = self.arrears.is_empty() || self.alone >= MANY_ALONE;
        self.arrears.add(changes);
        let are_left = !self.arrears.are_many() && (self.had_company() || !is_quiet);
        let rows = if are_left { Rows::Later } else { Rows::Written };
        self.arrears.move_holds(&self.connection, changes, rows)?;
        if rows == Rows::Later {
            return self.commit(rows);
        }
        self.write_rows()?;
        arrears::all_followed(&self.connection)?;
        self.commit(Rows::Written)
    }

    /// Something else, in a transaction of its own.
    pub(super) fn transact<T>(
        &mut self,
        touches: Touches,
        work: impl FnOnce(&Connection, Time) -> Result<T>,
    ) -> Result<T> {
        self.begin(Outlives::Power)?;
        let now = self.options.clock.now();
        let result = self.freshen().and_then(|()| {
            self.write_rows()?;
            let result = work(&self.connection, now)?;
            arrears::all_followed(&self.connection)?;
            self.commit(Rows::Written)?;
            Ok(result)
        });
        match (&result, touches) {
            (Err(_), _) => self.undo(),
            (Ok(_), Touches::Money) => self.forget(),
            (Ok(_), Touches::Else) => {}
        }
        result
    }

    /// Writes what was left for later.
    pub(super) fn write_arrears(&mut self) -> Result<()> {
        self.catch_up()?;
        if self.arrears.is_empty() && self.arrivals.is_empty() {
            return Ok(());
        }
        self.transact(Touches::Else, |_, _| Ok(()))
    }

    /// A member's account, as it stands now.
    pub(super) fn account(&mut self, id: MemberId) -> Result<Option<Account>> {
        if self.catch_up().is_err() {
            return arrears::account(&self.connection, id);
        }
        rows::load_member(&self.connection, &mut self.book, id)?;
        Ok(self.book.account(id).cloned())
    }

    /// The state of a key and its successors, as it stands now.
    pub(super) fn lineage(&mut self, id: LineageId) -> Result<Option<Lineage>> {
        if self.catch_up().is_err() {
            return arrears::lineage(&self.connection, id);
        }
        self.load_lineage(id)?;
        Ok(self.book.lineage(id).cloned())
    }

    fn begin(&mut self, outlives: Outlives) -> Result<()> {
        if self.broken {
            self.connection = connection::open(&self.path, Role::Writes, &self.options)?;
            self.log.watch(&mut self.connection)?;
            self.broken = false;
            self.outlives = Outlives::Power;
            self.forget();
        }
        if self.options.power_loss_safe && outlives != self.outlives {
            let level = match outlives {
                Outlives::Power => "FULL",
                Outlives::Process => "NORMAL",
            };
            // Not a cached statement: this is done when it is prepared, not when it is run.
            self.connection.pragma_update(None, "synchronous", level)?;
            self.outlives = outlives;
        }
        self.run_cached("BEGIN IMMEDIATE")
    }

    fn commit(&mut self, rows: Rows) -> Result<()> {
        self.run_cached("COMMIT")?;
        self.is_behind = false;
        if rows == Rows::Written {
            self.arrears = Arrears::default();
            self.arrivals.clear();
        }
        Ok(())
    }

    /// Nothing of a transaction has happened, and nothing that was kept is trusted.
    fn undo(&mut self) {
        self.forget();
        if !self.connection.is_autocommit() && self.run_cached("ROLLBACK").is_err() {
            self.broken = true;
        }
    }

    fn refuse(&mut self, jobs: Vec<LedgerOperation>, error: &Error) {
        self.undo();
        for job in jobs {
            job.refuse(failure::again(error));
        }
    }

    /// Trusts nothing that was kept but how far the rates of keys are, which is written nowhere else.
    fn forget(&mut self) {
        for id in self.arrears.lineages() {
            if let Some(Lineage { next_arrival, .. }) = self.book.lineage(id) {
                let known = self.arrivals.entry(id).or_default();
                *known = (*known).max(*next_arrival);
            }
        }
        self.book = Book::default();
        self.arrears = Arrears::default();
        self.last.clear();
        self.is_behind = true;
    }

    /// Outside a transaction: what is kept is true, and rows that are read tell of all postings that
    /// this thread does not know.
    fn catch_up(&mut self) -> Result<()> {
        if !self.broken {
            self.look_for_others()?;
            if !self.is_behind {
                return Ok(());
            }
            if !arrears::are_any(&self.connection)? {
                self.is_behind = false;
                return Ok(());
            }
        }
        self.transact(Touches::Else, |_, _| Ok(()))
    }

    /// The same in a transaction.
    fn freshen(&mut self) -> Result<()> {
        self.look_for_others()?;
        if self.is_behind { arrears::follow(&self.connection) } else { Ok(()) }
    }

    /// Forgets what was kept if another process has written since.
    fn look_for_others(&mut self) -> Result<()> {
        let mut query = self.connection.prepare_cached("PRAGMA data_version")?;
        let version = query.query_row([], |row| row.get(0))?;
        drop(query);
        if version != self.version {
            self.forget();
            self.version = version;
        }
        Ok(())
    }

    /// Puts the rows in the book that the jobs need and that are not there.
    fn load(&mut self, jobs: &[LedgerOperation], now: Time) -> Result<()> {
        for job in jobs {
            match job {
                LedgerOperation::Open(opening, _) => {
                    let request = &opening.request;
                    rows::load_member(&self.connection, &mut self.book, request.member)?;
                    self.load_lineage(request.lineage)?;
                    if let Some(key) = &request.idempotency {
                        let word = (request.lineage, &*key.key);
                        rows::load_repeat(&self.connection, &mut self.book, word, now)?;
                    }
                }
                LedgerOperation::Close(closing, _) => {
                    let (member, id) = (closing.end.member, closing.end.id);
                    if !self.book.has_hold(id) {
                        let Some(hold) = rows::hold(&self.connection, member, id)? else {
                            continue;
                        };
                        rows::load_member(&self.connection, &mut self.book, member)?;
                        self.load_lineage(hold.lineage)?;
                        self.book.add_hold(hold);
                    }
                    rows::load_word(&self.connection, &mut self.book, id, now)?;
                }
                LedgerOperation::Admit(member, lineage, _) => {
                    rows::load_member(&self.connection, &mut self.book, *member)?;
                    self.load_lineage(*lineage)?;
                }
                LedgerOperation::Post(transfer, ..) => {
                    rows::load_member(&self.connection, &mut self.book, transfer.member)?;
                    if let Some(reference) = &transfer.reference {
                        let reference = (transfer.member, &**reference);
                        rows::load_referred(&self.connection, &mut self.book, reference)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn load_lineage(&mut self, id: LineageId) -> Result<()> {
        if self.book.lineage(id).is_none()
            && let Some(mut lineage) = rows::lineage(&self.connection, id)?
        {
            if let Some(arrival) = self.arrivals.get(&id) {
                lineage.next_arrival = lineage.next_arrival.max(*arrival);
            }
            self.book.add_lineage(lineage);
        }
        Ok(())
    }

    /// Writes what was left for later, inside a transaction that then says so.
    fn write_rows(&self) -> Result<()> {
        self.arrears.write(&self.connection, &self.book, &self.last)?;
        if self.arrivals.is_empty() {
            return Ok(());
        }
        let mut update = self.connection.prepare_cached(
            "UPDATE lineages SET next_arrival = max(next_arrival, ?2) WHERE id = ?1",
        )?;
        for (lineage, arrival) in &self.arrivals {
            update.execute(params![lineage.0, arrival.micros()])?;
        }
        Ok(())
    }

    fn run_cached(&self, sql: &str) -> Result<()> {
        self.connection.prepare_cached(sql)?.execute([])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
