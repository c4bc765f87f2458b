//! Connections that only read, a bounded number of them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection::{self, Role};
use crate::backend::Result;
use crate::{Error, StoreOptions};

/// How many reads that take long may run at the same time.
const MAX_LONG_READS: usize = 1;

/// The connections.
pub(super) struct Readers {
    path: PathBuf,
    options: StoreOptions,
    idle: Mutex<Vec<Connection>>,
    short: Arc<Semaphore>,
    long: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: PathBuf, options: StoreOptions) -> Self {
        let short = Arc::new(Semaphore::new(options.connections.max(1)));
        let long = Arc::new(Semaphore::new(MAX_LONG_READS));
        Self { path, options, idle: Mutex::default(), short, long }
    }

    /// Reads something quickly read.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = self.permit(&self.short).await?;
        let readers = Arc::clone(self);
        // The permit goes with the work: whoever asked may leave before it is done.
        spawn(move || {
            let _permit = permit;
            let idle = readers.idle().pop();
            let connection = match idle {
                Some(connection) => connection,
                None => connection::open(&readers.path, Role::Reads, &readers.options)?,
            };
            let result = work(&connection)?;
            // One that failed is not kept: the next one opens the file anew.
            if !readers.short.is_closed() {
                readers.idle().push(connection);
            }
            Ok(result)
        })
        .await
    }

    /// Reads something that takes long, on a connection of its own.
    pub(super) async fn read_long<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = self.permit(&self.long).await?;
        let readers = Arc::clone(self);
        spawn(move || {
            let _permit = permit;
            work(&mut connection::open(&readers.path, Role::Reads, &readers.options)?)
        })
        .await
    }

    /// Waits for what runs, for a while; nothing begins after it.
    pub(super) async fn close(&self) {
        let all = u32::try_from(self.options.connections.max(1)).unwrap_or(u32::MAX);
        let short = tokio::time::timeout(self.options.wait, self.short.acquire_many(all)).await;
        let long = tokio::time::timeout(self.options.wait, self.long.acquire()).await;
        self.short.close();
        self.long.close();
        drop((short, long));
        self.idle().clear();
    }

    async fn permit(&self, places: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit> {
        let permit = Arc::clone(places).acquire_owned();
        match tokio::time::timeout(self.options.wait, permit).await {
            Ok(permit) => permit.map_err(|_| Error::Closed),
            Err(_) => Err(Error::Busy),
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs what waits for the disk where waiting is allowed.
pub(super) async fn spawn<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(Error::Unavailable(error.into())))
}
