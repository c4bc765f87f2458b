//! One connection to the database, and how it is made.

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::config::SslMode;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Row, Statement};

use super::address::Address;
use super::fault::{fault, too_late};
use super::statements::Statements;
use crate::backend::Result;

/// Plans that suit statements which name every row they touch: by its key, one after another,
/// whatever the planner thinks of a table that was empty when it looked.
const BY_KEY: &str = "SET enable_seqscan = off; SET enable_bitmapscan = off; \
    SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off; \
    SET plan_cache_mode = force_generic_plan";

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Batches: rows by their keys.
    Batches,
    /// All else.
    Others,
}

/// One connection.
pub(super) struct Link {
    client: Client,
    /// The task that reads and writes, unless somebody does it by a [`Driver`].
    task: Option<JoinHandle<()>>,
    known: HashMap<&'static str, Statement>,
    statements: OnceCell<Statements>,
}

/// What reads and writes for a connection, while something else runs: in the same task, because
/// to wake another one for every packet costs more than the packet.
pub(super) struct Driver(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Driver {
    /// Does the work, and what it needs of the connection.
    pub(super) async fn run<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(done);
            }
            // A connection that has ended is let go, so that whoever waits for it is told.
            self.0.take_if(|connection| connection.as_mut().poll(context).is_ready());
            Poll::Pending
        })
        .await
    }
}

impl Link {
    /// Connects.
    pub(super) async fn open(address: &Address) -> Result<Self> {
        let (mut link, driver) = Self::make_in_time(address, Purpose::Others).await?;
        // The task ends when the connection does, and is ended with the link.
        link.task = driver.0.map(tokio::spawn);
        Ok(link)
    }

    /// Connects, for batches. Nothing happens on the connection but by the driver.
    pub(super) async fn open_driven(address: &Address) -> Result<(Self, Driver)> {
        Self::make_in_time(address, Purpose::Batches).await
    }

    async fn make_in_time(address: &Address, purpose: Purpose) -> Result<(Self, Driver)> {
        let made = timeout(address.wait(), Self::make(address, purpose)).await;
        made.map_err(|_| too_late())?
    }

    async fn make(address: &Address, purpose: Purpose) -> Result<(Self, Driver)> {
        let (link, mut driver) = match Self::connect(address, address.config()).await {
            // As everywhere else, `prefer` is content with a connection that is not encrypted,
            // so it must not fail for a certificate that nobody asked to have verified.
            Err(error)
                if address.config().get_ssl_mode() == SslMode::Prefer
                    && error.as_db_error().is_none() =>
            {
                let mut plain = address.config().clone();
                plain.ssl_mode(SslMode::Disable);
                Self::connect(address, &plain).await.map_err(|_| fault(error))?
            }
            other => other.map_err(fault)?,
        };
        let settings = settings(address, purpose);
        driver.run(link.client.batch_execute(&settings)).await.map_err(fault)?;
        Ok((link, driver))
    }

    async fn connect(
        address: &Address,
        config: &Config,
    ) -> std::result::Result<(Self, Driver), tokio_postgres::Error> {
        let (client, connection) = config.connect(address.tls()).await?;
        let driver = Driver(Some(Box::pin(async move {
            // Whoever waits for an answer is told what happened.
            let _ = connection.await;
        })));
        let (task, known, statements) = (None, HashMap::new(), OnceCell::new());
        Ok((Self { client, task, known, statements }, driver))
    }

    /// The library's client.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// The library's client, for a transaction.
    pub(super) fn client_mut(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Whether nothing can be asked any more.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// The statements of a batch.
    pub(super) async fn statements(&self) -> Result<&Statements> {
        match self.statements.get() {
            Some(statements) => Ok(statements),
            None => Box::pin(self.prepare()).await,
        }
    }

    async fn prepare(&self) -> Result<&Statements> {
        let prepare = || Box::pin(Statements::prepare(&self.client));
        self.statements.get_or_try_init(prepare).await.map_err(fault)
    }

    /// The rows of a query, prepared when it is asked first.
    pub(super) async fn rows(
        &mut self,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>> {
        let statement = self.statement(sql).await?;
        self.client.query(&statement, values).await.map_err(fault)
    }

    /// The only row of a query, if there is one.
    pub(super) async fn row(
        &mut self,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Row>> {
        let statement = self.statement(sql).await?;
        self.client.query_opt(&statement, values).await.map_err(fault)
    }

    /// How many rows a statement changed.
    pub(super) async fn run(
        &mut self,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<u64> {
        let statement = self.statement(sql).await?;
        self.client.execute(&statement, values).await.map_err(fault)
    }

    /// A statement, prepared when it is asked for first.
    pub(super) async fn statement(&mut self, sql: &'static str) -> Result<Statement> {
        if let Some(statement) = self.known.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql).await.map_err(fault)?;
        self.known.insert(sql, statement.clone());
        Ok(statement)
    }
}

/// A statement that hangs is not waited for: the socket is closed, and the server, which has the
/// same limits, undoes what was begun.
impl Drop for Link {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Link").field("is_closed", &self.is_closed()).finish_non_exhaustive()
    }
}

fn settings(address: &Address, purpose: Purpose) -> String {
    let wait_ms = millis(address.wait());
    let durable = if address.is_power_loss_safe() { "on" } else { "off" };
    let mut settings = format!(
        "SET client_min_messages = error; SET synchronous_commit = {durable}; \
         SET lock_timeout = {wait_ms}; SET statement_timeout = {wait_ms}; \
         SET idle_in_transaction_session_timeout = {wait_ms}"
    );
    if purpose == Purpose::Batches {
        settings.push_str("; ");
        settings.push_str(BY_KEY);
    }
    settings
}

fn millis(time: Duration) -> u128 {
    time.as_millis().max(1)
}
