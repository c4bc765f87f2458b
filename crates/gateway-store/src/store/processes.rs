//! The processes that serve from one database, and what they follow together: reloads of the
//! configuration, drained providers and settings.

use serde_json::json;

use super::Store;
use crate::audit::AuditChange;
use crate::audit_log;
use crate::error::Result;
use crate::executor::Executor;
use crate::value::values;
use crate::{Actor, Error};

/// A process that has not reported for this long is gone.
const PROCESS_TIMEOUT_MICROS: i64 = 90 * 1_000_000;

/// The setting that counts reloads of the configuration.
const GENERATION: &str = "config_generation";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessReport {
    /// The owner of its holds.
    pub owner: i64,
    /// Host and process id.
    pub name: String,
    /// The newest reload that it has followed.
    pub generation: i64,
    /// Why it could not use the configuration of that reload, one problem on a line; else empty.
    pub problems: String,
}

/// State that operators change, and that all processes follow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedState {
    pub generation: i64,
    pub drained: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderAction {
    Drain,
    Enable,
}

impl Store {
    /// Asks all processes to read their configuration again; returns the number of the reload.
    pub async fn request_reload(&self, by: &Actor) -> Result<i64> {
        let by = by.clone();
        transaction!(self.write, db => request_reload(db, &by))
    }

    pub async fn shared_state(&self) -> Result<SharedState> {
        let sql = "SELECT CAST(value AS bigint) FROM settings WHERE name = $1";
        let generation = self.row(sql, values![GENERATION]).await?.unwrap_or(0);
        let sql = "SELECT name FROM drained_providers ORDER BY name";
        Ok(SharedState { generation, drained: self.rows(sql, values![]).await? })
    }

    /// Reports the state of a process, and deletes processes that are gone.
    pub async fn report_process(&self, report: &ProcessReport) -> Result<()> {
        let report = report.clone();
        statements!(self.write, db => report_process(db, &report))
    }

    pub async fn forget_process(&self, owner: i64) -> Result<()> {
        self.run("DELETE FROM processes WHERE owner = $1", values![owner]).await.map(drop)
    }

    pub async fn processes(&self) -> Result<Vec<ProcessReport>> {
        let sql = "SELECT owner, name, generation, problems FROM processes \
                   WHERE seen_at >= {now} - $1 ORDER BY name";
        self.rows(sql, values![PROCESS_TIMEOUT_MICROS]).await
    }

    /// Drains or enables a provider on all processes; returns whether this changed it.
    pub async fn change_provider(
        &self,
        name: &str,
        action: ProviderAction,
        by: &Actor,
    ) -> Result<bool> {
        let (name, by) = (name.to_owned(), by.clone());
        transaction!(self.write, db => change_provider(db, &name, action, &by))
    }

    pub async fn setting(&self, name: &str) -> Result<Option<String>> {
        self.row("SELECT value FROM settings WHERE name = $1", values![name]).await
    }

    /// Writes a setting unless it exists; returns the stored value.
    pub async fn set_setting_once(&self, name: &str, value: &str) -> Result<String> {
        let sql =
            "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
        self.run(sql, values![name, value]).await?;
        self.setting(name).await?.ok_or(Error::Missing("setting"))
    }
}

async fn request_reload(db: &mut impl Executor, by: &Actor) -> Result<i64> {
    let sql = "INSERT INTO settings (name, value) VALUES ($1, '1') ON CONFLICT (name) \
               DO UPDATE SET value = CAST(CAST(settings.value AS bigint) + 1 AS text) \
               RETURNING CAST(value AS bigint)";
    let generation = db.row(sql, values![GENERATION]).await?.unwrap_or(1);
    let (action, subject) = ("configuration.reload", "configuration".to_owned());
    let detail = json!({ "generation": generation });
    audit_log::append(db, AuditChange { action, subject, detail }, by).await?;
    Ok(generation)
}

async fn report_process(db: &mut impl Executor, report: &ProcessReport) -> Result<()> {
    let ProcessReport { owner, name, generation, problems } = report;
    let sql = "INSERT INTO processes (owner, name, generation, problems, seen_at) \
               VALUES ($1, $2, $3, $4, {now}) ON CONFLICT (owner) DO UPDATE SET \
               generation = excluded.generation, problems = excluded.problems, \
               seen_at = excluded.seen_at";
    db.run(sql, values![*owner, name, *generation, problems]).await?;
    let sql = "DELETE FROM processes WHERE seen_at < {now} - $1";
    db.run(sql, values![PROCESS_TIMEOUT_MICROS]).await.map(drop)
}

async fn change_provider(
    db: &mut impl Executor,
    name: &str,
    action: ProviderAction,
    by: &Actor,
) -> Result<bool> {
    let (changed, action) = match action {
        ProviderAction::Drain => {
            let sql = "INSERT INTO drained_providers (name, since, actor) \
                       VALUES ($1, {now}, $2) ON CONFLICT (name) DO NOTHING";
            (db.run(sql, values![name, &by.name]).await?, "provider.drain")
        }
        ProviderAction::Enable => {
            let sql = "DELETE FROM drained_providers WHERE name = $1";
            (db.run(sql, values![name]).await?, "provider.enable")
        }
    };
    if changed > 0 {
        let change = AuditChange { action, subject: name.to_owned(), detail: json!({}) };
        audit_log::append(db, change, by).await?;
    }
    Ok(changed > 0)
}
