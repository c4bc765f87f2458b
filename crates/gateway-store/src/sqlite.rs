//! The state in a SQLite file.
//!
//! One thread writes (`writer`), a pool of connections reads (`readers`), and another thread runs
//! checkpoints (`checkpoint`). Only one process may serve from a file (`files::lock`); others, such as
//! the command line, may read and write at the same time.

mod checkpoint;
mod connection;
mod deferred_rows;
mod error;
mod executor;
mod files;
mod readers;
mod rows;
mod save;
mod schema;
mod writer;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use ledger::{Account, Lineage, LineageId, MemberId};
use rusqlite::Connection;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use crate::batch::LedgerOperation;
use crate::error::Result;
use crate::executor::{Executor, for_sqlite, ready};
use crate::usage::rebuild;
use crate::value::values;
use crate::{Error, LedgerCheck, SchemaState, StatementLine, StoreOptions, check};

use connection::ConnectionMode;
use executor::SqliteExecutor;
use readers::ReaderPool;
use writer::{MAX_WAITING, Writer, WriterMessage};

#[derive(Debug)]
pub struct Sqlite {
    path: PathBuf,
    options: StoreOptions,
    writer: mpsc::Sender<WriterMessage>,
    readers: Arc<ReaderPool>,
    serving_lock: Mutex<Option<File>>,
}

impl Sqlite {
    pub(crate) async fn schema(path: &Path, options: &StoreOptions) -> Result<SchemaState> {
        on_file(path, options, schema::state).await
    }

    pub(crate) async fn migrate(path: &Path, options: &StoreOptions) -> Result<SchemaState> {
        on_file(path, options, schema::migrate).await
    }

    pub(crate) async fn restore(
        from: &Path,
        path: &Path,
        options: &StoreOptions,
    ) -> Result<Option<PathBuf>> {
        let from = from.to_owned();
        on_file(path, options, move |path, options| files::restore(&from, path, options)).await
    }

    pub(crate) async fn open(path: &Path, options: &StoreOptions) -> Result<Self> {
        on_file(path, options, Self::open_blocking).await
    }

    fn open_blocking(path: &Path, options: &StoreOptions) -> Result<Self> {
        if schema::state(path, options)? == SchemaState::Empty {
            return Err(Error::NotMigrated(SchemaState::Empty));
        }
        let connection = connection::open(path, ConnectionMode::ReadWrite, options)?;
        schema::verify(&connection)?;
        connection::use_wal(&connection)?;
        let for_checkpoints = connection::open(path, ConnectionMode::ReadWrite, options)?;
        let (path, options) = (path.to_owned(), options.clone());
        let (writer, waiting) = mpsc::channel(MAX_WAITING);
        let (monitor, checkpointer) = checkpoint::pair();
        let thread = Writer::new(path.clone(), options.clone(), connection, monitor)?;
        let checkpointer = start("store-log", move || checkpointer.run(&for_checkpoints))?;
        start("store-writer", move || thread.run(waiting, checkpointer))?;
        let readers = Arc::new(ReaderPool::new(path.clone(), options.clone()));
        Ok(Self { path, options, writer, readers, serving_lock: Mutex::default() })
    }

    pub(crate) async fn acquire_serving_lock(&self) -> Result<()> {
        let path = self.path.clone();
        if self.serving_lock().is_some() {
            return Ok(());
        }
        let file = readers::spawn(move || files::lock(&path)).await?;
        *self.serving_lock() = Some(file);
        Ok(())
    }

    fn serving_lock(&self) -> MutexGuard<'_, Option<File>> {
        self.serving_lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn backup(&self, to: &Path) -> Result<()> {
        let to = to.to_owned();
        self.readers.read_long(move |db| files::backup(db, &to)).await
    }

    pub(crate) async fn submit(&self, operation: LedgerOperation) -> Result<()> {
        self.send(WriterMessage::Operation(operation)).await
    }

