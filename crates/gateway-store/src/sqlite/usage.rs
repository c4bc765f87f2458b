//! Adds to the usage of members.

use rusqlite::{Connection, params, params_from_iter};

use crate::error::Result;
use crate::usage::UsageRollup;
use crate::{UsageCounts, tables};

const ADD: &str = "INSERT INTO usage VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
    ON CONFLICT DO UPDATE SET requests = requests + ?7, input_tokens = input_tokens + ?8, \
        output_tokens = output_tokens + ?9, charged = charged + ?10";

const ADD_TOTAL: &str = "INSERT INTO usage_totals VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
    ON CONFLICT DO UPDATE SET requests = requests + ?4, input_tokens = input_tokens + ?5, \
        output_tokens = output_tokens + ?6, charged = charged + ?7";

pub(super) fn add(db: &Connection, rollup: &UsageRollup) -> Result<()> {
    if rollup.is_empty() {
        return Ok(());
    }
    let mut insert = db.prepare_cached(ADD)?;
    for row in rollup.rows() {
        insert.execute(params_from_iter(tables::usage(row)))?;
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
