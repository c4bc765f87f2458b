//! A pool of connections for everything but batches.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::config::PgConfig;
use super::connection::PgConnection;
use super::error::timed_out;
use crate::error::Result;
use crate::{Error, ErrorKind};

/// Runs a future on a pooled connection, up to the timeout.
macro_rules! pooled {
    ($database:expr, $connection:ident => $work:expr) => {
        async {
            let mut pooled = $database.acquire().await?;
            let $connection = &mut pooled.connection;
            let result = tokio::time::timeout($database.options().timeout, $work).await;
            pooled.release(result.unwrap_or_else(|_| Err(crate::postgres::timed_out())))
        }
    };
}
pub(crate) use pooled;

#[derive(Debug)]
pub(super) struct Pool {
    config: Arc<PgConfig>,
    permits: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<PgConnection>>>,
}

/// A connection in use. Dropped without [`PooledConnection::release`], it is closed, because a
/// statement may still run on it.
#[derive(Debug)]
pub(crate) struct PooledConnection {
    pub(crate) connection: PgConnection,
    idle: Arc<Mutex<Vec<PgConnection>>>,
    permit: OwnedSemaphorePermit,
}

impl Pool {
    pub(super) fn new(config: Arc<PgConfig>, size: usize) -> Self {
        let size = size.clamp(1, Semaphore::MAX_PERMITS);
        Self { config, permits: Arc::new(Semaphore::new(size)), idle: Arc::default() }
    }

    pub(super) async fn acquire(&self) -> Result<PooledConnection> {
        let permit = Arc::clone(&self.permits).acquire_owned();
        let permit = timeout(self.config.options.timeout, permit).await;
        let permit = permit.map_err(|_| timed_out())?.map_err(|_| Error::Closed)?;
        let connection = match self.idle_connection() {
            Some(connection) => connection,
            None => PgConnection::open(&self.config).await?,
        };
        Ok(PooledConnection { connection, idle: Arc::clone(&self.idle), permit })
    }

    fn idle_connection(&self) -> Option<PgConnection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|connection| !connection.client.is_closed());
        idle.pop()
    }

    /// Rejects new connections; those in use are closed after their work.
    pub(super) fn close(&self) {
        self.permits.close();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl PooledConnection {
    /// Returns the connection to the pool if it is certainly outside a transaction: after a success,
    /// or after an error of the caller, whose transaction was rolled back when it was dropped. After
    /// any other error it is closed, and the server rolls back.
    pub(crate) fn release<T>(self, result: Result<T>) -> Result<T> {
        let is_outside =
            result.as_ref().map_or_else(|error| error.kind() == ErrorKind::Caller, |_| true);
        if is_outside && !self.connection.client.is_closed() && !self.permit.semaphore().is_closed()
        {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(self.connection);
        }
        result
    }
}
