//! The state of the service in either database.
//!
//! Operations are written once, as statements or async functions for an
//! [`Executor`](crate::executor::Executor). On SQLite they run on the thread of a connection.

use std::path::{Path, PathBuf};

use ledger::{
    EndResult, Hold, LineageId, MemberId, RateLimitStatus, Refusal, Transfer, TransferResult,
};
use tokio::sync::oneshot;

use crate::batch::{AuditedTransfer, FreeRequest, LedgerOperation, Pending};
use crate::error::Result;
use crate::executor::Executor;
use crate::postgres::Postgres;
use crate::row::Read;
use crate::sqlite::Sqlite;
use crate::value::{Value, values};
use crate::{Actor, DatabaseLocation, Error, HoldClosing, NewHold, SchemaState, StoreOptions};

/// Maximum number of rows of one page.
const MAX_PAGE: u32 = 1000;
/// Maximum holds, idempotency keys, responses or media runs that expire in one transaction.
const MAX_EXPIRED: u32 = 1000;

#[derive(Debug)]
pub enum Store {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

/// Runs a future that uses `db`. On SQLite it runs as `read`, `write` or `write_ledger` of
/// [`Sqlite`]; on PostgreSQL each of its statements is a transaction. Futures of PostgreSQL take
/// kilobytes and are boxed, so that requests on SQLite do not carry them.
macro_rules! statements {
    ($store:ident.$access:ident, $db:ident => $work:expr) => {
        match $store {
            Store::Sqlite(sqlite) => sqlite.$access(move |$db| crate::executor::ready($work)).await,
            Store::Postgres(postgres) => {
                Box::pin(crate::postgres::pooled!(postgres, $db => $work)).await
            }
        }
    };
}

/// Like `statements`, but the future is one transaction on PostgreSQL, too.
macro_rules! transaction {
    ($store:ident.$access:ident, $db:ident => $work:expr) => {
        match $store {
            Store::Sqlite(sqlite) => sqlite.$access(move |$db| crate::executor::ready($work)).await,
            Store::Postgres(postgres) => {
                let work = crate::postgres::pooled!(postgres, $db => async {
                    $db.begin().await?;
                    let result = $work.await;
                    $db.finish(result).await
                });
                Box::pin(work).await
            }
        }
    };
}

mod accounts;
mod alerts;
mod expiry;
mod keys;
mod media;
mod members;
mod processes;
mod research;
mod responses;
mod sessions;

pub use alerts::{Alert, AlertDelivery, Credit, NewAlert};
pub use processes::{ProcessReport, ProviderAction, SharedState};
pub use sessions::{MAX_SESSIONS, NewSession, WebSession};

#[cfg(test)]
pub(crate) use keys::KEY;

impl Store {
    pub async fn schema(
        location: &DatabaseLocation,
        options: &StoreOptions,
    ) -> Result<SchemaState> {
        tracing::debug!(?location, "reading the schema version");
        match location {
            DatabaseLocation::Sqlite(path) => Sqlite::schema(path, options).await,
            DatabaseLocation::Postgres(url) => Postgres::schema(url, options).await,
        }
    }

    /// Migrates the schema to the version of this program; returns the state before.
    pub async fn migrate(
        location: &DatabaseLocation,
        options: &StoreOptions,
    ) -> Result<SchemaState> {
        match location {
            DatabaseLocation::Sqlite(path) => Sqlite::migrate(path, options).await,
            DatabaseLocation::Postgres(url) => Postgres::migrate(url, options).await,
        }
    }

    pub async fn open(location: &DatabaseLocation, options: &StoreOptions) -> Result<Self> {
        tracing::debug!(?location, "opening the database");
        match location {
            DatabaseLocation::Sqlite(path) => Sqlite::open(path, options).await.map(Self::Sqlite),
            DatabaseLocation::Postgres(url) => {
                Postgres::open(url, options).await.map(Self::Postgres)
            }
        }
    }

