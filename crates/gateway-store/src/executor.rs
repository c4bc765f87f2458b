//! Statements of either database.
//!
//! An operation is written once, as statements for both databases. In their text `$1` is a parameter,
//! `{now}` is the time, `{a|b}` is `a` for PostgreSQL and `b` for SQLite, and `{in $1}` compares with a
//! list. A statement that is empty for a database is skipped.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use ledger::Time;

use crate::Error;
use crate::batch_rows::{BatchWrites, LoadedBatch, RowSet};
use crate::error::Result;
use crate::row::Read;
use crate::value::Value;

/// PostgreSQL's clock in microseconds, so that leases and rates mean the same to all processes.
const CLOCK: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

/// Locks the selected rows until the end of the transaction; SQLite has only one writer.
pub(crate) const LOCKED: &str = "{FOR NO KEY UPDATE|}";
/// Locks the selected rows, without those that another process has locked.
pub(crate) const SKIP_LOCKED: &str = "{FOR NO KEY UPDATE SKIP LOCKED|}";

/// Runs statements on one connection.
pub(crate) trait Executor {
    async fn rows<T: Read>(&mut self, sql: &str, values: Vec<Value<'_>>) -> Result<Vec<T>>;

    /// Executes a statement; returns the number of changed rows. A violated unique constraint is
    /// [`Error::Exists`] of `unique`, if given.
    async fn execute(
        &mut self,
        sql: &str,
        values: Vec<Value<'_>>,
        unique: Option<&'static str>,
    ) -> Result<u64>;

    /// Begins a transaction on the ledger, locks its members and loads the rows. On SQLite it is the
    /// transaction that runs already.
    async fn load(&mut self, needed: &RowSet) -> Result<LoadedBatch>;

    /// Writes the changes of the loaded rows and commits.
    async fn save(&mut self, writes: BatchWrites<'_>) -> Result<()>;

    /// Ends the transaction of [`Executor::load`], which has written nothing.
    async fn cancel(&mut self) -> Result<()>;

    async fn run(&mut self, sql: &str, values: Vec<Value<'_>>) -> Result<u64> {
        self.execute(sql, values, None).await
    }

    /// Returns the first row.
    async fn row<T: Read>(&mut self, sql: &str, values: Vec<Value<'_>>) -> Result<Option<T>> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// Whether a query of `true` finds a row.
    async fn exists(&mut self, sql: &str, values: Vec<Value<'_>>) -> Result<bool> {
        Ok(self.row::<bool>(sql, values).await?.is_some())
    }

    async fn now(&mut self) -> Result<Time> {
        self.row("SELECT {now}", Vec::new()).await?.ok_or(Error::Missing("clock"))
    }
}

/// The result of a future that never waits.
pub(crate) fn ready<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(Error::Closed),
    }
}

/// The text of a statement for PostgreSQL.
pub(crate) fn for_postgres(sql: &str) -> String {
    let choose = |text: &str| match text.strip_prefix("in ") {
        Some(list) => format!("= ANY({list})"),
        None => text.split_once('|').map_or(text, |(first, _)| first).to_owned(),
    };
    expand(&sql.replace("{now}", CLOCK), choose)
}

/// The text of a statement for SQLite, where `{now}` is the parameter of this number.
pub(crate) fn for_sqlite(sql: &str, now: usize) -> String {
    let choose = |text: &str| match text.strip_prefix("in ") {
        Some(list) => format!("IN (SELECT value FROM json_each({list}))"),
        None => text.split_once('|').map_or(text, |(_, second)| second).to_owned(),
    };
    expand(&sql.replace("{now}", &format!("?{now}")), choose).replace('$', "?")
}

/// Replaces the texts in braces.
fn expand(sql: &str, choose: impl Fn(&str) -> String) -> String {
    let mut expanded = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some((before, after)) = rest.split_once('{')
        && let Some((inside, after)) = after.split_once('}')
    {
        expanded.push_str(before);
        expanded.push_str(&choose(inside));
        rest = after;
    }
    expanded + rest
}
