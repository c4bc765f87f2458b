//! Processes, reloads and drained providers.

use rusqlite::params;

use super::connection::ConnectionExt;
use super::{Sqlite, audit};
use crate::error::Result;
use crate::process::{GENERATION, PROCESS_TIMEOUT_MICROS, provider_audit, reload_audit};
use crate::records::{drained_provider, first, process_report};
use crate::{Actor, DrainedProvider, ProcessReport, ProviderAction, SharedState};

impl Sqlite {
    pub(crate) async fn request_reload(&self, by: &Actor) -> Result<i64> {
        let by = by.clone();
        self.write(move |db, now| {
            let sql = "INSERT INTO settings VALUES (?1, '1') ON CONFLICT (name) DO UPDATE \
                       SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT) \
                       RETURNING CAST(value AS INTEGER)";
            let generation = db.row(sql, [GENERATION], |row| first(row))?.unwrap_or(1);
            audit::append(db, reload_audit(generation), now, &by)?;
            Ok(generation)
        })
        .await
    }

    pub(crate) async fn shared_state(&self) -> Result<SharedState> {
        self.read(move |db, _| {
            let sql = "SELECT CAST(value AS INTEGER) FROM settings WHERE name = ?1";
            let generation = db.row(sql, [GENERATION], |row| first(row))?.unwrap_or(0);
            let sql = "SELECT name FROM drained_providers ORDER BY name";
            Ok(SharedState { generation, drained: db.rows(sql, [], |row| first(row))? })
        })
        .await
    }

    pub(crate) async fn report_process(&self, report: &ProcessReport) -> Result<()> {
        let report = report.clone();
        self.write(move |db, now| {
            let sql = "INSERT INTO processes VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (owner) \
                       DO UPDATE SET generation = ?3, problems = ?4, seen_at = ?5";
            let ProcessReport { owner, name, generation, problems } = report;
            db.run(sql, params![owner, name, generation, problems, now.micros()])?;
            let gone = now.plus_micros(-PROCESS_TIMEOUT_MICROS).micros();
            db.run("DELETE FROM processes WHERE seen_at < ?1", [gone]).map(drop)
        })
        .await
    }

    pub(crate) async fn forget_process(&self, owner: i64) -> Result<()> {
        self.write(move |db, _| db.run("DELETE FROM processes WHERE owner = ?1", [owner]).map(drop))
            .await
    }

    pub(crate) async fn processes(&self) -> Result<Vec<ProcessReport>> {
        self.read(move |db, now| {
            let sql = "SELECT owner, name, generation, problems FROM processes \
                       WHERE seen_at >= ?1 ORDER BY name";
            db.rows(sql, [now.plus_micros(-PROCESS_TIMEOUT_MICROS).micros()], |row| {
                process_report(row)
            })
        })
        .await
    }

    pub(crate) async fn change_provider(
        &self,
        name: &str,
        action: ProviderAction,
        by: &Actor,
    ) -> Result<bool> {
        let (name, by) = (name.to_owned(), by.clone());
        self.write(move |db, now| {
            let changed = match action {
                ProviderAction::Drain => db.run(
                    "INSERT INTO drained_providers VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
                    params![name, now.micros(), by.name],
                )?,
                ProviderAction::Enable => {
                    db.run("DELETE FROM drained_providers WHERE name = ?1", [&name])?
                }
            };
            if changed > 0 {
                audit::append(db, provider_audit(&name, action), now, &by)?;
            }
            Ok(changed > 0)
        })
        .await
    }

    pub(crate) async fn drained_providers(&self) -> Result<Vec<DrainedProvider>> {
        let sql = "SELECT name, since, actor FROM drained_providers ORDER BY name";
        self.read(move |db, _| db.rows(sql, [], |row| drained_provider(row))).await
    }
}