    /// Locks a SQLite file, from which only one process may serve, until the store is closed or the
    /// process ends. PostgreSQL needs no lock.
    pub async fn acquire_serving_lock(&self) -> Result<()> {
        match self {
            Self::Sqlite(database) => database.acquire_serving_lock().await,
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Writes a copy of the database to a new file while the service runs.
    pub async fn backup(&self, to: &Path) -> Result<()> {
        match self {
            Self::Sqlite(database) => database.backup(to).await,
            Self::Postgres(_) => {
                Err(Error::Refused("use pg_dump to back up a PostgreSQL database".into()))
            }
        }
    }

    /// Replaces a database that no process serves from by a backup; returns the new path of the
    /// replaced file.
    pub async fn restore(
        from: &Path,
        location: &DatabaseLocation,
        options: &StoreOptions,
    ) -> Result<Option<PathBuf>> {
        match location {
            DatabaseLocation::Sqlite(path) => Sqlite::restore(from, path, options).await,
            DatabaseLocation::Postgres(_) => {
                Err(Error::Refused("use pg_restore to restore a PostgreSQL database".into()))
            }
        }
    }

    pub async fn ping(&self) -> Result<()> {
        match self {
            Self::Sqlite(database) => database.ping().await,
            Self::Postgres(_) => self.run("SELECT 1", values![]).await.map(drop),
        }
    }

    /// Completes submitted operations and closes the database.
    pub async fn close(&self) {
        match self {
            Self::Sqlite(database) => database.close().await,
            Self::Postgres(database) => database.close().await,
        }
    }

    /// Opens a hold before any work is done.
    pub fn hold(
        &self,
        hold: NewHold,
    ) -> impl Future<Output = Result<std::result::Result<Hold, Refusal>>> + Send {
        self.submit(LedgerOperation::Open, hold)
    }

    /// Ends a hold. A hold ends once, however often this is called.
    pub fn end(&self, closing: HoldClosing) -> impl Future<Output = Result<EndResult>> + Send {
        self.submit(LedgerOperation::Close, closing)
    }

    /// Counts a free request against the key's rate limit.
    pub async fn admit(
        &self,
        member: MemberId,
        lineage: LineageId,
    ) -> Result<std::result::Result<Option<RateLimitStatus>, Refusal>> {
        self.submit(LedgerOperation::Admit, FreeRequest { member, lineage }).await
    }

    /// Posts and audits a top-up or an adjustment. A transfer with a reference is posted once.
    pub async fn post(
        &self,
        transfer: Transfer,
        by: &Actor,
    ) -> Result<std::result::Result<TransferResult, Refusal>> {
        let audited = AuditedTransfer { transfer, by: by.clone() };
        self.submit(LedgerOperation::Post, audited).await
    }

    fn submit<O, T>(
        &self,
        kind: impl FnOnce(Box<Pending<O, T>>) -> LedgerOperation,
        operation: O,
    ) -> impl Future<Output = Result<T>> {
        let (reply, result) = oneshot::channel();
        // Boxed before the future exists, so that the future stays small.
        let operation = kind(Box::new(Pending::new(operation, reply)));
        async move {
            match self {
                Self::Sqlite(database) => database.submit(operation).await?,
                Self::Postgres(database) => database.submit(operation)?,
            }
            result.await.unwrap_or(Err(Error::Closed))
        }
    }

    fn options(&self) -> &StoreOptions {
        match self {
            Self::Sqlite(database) => database.options(),
            Self::Postgres(database) => database.options(),
        }
    }

    /// Writes rows that SQLite has deferred, so that queries find them.
    async fn write_deferred(&self) -> Result<()> {
        match self {
            Self::Sqlite(database) => database.write_deferred().await,
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Returns the first row of a query.
    async fn row<T: Read + Send + 'static>(
        &self,
        sql: impl Into<String>,
        values: Vec<Value<'_>>,
    ) -> Result<Option<T>> {
        let (sql, values) = (sql.into(), owned(values));
        statements!(self.read, db => db.row(&sql, values))
    }

    async fn rows<T: Read + Send + 'static>(
        &self,
        sql: impl Into<String>,
        values: Vec<Value<'_>>,
    ) -> Result<Vec<T>> {
        let (sql, values) = (sql.into(), owned(values));
        statements!(self.read, db => db.rows(&sql, values))
    }

    /// Executes a statement; returns the number of changed rows.
    async fn run(&self, sql: &'static str, values: Vec<Value<'_>>) -> Result<u64> {
        let values = owned(values);
        statements!(self.write, db => db.run(sql, values))
    }
}

/// The row limit of one page.
fn page(limit: u32) -> Value<'static> {
    limit.min(MAX_PAGE).into()
}

fn owned(values: Vec<Value<'_>>) -> Vec<Value<'static>> {
    values.into_iter().map(Value::into_owned).collect()
}
