//! The one thread that writes: what waits at the same time is one transaction.
//!
//! Between transactions it keeps the rows that money is decided by. They stay true because nobody
//! else in this process writes, and `PRAGMA data_version` tells when another process did. Whatever
//! fails, they are forgotten and read again.

use std::collections::HashMap;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use ledger::{Book, LineageId, Time};
use rusqlite::{Connection, params};
use tokio::sync::{mpsc, oneshot};

use super::checkpoint::Log;
use super::connection::{self, Role};
use super::{changes, failure, rows};
use crate::backend::Result;
use crate::batch::{Applied, Job, Needs, apply};
use crate::{Error, Options};

/// The most operations that wait.
pub(super) const MAX_WAITING: usize = 4096;

/// The most operations of one transaction.
const MAX_BATCH: usize = 512;

/// Bytes of answers and responses from which on a transaction takes no more operations: all of it
/// stands in the log before any of it can be moved.
const MAX_BATCH_BYTES: usize = 8 * 1024 * 1024;

/// How long an operation waits for others, where the batch before had several: one commit then
/// serves more of them. Whoever is alone never waits.
const GATHER: Duration = Duration::from_micros(150);

/// The most rows that are kept between transactions, a few hundred bytes each.
const MAX_KEPT_ROWS: usize = 20_000;

/// The most keys whose free requests are counted but not written.
const MAX_ARRIVALS: usize = 10_000;

/// What the thread is asked.
pub(super) enum Message {
    /// An operation on money.
    Job(Job),
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
    fn of(jobs: &[Job]) -> Self {
        let is_hold_alone =
            |job: &Job| matches!(job, Job::Open(opening, _) if opening.response.is_none());
        if jobs.iter().all(is_hold_alone) { Self::Process } else { Self::Power }
    }
}

/// What the thread has.
pub(super) struct Writer {
    path: PathBuf,
    options: Options,
    connection: Connection,
    /// Whether the connection must be opened again.
    broken: bool,
    /// What the connection is set to.
    outlives: Outlives,
    book: Book,
    /// The version of the file that the book was read from.
    version: i64,
    /// Where the rates of keys stand by requests that cost nothing: written with what comes next.
    arrivals: HashMap<LineageId, Time>,
    log: Log,
    /// Whether the last batch had several operations.
    had_company: bool,
}

/// Takes what waits, until something comes that is not an operation on money.
fn take_jobs(jobs: &mut Vec<Job>, waiting: &mut mpsc::Receiver<Message>) -> Option<Message> {
    let mut bytes: usize = jobs.iter().map(Job::bytes).sum();
    while jobs.len() < MAX_BATCH && bytes < MAX_BATCH_BYTES {
        match waiting.try_recv() {
            Ok(Message::Job(job)) => {
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
        options: Options,
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
            arrivals: HashMap::new(),
            log,
            had_company: false,
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
                    Message::Job(first) => next = self.collect(first, &mut waiting),
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
        if !self.arrivals.is_empty() {
            // A count of free requests that is lost lets a few more through, no harm else.
            let _ = self.transact(Touches::Else, |_, _| Ok(()));
        }
        drop(self);
        let _ = mover.join();
        for reply in stopped {
            let _ = reply.send(());
        }
    }

    /// Takes what waits as well, until something comes that is not an operation on money.
    fn collect(&mut self, first: Job, waiting: &mut mpsc::Receiver<Message>) -> Option<Message> {
        let mut jobs = vec![first];
        let mut other = take_jobs(&mut jobs, waiting);
        if self.had_company && other.is_none() && jobs.len() < MAX_BATCH {
            std::thread::sleep(GATHER);
            other = take_jobs(&mut jobs, waiting);
        }
        self.had_company = jobs.len() > 1;
        if jobs.iter().all(|job| matches!(job, Job::Admit(..))) {
            self.admit(jobs);
        } else {
            self.decide(jobs);
        }
        self.book.drop_repeats();
        if self.book.rows() > MAX_KEPT_ROWS {
            self.forget();
        }
        other
    }

    /// Requests that cost nothing: counted, and written with whatever comes next.
    fn admit(&mut self, jobs: Vec<Job>) {
        let now = self.options.clock.now();
        if let Err(error) = self.freshen().and_then(|()| self.load(&jobs, now)) {
            return self.refuse(jobs, &error);
        }
        let applied = apply(&mut self.book, jobs, now);
        for lineage in &applied.changes.lineages {
            self.arrivals.insert(lineage.id, lineage.next_arrival);
        }
        applied.committed();
        if self.arrivals.len() > MAX_ARRIVALS
            && self.transact(Touches::Else, |_, _| Ok(())).is_err()
        {
            self.arrivals.clear();
        }
    }

    /// Operations on money: one transaction.
    fn decide(&mut self, jobs: Vec<Job>) {
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
        self.write_arrivals()?;
        let until = now.plus_micros(self.options.repeats_kept_micros());
        changes::write(&self.connection, applied, until)?;
        self.commit()
    }

    /// Something else, in a transaction of its own.
    pub(super) fn transact<T>(
        &mut self,
        touches: Touches,
        work: impl FnOnce(&Connection, Time) -> Result<T>,
    ) -> Result<T> {
        if touches == Touches::Money {
            self.forget();
        }
        self.begin(Outlives::Power)?;
        let now = self.options.clock.now();
        let result = self.write_arrivals().and_then(|()| {
            let result = work(&self.connection, now)?;
            self.commit()?;
            Ok(result)
        });
        if result.is_err() {
            self.undo();
        }
        result
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

    fn commit(&mut self) -> Result<()> {
        self.run_cached("COMMIT")?;
        self.arrivals.clear();
        Ok(())
    }

    /// Nothing of a transaction has happened, and nothing that was kept is trusted.
    fn undo(&mut self) {
        self.forget();
        if !self.connection.is_autocommit() && self.run_cached("ROLLBACK").is_err() {
            self.broken = true;
        }
    }

    fn refuse(&mut self, jobs: Vec<Job>, error: &Error) {
        self.undo();
        for job in jobs {
            job.refuse(failure::again(error));
        }
    }

    fn forget(&mut self) {
        self.book = Book::default();
    }

    /// Forgets what was kept if another process has written since.
    fn freshen(&mut self) -> Result<()> {
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
    fn load(&mut self, jobs: &[Job], now: Time) -> Result<()> {
        let (connection, book) = (&self.connection, &mut self.book);
        let needs = Needs::of(jobs);
        for member in needs.members {
            rows::load_member(connection, book, member)?;
        }
        for id in needs.lineages {
            if book.lineage(id).is_none()
                && let Some(mut lineage) = rows::lineage(connection, id)?
            {
                if let Some(arrival) = self.arrivals.get(&id) {
                    lineage.next_arrival = lineage.next_arrival.max(*arrival);
                }
                book.add_lineage(lineage);
            }
        }
        for (lineage, word) in needs.repeats {
            rows::load_repeat(connection, book, (lineage, &word), now)?;
        }
        for (member, reference) in needs.references {
            rows::load_referred(connection, book, (member, &reference))?;
        }
        for id in needs.holds {
            rows::load_hold(connection, book, id, now)?;
        }
        Ok(())
    }

    fn write_arrivals(&self) -> Result<()> {
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
