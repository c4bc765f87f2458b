//! Usage of members.

use super::Store;
use crate::error::Result;
use crate::value::values;
use crate::{UsageLine, UsageQuery};

impl Store {
    /// Aggregates usage. Rows are ordered by day, else by charge, highest first.
    pub async fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageLine>> {
        self.write_deferred().await?;
        self.rows(query.sql(), values![]).await
    }

    /// Rebuilds usage from the receipts. No hold can end meanwhile.
    pub async fn rebuild_usage(&self) -> Result<()> {
        match self {
            Self::Sqlite(database) => database.rebuild_usage().await,
            Self::Postgres(database) => Box::pin(database.rebuild_usage()).await,
        }
    }
}
