//! Usage of members.

use tokio_postgres::{Client, Row};

use super::Postgres;
use super::pool::pooled;
use super::rows::RowReader;
use crate::error::Result;
use crate::records::usage_line;
use crate::usage::{Dialect, rebuild};
use crate::{UsageLine, UsageQuery};

pub(super) const DIALECT: Dialect =
    Dialect { least: "least", greatest: "greatest", position: "strpos" };

/// A batch writes receipts and usage in one statement, which waits for this lock before it writes either.
const LOCK: &str = "SET LOCAL statement_timeout = 0; \
    LOCK TABLE usage, usage_totals IN SHARE ROW EXCLUSIVE MODE";

impl Postgres {
    pub(crate) async fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageLine>> {
        let sql = query.sql(DIALECT);
        let found = pooled!(self, connection => select(&connection.client, &sql))?;
        found.iter().map(|row| usage_line(&mut RowReader::new(row), &query.by)).collect()
    }

    /// Runs without the timeout.
    pub(crate) async fn rebuild_usage(&self) -> Result<()> {
        let mut pooled = self.pool.acquire().await?;
        let result = rebuild_all(&mut pooled.connection.client).await;
        pooled.release(result)
    }
}

async fn select(client: &Client, sql: &str) -> Result<Vec<Row>> {
    Ok(client.query(sql, &[]).await?)
}

async fn rebuild_all(client: &mut Client) -> Result<()> {
    let transaction = client.transaction().await?;
    transaction.batch_execute(LOCK).await?;
    transaction.batch_execute(&rebuild(DIALECT, ", 0")).await?;
    Ok(transaction.commit().await?)
}