    async fn send(&self, message: WriterMessage) -> Result<()> {
        match self.writer.try_send(message) {
            Ok(()) => Ok(()),
            Err(TrySendError::Closed(_)) => Err(Error::Closed),
            Err(TrySendError::Full(message)) => {
                let sending = Box::pin(self.writer.send(message));
                match tokio::time::timeout(self.options.timeout, sending).await {
                    Ok(sent) => sent.map_err(|_| Error::Closed),
                    Err(_) => Err(Error::Busy),
                }
            }
        }
    }

    pub(crate) fn options(&self) -> &StoreOptions {
        &self.options
    }

    /// Runs a transaction on the writer thread that changes no ledger rows.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut SqliteExecutor<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let work = move |db: &Connection, now| work(&mut SqliteExecutor { db, now });
        self.on_writer(move |writer| writer.transact(work)).await
    }

    /// Runs a transaction on the writer thread that changes rows which the writer caches.
    pub(crate) async fn write_ledger<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut SqliteExecutor<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let work = move |db: &Connection, now| work(&mut SqliteExecutor { db, now });
        self.on_writer(move |writer| writer.transact_ledger(work)).await
    }

    async fn on_writer<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Writer) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, result) = oneshot::channel();
        let task = move |writer: &mut Writer| {
            // The caller may be gone; the transaction is valid all the same.
            let _ = reply.send(work(writer));
        };
        self.send(WriterMessage::Task(Box::new(task))).await?;
        result.await.unwrap_or(Err(Error::Closed))
    }

    /// Runs short queries on a reader connection.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut SqliteExecutor<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let clock = self.options.clock.clone();
        self.readers.read(move |db| work(&mut SqliteExecutor { db, now: clock.now() })).await
    }

    pub(crate) async fn account(&self, member: MemberId) -> Result<Option<Account>> {
        self.on_writer(move |writer| writer.account(member)).await
    }

    pub(crate) async fn lineage(&self, lineage: LineageId) -> Result<Option<Lineage>> {
        self.on_writer(move |writer| writer.lineage(lineage)).await
    }

    pub(crate) async fn statement(
        &self,
        member: MemberId,
        before: i64,
        limit: u32,
    ) -> Result<Vec<StatementLine>> {
        self.read(move |db| rows::statement(db.db, member, before, limit)).await
    }

    /// Writes deferred rows, so that readers find them.
    pub(crate) async fn write_deferred(&self) -> Result<()> {
        self.on_writer(Writer::write_deferred).await
    }

    pub(crate) async fn check_ledger(&self) -> Result<LedgerCheck> {
        let now = self.options.clock.now();
        let work = move |connection: &mut Connection| {
            let snapshot = connection.transaction()?;
            let mut executor = SqliteExecutor { db: &snapshot, now };
            ready(check::run(&mut executor, check::links()))
        };
        self.readers.read_long(work).await
    }

    pub(crate) async fn rebuild_usage(&self) -> Result<()> {
        self.write_ledger(|db| Ok(db.db.execute_batch(&for_sqlite(&rebuild(), 0))?)).await
    }

    /// Checks that the writer thread answers and the file can be read.
    pub(crate) async fn ping(&self) -> Result<()> {
        self.on_writer(|_| Ok(())).await?;
        let sql = "SELECT value FROM settings WHERE name = ''";
        self.read(move |db| ready(db.row::<String>(sql, values![]))).await.map(drop)
    }

    pub(crate) async fn close(&self) {
        let (reply, done) = oneshot::channel();
        if self.writer.send(WriterMessage::Stop(reply)).await.is_ok() {
            let _ = done.await;
        }
        self.readers.close().await;
        self.serving_lock().take();
    }
}

/// Runs blocking work on a database file.
async fn on_file<T: Send + 'static>(
    path: &Path,
    options: &StoreOptions,
    work: impl FnOnce(&Path, &StoreOptions) -> Result<T> + Send + 'static,
) -> Result<T> {
    let (path, options) = (path.to_owned(), options.clone());
    readers::spawn(move || work(&path, &options)).await
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn(work).map_err(|error| Error::Unavailable(error.into()))
}
