//! Runs the statements of operations on a connection.

use tokio_postgres::types::ToSql;

use super::connection::PgConnection;
use super::error::exists;
use super::load::load;
use super::save::save;
use crate::batch_rows::{BatchWrites, LoadedBatch, RowSet};
use crate::error::{ErrorKind, Result};
use crate::executor::{Executor, for_postgres};
use crate::row::{Read, Row};
use crate::value::Value;

impl Executor for PgConnection {
    async fn rows<T: Read>(&mut self, sql: &str, values: Vec<Value<'_>>) -> Result<Vec<T>> {
        let statement = self.statement(sql).await?;
        let found = self.client.query(&statement, &parameters(&values)).await?;
        found.iter().map(|row| T::read(&mut Row::from(row))).collect()
    }

    async fn execute(
        &mut self,
        sql: &str,
        values: Vec<Value<'_>>,
        unique: Option<&'static str>,
    ) -> Result<u64> {
        if for_postgres(sql).is_empty() {
            return Ok(0);
        }
        let statement = self.statement(sql).await?;
        let changed = self.client.execute(&statement, &parameters(&values)).await;
        changed.map_err(exists(unique))
    }

    async fn load(&mut self, needed: &RowSet) -> Result<LoadedBatch> {
        let statements = self.statements().await?;
        load(&self.client, statements, needed).await?
    }

    async fn save(&mut self, writes: BatchWrites<'_>) -> Result<()> {
        let statements = self.statements().await?;
        Ok(Box::pin(save(&self.client, statements, writes)).await?)
    }

    async fn cancel(&mut self) -> Result<()> {
        Ok(self.client.batch_execute("ROLLBACK").await?)
    }
}

impl PgConnection {
    pub(crate) async fn begin(&mut self) -> Result<()> {
        Ok(self.client.batch_execute("BEGIN").await?)
    }

    /// Commits after a success, and rolls back after an error of the caller. After any other error the
    /// pool closes the connection.
    pub(crate) async fn finish<T>(&mut self, result: Result<T>) -> Result<T> {
        match &result {
            Ok(_) => self.client.batch_execute("COMMIT").await?,
            Err(error) if error.kind() == ErrorKind::Caller => self.cancel().await?,
            Err(_) => {}
        }
        result
    }
}

fn parameters<'a>(values: &'a [Value<'_>]) -> Vec<&'a (dyn ToSql + Sync)> {
    values.iter().map(|value| value as _).collect()
}
