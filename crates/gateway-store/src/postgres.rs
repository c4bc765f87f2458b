//! The state in a PostgreSQL database, which any number of service processes share.
//!
//! Operations that move money run in batches (`writer`, `load`, `save`), under a lock on the row of each
//! member. Everything else is a separate transaction on a pooled connection. The clock is the
//! database's.

mod accounts;
mod alerts;
mod audit;
mod check;
mod config;
mod connection;
mod error;
mod expiry;
mod keys;
mod load;
mod media;
mod members;
mod pool;
mod processes;
mod research;
mod responses;
mod rows;
mod save;
mod schema;
mod sessions;
mod statements;
mod usage;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use config::PgConfig;
use connection::PgConnection;
use pool::{Pool, pooled};
use rows::{RowReader, Value};
use writer::Writer;

use crate::batch::LedgerOperation;
use crate::error::Result;
use crate::records::first;
use crate::{Calendar, Error, LedgerCheck, SchemaState, StoreOptions};

#[derive(Debug)]
pub struct Postgres {
    writer: Writer,
    pool: Pool,
    timeout: Duration,
    idempotency_retention_micros: i64,
    calendar: Calendar,
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
        match schema::state(&mut connection.client).await? {
            SchemaState::Current(_) => {}
            state @ (SchemaState::Empty | SchemaState::Old(_)) => {
                return Err(Error::NotMigrated(state));
            }
            state @ SchemaState::Unknown(_) => return Err(Error::Schema(state)),
        }
        let writer = Writer::start(&config);
        Ok(Self {
            writer,
            pool: Pool::new(config, options.connections),
            timeout: options.timeout,
            idempotency_retention_micros: options.idempotency_retention_micros(),
            calendar: options.calendar.clone(),
        })
    }

    pub(crate) fn submit(&self, operation: LedgerOperation) -> Result<()> {
        self.writer.submit(operation)
    }

    async fn rows<T>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        read: impl Fn(&mut RowReader<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let found = pooled!(self, connection => connection.rows(sql, values))?;
        found.iter().map(|row| read(&mut RowReader::new(row))).collect()
    }

    async fn row<T>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        read: impl Fn(&mut RowReader<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let found = pooled!(self, connection => connection.row(sql, values))?;
        found.map(|row| read(&mut RowReader::new(&row))).transpose()
    }

    /// Executes a statement; returns the number of changed rows.
    async fn run(&self, sql: &'static str, values: &[Value<'_>]) -> Result<u64> {
        pooled!(self, connection => connection.run(sql, values))
    }

    /// Runs without the timeout.
    pub(crate) async fn check_ledger(&self) -> Result<LedgerCheck> {
        let mut pooled = self.pool.acquire().await?;
        let result = check::run(&mut pooled.connection.client).await;
        pooled.release(result)
    }

    pub(crate) async fn setting(&self, name: &str) -> Result<Option<String>> {
        self.row("SELECT value FROM settings WHERE name = $1", &[&name], |row| first(row)).await
    }

    pub(crate) async fn set_setting_once(&self, name: &str, value: &str) -> Result<String> {
        let sql =
            "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
        self.run(sql, &[&name, &value]).await?;
        self.setting(name).await?.ok_or(Error::Missing("setting"))
    }

    pub(crate) async fn ping(&self) -> Result<()> {
        self.run("SELECT 1", &[]).await.map(drop)
    }

    pub(crate) async fn close(&self) {
        self.writer.close().await;
        self.pool.close();
    }
}
