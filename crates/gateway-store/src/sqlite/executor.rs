//! Runs the statements of operations on a connection.

use ledger::Time;
use rusqlite::{Connection, params_from_iter};

use super::connection::ConnectionExt;
use super::error::exists;
use super::{rows, save};
use crate::batch_rows::{BatchWrites, LoadedBatch, RowSet};
use crate::error::Result;
use crate::executor::{Executor, for_sqlite};
use crate::row::Read;
use crate::value::Value;

pub(crate) struct SqliteExecutor<'a> {
    pub(super) db: &'a Connection,
    pub(super) now: Time,
}

impl SqliteExecutor<'_> {
    /// The text for SQLite, and its values with the time.
    fn translate<'a>(&self, sql: &str, mut values: Vec<Value<'a>>) -> (String, Vec<Value<'a>>) {
        if sql.contains("{now}") {
            values.push(self.now.into());
        }
        (for_sqlite(sql, values.len()), values)
    }
}

impl Executor for SqliteExecutor<'_> {
    async fn rows<T: Read>(&mut self, sql: &str, values: Vec<Value<'_>>) -> Result<Vec<T>> {
        let (sql, values) = self.translate(sql, values);
        self.db.rows(&sql, params_from_iter(values))
    }

    async fn execute(
        &mut self,
        sql: &str,
        values: Vec<Value<'_>>,
        unique: Option<&'static str>,
    ) -> Result<u64> {
        let (sql, values) = self.translate(sql, values);
        if sql.is_empty() {
            return Ok(0);
        }
        let changed = self.db.prepare_cached(&sql)?.execute(params_from_iter(values));
        Ok(changed.map_err(exists(unique))? as u64)
    }

    async fn load(&mut self, needed: &RowSet) -> Result<LoadedBatch> {
        rows::load(self.db, needed, self.now)
    }

    async fn save(&mut self, writes: BatchWrites<'_>) -> Result<()> {
        save::write_changes(self.db, &writes.changes, writes.expires_at)?;
        save::write_responses(self.db, writes.responses.into_iter())
    }

    async fn cancel(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
