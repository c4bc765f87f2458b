//! The state in a PostgreSQL database, which any number of service processes share.
//!
//! Operations that move money run in batches (`writer`, `load`, `save`), under a lock on the row of each
//! member. Everything else runs on a pooled connection. The clock is the database's.

mod config;
mod connection;
mod error;
mod executor;
mod load;
mod pool;
mod save;
mod schema;
mod statements;
mod writer;

use std::sync::Arc;

use config::PgConfig;
use connection::PgConnection;
use pool::{Pool, PooledConnection};
use writer::Writer;

use crate::batch::LedgerOperation;
use crate::error::Result;
use crate::executor::for_postgres;
use crate::usage::rebuild;
use crate::{LedgerCheck, ResponseEvent, SchemaState, StoreOptions, check};

pub(crate) use error::timed_out;
pub(crate) use pool::pooled;
pub(crate) use statements::{ACCOUNT, LINEAGE};

/// Existing events, as after a retry, are kept.
const APPEND_EVENTS: &str = "INSERT INTO response_events (response, sequence, event) \
    SELECT $1, n.sequence, n.event FROM unnest($2::bigint[], $3::bytea[]) AS n (sequence, event) \
    ON CONFLICT DO NOTHING";

/// A batch writes receipts and usage in one statement, which waits for this lock before it writes either.
const LOCK_USAGE: &str = "SET LOCAL statement_timeout = 0; \
    LOCK TABLE usage, usage_totals IN SHARE ROW EXCLUSIVE MODE";

const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \
    SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0";

#[derive(Debug)]
pub struct Postgres {
    writer: Writer,
    pool: Pool,
    options: StoreOptions,
}

impl Postgres {
    pub(crate) async fn schema(url: &str, options: &StoreOptions) -> Result<SchemaState> {
        let mut connection = PgConnection::open(&PgConfig::parse(url, options)?).await?;
        schema::state(&mut connection.client).await
    }

    pub(crate) async fn migrate(url: &str, options: &StoreOptions) -> Result<SchemaState> {
        let mut connection = PgConnection::open(&PgConfig::parse(url, options)?).await?;
        schema::migrate(&mut connection.client).await
    }

    pub(crate) async fn open(url: &str, options: &StoreOptions) -> Result<Self> {
        let config = Arc::new(PgConfig::parse(url, options)?);
        let mut connection = PgConnection::open(&config).await?;
        schema::state(&mut connection.client).await?.require_current()?;
        let writer = Writer::start(&config);
        let pool = Pool::new(config, options.connections);
        Ok(Self { writer, pool, options: options.clone() })
    }

    pub(crate) fn options(&self) -> &StoreOptions {
        &self.options
    }

    pub(crate) fn submit(&self, operation: LedgerOperation) -> Result<()> {
        self.writer.submit(operation)
    }

    pub(crate) async fn acquire(&self) -> Result<PooledConnection> {
        self.pool.acquire().await
    }

    pub(crate) async fn append_events(&self, id: &str, events: &[ResponseEvent]) -> Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        let sequences: Vec<i64> = events.iter().map(|event| event.sequence).collect();
        let bodies: Vec<&[u8]> = events.iter().map(|event| &event.event[..]).collect();
        pooled!(self, connection => async {
            let statement = connection.statement(APPEND_EVENTS).await?;
            let appended = connection.client.execute(&statement, &[&id, &sequences, &bodies]).await;
            appended.map(drop).map_err(error::missing("response"))
        })
        .await
    }

    /// Runs without the timeout.
    pub(crate) async fn rebuild_usage(&self) -> Result<()> {
        let mut pooled = self.acquire().await?;
        let client = &mut pooled.connection.client;
        let rebuilt = async {
            let transaction = client.transaction().await?;
            transaction.batch_execute(LOCK_USAGE).await?;
            transaction.batch_execute(&for_postgres(&rebuild())).await?;
            Ok(transaction.commit().await?)
        };
        let result = rebuilt.await;
        pooled.release(result)
    }

    /// Checks one snapshot without the timeout.
    pub(crate) async fn check_ledger(&self) -> Result<LedgerCheck> {
        let mut pooled = self.acquire().await?;
        let connection = &mut pooled.connection;
        let checked = async {
            connection.client.batch_execute(BEGIN_SNAPSHOT).await?;
            let checked = check::run(connection, check::stored_holds()).await;
            connection.finish(checked).await
        };
        let result = checked.await;
        pooled.release(result)
    }

    pub(crate) async fn close(&self) {
        self.writer.close().await;
        self.pool.close();
    }
}
