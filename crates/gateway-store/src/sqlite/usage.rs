//! Usage of members.

use ledger::{LineageId, MemberId, Micros};
use rusqlite::{Connection, Row, params};

use super::Sqlite;
use crate::error::Result;
use crate::usage::{Dialect, UsageRollup, rebuild};
use crate::{UsageCounts, UsageDimension, UsageLine, UsageQuery};

pub(super) const DIALECT: Dialect = Dialect { least: "min", greatest: "max", position: "instr" };

const ADD: &str = "INSERT INTO usage VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
    ON CONFLICT DO UPDATE SET requests = requests + ?7, input_tokens = input_tokens + ?8, \
        output_tokens = output_tokens + ?9, charged = charged + ?10";

const ADD_TOTAL: &str = "INSERT INTO usage_totals VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
    ON CONFLICT DO UPDATE SET requests = requests + ?4, input_tokens = input_tokens + ?5, \
        output_tokens = output_tokens + ?6, charged = charged + ?7";

impl Sqlite {
    pub(crate) async fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageLine>> {
        self.write_deferred().await?;
        let query = query.clone();
        self.read(move |db, _| {
            let mut statement = db.prepare(&query.sql(DIALECT))?;
            let lines = statement.query_map([], |row| line(row, &query.by))?;
            Ok(lines.collect::<rusqlite::Result<_>>()?)
        })
        .await
    }

    pub(crate) async fn rebuild_usage(&self) -> Result<()> {
        self.write_ledger(|db, _| Ok(db.execute_batch(&rebuild(DIALECT, ""))?)).await
    }
}

/// Adds usage to the stored rows.
pub(super) fn add(db: &Connection, rollup: &UsageRollup) -> Result<()> {
    if rollup.is_empty() {
        return Ok(());
    }
    let mut insert = db.prepare_cached(ADD)?;
    for (key, counts) in rollup.rows() {
        let UsageCounts { requests, input_tokens, output_tokens, charged } = counts;
        insert.execute(params![
            key.day,
            key.member.0,
            key.lineage.0,
            key.operation,
            key.model(),
            key.team.0,
            requests,
            input_tokens,
            output_tokens,
            charged.get(),
        ])?;
    }
    let mut insert = db.prepare_cached(ADD_TOTAL)?;
    for ((day, operation, model), counts) in rollup.totals() {
        let UsageCounts { requests, input_tokens, output_tokens, charged } = counts;
        let charged = charged.get();
        insert.execute(params![
            day,
            operation,
            model,
            requests,
            input_tokens,
            output_tokens,
            charged
        ])?;
    }
    Ok(())
}

fn line(row: &Row<'_>, by: &[UsageDimension]) -> rusqlite::Result<UsageLine> {
    let mut line = UsageLine::default();
    for (column, dimension) in by.iter().enumerate() {
        match dimension {
            UsageDimension::Day => line.day = row.get(column)?,
            UsageDimension::Member => line.member = Some(MemberId(row.get(column)?)),
            UsageDimension::Team => line.team = Some(MemberId(row.get(column)?)),
            UsageDimension::Key => line.lineage = Some(LineageId(row.get(column)?)),
            UsageDimension::Operation => line.operation = row.get(column)?,
            UsageDimension::Model => line.model = row.get(column)?,
            UsageDimension::Provider => line.provider = row.get(column)?,
        }
    }
    let first = by.len();
    line.counts = UsageCounts {
        requests: row.get(first)?,
        input_tokens: row.get(first + 1)?,
        output_tokens: row.get(first + 2)?,
        charged: Micros::new(row.get(first + 3)?),
    };
    Ok(line)
}
