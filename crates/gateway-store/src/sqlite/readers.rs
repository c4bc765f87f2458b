//! A pool of read-only connections.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::connection::{self, ConnectionMode};
use crate::error::Result;
use crate::{Error, StoreOptions};

const MAX_LONG_READS: usize = 1;

#[derive(Debug)]
pub(super) struct ReaderPool {
    path: PathBuf,
    options: StoreOptions,
    idle: Mutex<Vec<Connection>>,
    short: Arc<Semaphore>,
    long: Arc<Semaphore>,
}

impl ReaderPool {
    pub(super) fn new(path: PathBuf, options: StoreOptions) -> Self {
        let short = Arc::new(Semaphore::new(options.connections.max(1)));
        let long = Arc::new(Semaphore::new(MAX_LONG_READS));
        Self { path, options, idle: Mutex::default(), short, long }
    }

    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.spawn_with_permit(&self.short, |readers| {
            let idle = readers.idle().pop();
            let connection = idle.map_or_else(|| readers.connect(), Ok)?;
            let result = work(&connection)?;
            // A connection that failed is dropped.
            if !readers.short.is_closed() {
                readers.idle().push(connection);
            }
            Ok(result)
        })
        .await
    }

    /// Runs a long query on a new connection.
    pub(super) async fn read_long<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.spawn_with_permit(&self.long, |readers| work(&mut readers.connect()?)).await
    }

    /// Rejects new queries and waits for running ones, up to the timeout.
    pub(super) async fn close(&self) {
        let all = u32::try_from(self.options.connections.max(1)).unwrap_or(u32::MAX);
        let short = tokio::time::timeout(self.options.timeout, self.short.acquire_many(all)).await;
        let long = tokio::time::timeout(self.options.timeout, self.long.acquire()).await;
        self.short.close();
        self.long.close();
        drop((short, long));
        self.idle().clear();
    }

    async fn spawn_with_permit<T: Send + 'static>(
        self: &Arc<Self>,
        semaphore: &Arc<Semaphore>,
        work: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = Arc::clone(semaphore).acquire_owned();
        let permit = tokio::time::timeout(self.options.timeout, permit).await;
        let permit = permit.map_err(|_| Error::Busy)?.map_err(|_| Error::Closed)?;
        let readers = Arc::clone(self);
        // The permit moves into the closure, because the caller may be cancelled before it ends.
        spawn(move || {
            let _permit = permit;
            work(&readers)
        })
        .await
    }

    fn connect(&self) -> Result<Connection> {
        connection::open(&self.path, ConnectionMode::ReadOnly, &self.options)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) async fn spawn<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(Error::Unavailable(error.into())))
}
