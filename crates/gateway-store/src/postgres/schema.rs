//! The schema and its migrations.

use tokio_postgres::{Client, Transaction};

use crate::SchemaState;
use crate::error::Result;
use crate::executor::for_postgres;

/// Each migration brings the schema from the version of its index to the next. Migrations are added,
/// never changed.
const MIGRATIONS: [&str; 12] = [
    include_str!("schema/001.sql"),
    include_str!("schema/002.sql"),
    include_str!("schema/003.sql"),
    include_str!("schema/004.sql"),
    include_str!("schema/005.sql"),
    include_str!("schema/006.sql"),
    include_str!("schema/007.sql"),
    include_str!("schema/008.sql"),
    include_str!("schema/009.sql"),
    include_str!("schema/010.sql"),
    include_str!("schema/011.sql"),
    include_str!("schema/012.sql"),
];

/// All tables. If one exists without `schema_version`, the schema belongs to another program.
const TABLES: [&str; 28] = [
    "schema_version", "members", "lineages", "keys", "holds", "receipts", "postings", "repeats",
    "answers", "responses", "response_events", "audit", "settings", "media_runs", "artifacts",
    "media_objects", "research_jobs", "research_steps", "research_events", "research_hooks",
    "usage", "usage_totals", "sessions", "sub_requests", "processes", "drained_providers",
    "alerts", "alert_deliveries",
];

const EXISTING_TABLES: &str = "SELECT relname::text FROM pg_class \
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'v', 'm', 'f', 'p') \
        AND relname = ANY($1)";

const IS_OURS: &str = "SELECT count(*) = 2 FROM information_schema.columns \
    WHERE table_schema = current_schema() AND table_name = 'schema_version' \
        AND column_name IN ('version', 'at') AND data_type = 'bigint'";

/// Serializes migrations of processes that start together.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7310577375801501002)";

const RECORD: &str = "INSERT INTO schema_version (version, at) VALUES ($1, {now})";

pub(super) async fn state(client: &mut Client) -> Result<SchemaState> {
    let transaction = client.transaction().await?;
    state_of(&transaction).await
}

async fn state_of(transaction: &Transaction<'_>) -> Result<SchemaState> {
    let found = transaction.query(EXISTING_TABLES, &[&&TABLES[..]]).await?;
    if found.is_empty() {
        return Ok(SchemaState::Empty);
    }
    let is_ours: bool = transaction.query_one(IS_OURS, &[]).await?.get(0);
    if !is_ours {
        return Ok(SchemaState::Unknown(0));
    }
    let row = transaction.query_one("SELECT max(version) FROM schema_version", &[]).await;
    let version: Option<i64> = row?.get(0);
    Ok(match SchemaState::of(version.unwrap_or(0), MIGRATIONS.len()) {
        SchemaState::Current(version) if found.len() != TABLES.len() => {
            SchemaState::Unknown(version)
        }
        state => state,
    })
}

/// Migrates in one transaction; returns the state before.
pub(super) async fn migrate(client: &mut Client) -> Result<SchemaState> {
    // Another process may migrate, and a migration of many rows may take long.
    let no_timeouts = "SET statement_timeout = 0; SET lock_timeout = 0; \
        SET idle_in_transaction_session_timeout = 0; SET synchronous_commit = on";
    client.batch_execute(no_timeouts).await?;
    let transaction = client.transaction().await?;
    transaction.execute(LOCK, &[]).await?;
    let before = state_of(&transaction).await?;
    let done = match before {
        SchemaState::Empty => 0,
        SchemaState::Old(version) => version,
        SchemaState::Current(_) => return Ok(before),
        SchemaState::Unknown(_) => return Err(crate::Error::Schema(before)),
    };
    for (version, migration) in (1_i64..).zip(MIGRATIONS).filter(|(version, _)| *version > done) {
        transaction.batch_execute(migration).await?;
        transaction.execute(&for_postgres(RECORD), &[&version]).await?;
    }
    transaction.commit().await?;
    Ok(before)
}

#[cfg(test)]
mod tests;
