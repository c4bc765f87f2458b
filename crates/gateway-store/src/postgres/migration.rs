//! The schema: what is there, and how it is brought up to date.

use tokio_postgres::{Client, Transaction};

use super::fault::fault;
use super::statements::now;
use crate::SchemaState;
use crate::backend::Result;

/// Every step, from nothing to the schema that this program knows. Steps are added, never changed.
const STEPS: [&str; 4] = [
    include_str!("schema/001.sql"),
    include_str!("schema/002.sql"),
    include_str!("schema/003.sql"),
    include_str!("schema/004.sql"),
];

/// All tables. One of them without `schema_version` is somebody else's.
const TABLES: [&str; 20] = [
    "schema_version",
    "members",
    "lineages",
    "keys",
    "holds",
    "receipts",
    "postings",
    "repeats",
    "answers",
    "responses",
    "response_events",
    "audit",
    "settings",
    "media_runs",
    "artifacts",
    "media_objects",
    "research_jobs",
    "research_steps",
    "research_events",
    "research_hooks",
];

const FOUND: &str = "SELECT relname::text FROM pg_class \
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'v', 'm', 'f', 'p') \
        AND relname = ANY($1)";

const OURS: &str = "SELECT count(*) = 2 FROM information_schema.columns \
    WHERE table_schema = current_schema() AND table_name = 'schema_version' \
        AND column_name IN ('version', 'at') AND data_type = 'bigint'";

/// One migration at a time, of any number of processes that start together.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7310577375801501002)";

const RECORD: &str = concat!("INSERT INTO schema_version (version, at) VALUES ($1, ", now!(), ")");

fn newest() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// What the database holds.
pub(super) async fn state(client: &mut Client) -> Result<SchemaState> {
    let transaction = client.transaction().await.map_err(fault)?;
    look(&transaction).await
}

async fn look(transaction: &Transaction<'_>) -> Result<SchemaState> {
    let found = transaction.query(FOUND, &[&&TABLES[..]]).await.map_err(fault)?;
    if found.is_empty() {
        return Ok(SchemaState::Empty);
    }
    let is_ours: bool = transaction.query_one(OURS, &[]).await.map_err(fault)?.get(0);
    if !is_ours {
        return Ok(SchemaState::Unknown(0));
    }
    let row = transaction.query_one("SELECT max(version) FROM schema_version", &[]).await;
    let version: Option<i64> = row.map_err(fault)?.get(0);
    Ok(match version.unwrap_or(0) {
        version if version == newest() && found.len() == TABLES.len() => {
            SchemaState::Current(version)
        }
        version if (1..newest()).contains(&version) => SchemaState::Old(version),
        version => SchemaState::Unknown(version),
    })
}

/// Brings the schema up to date in one transaction; gives what was there before.
pub(super) async fn migrate(client: &mut Client) -> Result<SchemaState> {
    // Another process may migrate, and a step over many rows may take long.
    let patience = "SET statement_timeout = 0; SET lock_timeout = 0; \
        SET idle_in_transaction_session_timeout = 0; SET synchronous_commit = on";
    client.batch_execute(patience).await.map_err(fault)?;
    let transaction = client.transaction().await.map_err(fault)?;
    transaction.execute(LOCK, &[]).await.map_err(fault)?;
    let before = look(&transaction).await?;
    let done = match before {
        SchemaState::Empty => 0,
        SchemaState::Old(version) => version,
        SchemaState::Current(_) => return Ok(before),
        SchemaState::Unknown(_) => return Err(crate::Error::Schema(before)),
    };
    for (version, step) in (1_i64..).zip(STEPS).filter(|(version, _)| *version > done) {
        transaction.batch_execute(step).await.map_err(fault)?;
        transaction.execute(RECORD, &[&version]).await.map_err(fault)?;
    }
    transaction.commit().await.map_err(fault)?;
    Ok(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_of_the_schema_is_known() {
        let made: Vec<&str> = STEPS
            .iter()
            .flat_map(|step| step.lines())
            .filter_map(|line| line.strip_prefix("CREATE TABLE ")?.strip_suffix(" ("))
            .collect();
        assert_eq!(made, TABLES);
    }
}
