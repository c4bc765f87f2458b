//! Processes, reloads and drained providers.

use super::connection::PgConnection;
use super::pool::pooled;
use super::rows::{self, RowReader, Value};
use super::statements::with_clock;
use super::{Postgres, audit};
use crate::error::Result;
use crate::process::{GENERATION, PROCESS_TIMEOUT_MICROS, provider_audit, reload_audit};
use crate::records::{drained_provider, process_report};
use crate::{Actor, DrainedProvider, ProcessReport, ProviderAction, SharedState};

const NEXT_GENERATION: &str = "INSERT INTO settings (name, value) VALUES ($1, '1') \
    ON CONFLICT (name) DO UPDATE SET value = (settings.value::bigint + 1)::text \
    RETURNING value::bigint";

const SHARED_STATE: &str = "SELECT \
    coalesce((SELECT value::bigint FROM settings WHERE name = $1), 0), \
    array(SELECT name FROM drained_providers ORDER BY name)";

const REPORT: &str = "INSERT INTO processes (owner, name, generation, problems, seen_at) VALUES \
    ($1, $2, $3, $4, {now}) ON CONFLICT (owner) DO UPDATE SET generation = excluded.generation, \
     problems = excluded.problems, seen_at = excluded.seen_at";

const DELETE_GONE: &str = "DELETE FROM processes WHERE seen_at < {now} - $1::bigint";

const LIST: &str = "SELECT owner, name, generation, problems FROM processes WHERE seen_at >= \
    {now} - $1::bigint ORDER BY name";

const DRAIN: &str = "INSERT INTO drained_providers (name, since, actor) VALUES ($1, {now}, $2) ON \
    CONFLICT (name) DO NOTHING";

impl Postgres {
    pub(crate) async fn request_reload(&self, by: &Actor) -> Result<i64> {
        pooled!(self, connection => request_reload(connection, by))
    }

    pub(crate) async fn shared_state(&self) -> Result<SharedState> {
        let read = |columns: &mut RowReader<'_>| {
            Ok(SharedState { generation: columns.take()?, drained: columns.take()? })
        };
        Ok(self.row(SHARED_STATE, &[&GENERATION], read).await?.unwrap_or_default())
    }

    pub(crate) async fn report_process(&self, report: &ProcessReport) -> Result<()> {
        let values: [Value<'_>; 4] =
            [&report.owner, &report.name, &report.generation, &report.problems];
        self.run(REPORT, &values).await?;
        self.run(DELETE_GONE, &[&PROCESS_TIMEOUT_MICROS]).await.map(drop)
    }

    pub(crate) async fn forget_process(&self, owner: i64) -> Result<()> {
        self.run("DELETE FROM processes WHERE owner = $1", &[&owner]).await.map(drop)
    }

    pub(crate) async fn processes(&self) -> Result<Vec<ProcessReport>> {
        self.rows(LIST, &[&PROCESS_TIMEOUT_MICROS], |row| process_report(row)).await
    }

    pub(crate) async fn change_provider(
        &self,
        name: &str,
        action: ProviderAction,
        by: &Actor,
    ) -> Result<bool> {
        pooled!(self, connection => change_provider(connection, name, action, by))
    }

    pub(crate) async fn drained_providers(&self) -> Result<Vec<DrainedProvider>> {
        let sql = "SELECT name, since, actor FROM drained_providers ORDER BY name";
        self.rows(sql, &[], |row| drained_provider(row)).await
    }
}

async fn request_reload(connection: &mut PgConnection, by: &Actor) -> Result<i64> {
    let transaction = connection.client.transaction().await?;
    let generation = rows::first(&transaction.query_one(NEXT_GENERATION, &[&GENERATION]).await?)?;
    audit::append(&transaction, reload_audit(generation), by).await?;
    transaction.commit().await?;
    Ok(generation)
}

async fn change_provider(
    connection: &mut PgConnection,
    name: &str,
    action: ProviderAction,
    by: &Actor,
) -> Result<bool> {
    let transaction = connection.client.transaction().await?;
    let changed = match action {
        ProviderAction::Drain => {
            transaction.execute(&with_clock(DRAIN), &[&name, &by.name]).await?
        }
        ProviderAction::Enable => {
            transaction.execute("DELETE FROM drained_providers WHERE name = $1", &[&name]).await?
        }
    };
    if changed > 0 {
        audit::append(&transaction, provider_audit(name, action), by).await?;
        transaction.commit().await?;
    }
    Ok(changed > 0)
}
