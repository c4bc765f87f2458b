//! One connection to the database.

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

use tokio::sync::OnceCell;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, Statement};

use super::config::PgConfig;
use super::error::timed_out;
use super::statements::Statements;
use crate::error::Result;
use crate::executor::for_postgres;

/// Plans for statements that name every row by its key, whatever the planner assumes about a table that
/// was empty when it was analyzed.
const PLAN_BY_KEY: &str = "SET enable_seqscan = off; SET enable_bitmapscan = off; \
    SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off; \
    SET plan_cache_mode = force_generic_plan";

/// Maximum number of prepared statements per connection, besides those of batches.
const MAX_PREPARED: usize = 256;

pub(crate) struct PgConnection {
    pub(super) client: Client,
    /// The task that drives the connection, unless a [`ConnectionDriver`] does.
    task: Option<JoinHandle<()>>,
    prepared: HashMap<String, Statement>,
    statements: OnceCell<Statements>,
}

/// Drives a connection within the task that uses it, because waking another task for every packet costs
/// more than the packet.
pub(super) struct ConnectionDriver(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl ConnectionDriver {
    /// Runs a future and drives the connection meanwhile.
    pub(super) async fn run<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(done);
            }
            // A closed connection is dropped, which fails the requests that wait for it.
            self.0.take_if(|connection| connection.as_mut().poll(context).is_ready());
            Poll::Pending
        })
        .await
    }
}

impl PgConnection {
    /// Opens a connection that a spawned task drives.
    pub(super) async fn open(config: &PgConfig) -> Result<Self> {
        let (mut connection, driver) = Self::open_in_time(config, "").await?;
        connection.task = driver.0.map(tokio::spawn);
        Ok(connection)
    }

    /// Opens a connection for batches, which the returned driver must drive.
    pub(super) async fn open_driven(config: &PgConfig) -> Result<(Self, ConnectionDriver)> {
        Self::open_in_time(config, PLAN_BY_KEY).await
    }

    async fn open_in_time(config: &PgConfig, settings: &str) -> Result<(Self, ConnectionDriver)> {
        let opened = timeout(config.options.timeout, Self::connect(config, settings)).await;
        opened.map_err(|_| timed_out())?
    }

    async fn connect(config: &PgConfig, settings: &str) -> Result<(Self, ConnectionDriver)> {
        let (connection, mut driver) = match Self::connect_with(config, &config.driver).await {
            // `prefer` accepts unencrypted connections, so it must not fail because of a certificate
            // that nobody asked to verify.
            Err(error)
                if config.driver.get_ssl_mode() == SslMode::Prefer
                    && error.as_db_error().is_none() =>
            {
                let mut plain = config.driver.clone();
                plain.ssl_mode(SslMode::Disable);
                Self::connect_with(config, &plain).await.map_err(|_| error)?
            }
            other => other?,
        };
        let timeout_ms = config.options.timeout.as_millis().max(1);
        let durable = if config.options.power_loss_safe { "on" } else { "off" };
        let settings = format!(
            "SET client_min_messages = error; SET synchronous_commit = {durable}; \
             SET lock_timeout = {timeout_ms}; SET statement_timeout = {timeout_ms}; \
             SET idle_in_transaction_session_timeout = {timeout_ms}; {settings}"
        );
        driver.run(connection.client.batch_execute(&settings)).await?;
        Ok((connection, driver))
    }

    async fn connect_with(
        config: &PgConfig,
        driver: &Config,
    ) -> std::result::Result<(Self, ConnectionDriver), tokio_postgres::Error> {
        let (client, connection) = driver.connect(config.tls.clone()).await?;
        let driver = ConnectionDriver(Some(Box::pin(async move {
            // Pending requests report the error.
            let _ = connection.await;
        })));
        let (task, prepared, statements) = (None, HashMap::new(), OnceCell::new());
        Ok((Self { client, task, prepared, statements }, driver))
    }

    pub(super) async fn statements(&self) -> Result<&Statements> {
        match self.statements.get() {
            Some(statements) => Ok(statements),
            None => Box::pin(self.prepare()).await,
        }
    }

    async fn prepare(&self) -> Result<&Statements> {
        let prepare = || Box::pin(Statements::prepare(&self.client));
        self.statements.get_or_try_init(prepare).await.map_err(Into::into)
    }

    /// A statement, prepared on first use.
    pub(super) async fn statement(&mut self, sql: &str) -> Result<Statement> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(&for_postgres(sql)).await?;
        if self.prepared.len() >= MAX_PREPARED {
            self.prepared.clear();
        }
        self.prepared.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

/// Closes the socket even if a statement hangs; the server has the same timeouts and rolls back.
impl Drop for PgConnection {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl fmt::Debug for PgConnection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PgConnection")
            .field("is_closed", &self.client.is_closed())
            .finish_non_exhaustive()
    }
}
