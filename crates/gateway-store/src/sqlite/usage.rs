//! Usage of members.

use rusqlite::{Connection, Row, params};

use super::Sqlite;
use super::connection::RowReader;
use crate::error::Result;
use crate::records::usage_line;
use crate::usage::{Dialect, UsageRollup, rebuild};
use crate::{UsageCounts, UsageLine, UsageQuery};

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
            let line = |row: &Row<'_>| usage_line(&mut RowReader::new(row), &query.by);
            statement.query_and_then([], line)?.collect()
        })
        .await
    }

    pub(crate) async fn rebuild_usage(&self) -> Result<()> {
        self.write_ledger(|db, _| Ok(db.execute_batch(&rebuild(DIALECT, ""))?)).await
    }
}

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
        let tokens = [input_tokens, output_tokens];
        insert.execute(params![day, operation, model, requests, tokens[0], tokens[1], charged])?;
    }
    Ok(())
}
