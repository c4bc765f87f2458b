//! Reads the results of the suite: a file `checks.json` in a folder for each scenario.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::failure::{OrFail, Result};

/// The length of the time after the name of a scenario: `-2026-01-31T12-00-00-000Z`.
const STAMP_LENGTH: usize = 25;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) scenario: String,
    pub(super) version: String,
    pub(super) passed: usize,
    /// Failed checks: id and message.
    pub(super) failed: Vec<String>,
}

impl Row {
    /// Whether checks were made and all passed.
    pub(super) fn passes(&self) -> bool {
        self.failed.is_empty() && self.passed > 0
    }
}

pub(super) fn read(folder: &Path, version: &str) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    collect(folder, folder, version, &mut rows)?;
    rows.sort_by(|one, other| one.scenario.cmp(&other.scenario));
    Ok(rows)
}

fn collect(top: &Path, folder: &Path, version: &str, rows: &mut Vec<Row>) -> Result {
    let unreadable = format!("cannot read {}", folder.display());
    for entry in fs::read_dir(folder).or_fail(&unreadable)? {
        let path = entry.or_fail(&unreadable)?.path();
        if path.is_dir() {
            collect(top, &path, version, rows)?;
        } else if path.file_name().is_some_and(|name| name == "checks.json") {
            let text = fs::read_to_string(&path).or_fail(&unreadable)?;
            rows.push(row(&scenario_name(top, folder), version, &text)?);
        }
    }
    Ok(())
}

fn scenario_name(top: &Path, folder: &Path) -> String {
    let name = folder.strip_prefix(top).unwrap_or(folder).to_string_lossy().into_owned();
    match name.len().checked_sub(STAMP_LENGTH).and_then(|end| name.get(..end)) {
        Some(scenario) if !scenario.is_empty() => scenario.to_owned(),
        _ => name,
    }
}

fn row(scenario: &str, version: &str, text: &str) -> Result<Row> {
    let checks: Vec<Value> =
        serde_json::from_str(text).or_fail(format!("checks of `{scenario}`"))?;
    let word = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
    let with = |status: &str| -> Vec<&Value> {
        checks.iter().filter(|check| check["status"] == status).collect()
    };
    // A warning is a violated "should", which we keep as well.
    let failed = with("FAILURE")
        .into_iter()
        .chain(with("WARNING"))
        .map(|check| {
            let error = word(check, "errorMessage");
            let message = if error.is_empty() { word(check, "description") } else { error };
            format!("{}: {message}", word(check, "id"))
        })
        .collect();
    Ok(Row {
        scenario: scenario.to_owned(),
        version: version.to_owned(),
        passed: with("SUCCESS").len(),
        failed,
    })
}

/// The rows as a table, followed by the failed checks.
pub(super) fn table(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.scenario.len()).max().unwrap_or(0).max("scenario".len());
    let mut text =
        format!("{:<width$}  {:<10}  {:>6}  {:>6}\n", "scenario", "version", "passed", "failed");
    for row in rows {
        let mark = if row.passes() { "" } else { "  FAILED" };
        let (passed, failed) = (row.passed, row.failed.len());
        text += &format!(
            "{:<width$}  {:<10}  {passed:>6}  {failed:>6}{mark}\n",
            row.scenario, row.version
        );
    }
    for row in rows.iter().filter(|row| !row.passes()) {
        text += &format!("\n{} {}\n", row.scenario, row.version);
        if row.failed.is_empty() {
            text += "  nothing was checked\n";
        }
        for check in &row.failed {
            text += &format!("  {check}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests;
