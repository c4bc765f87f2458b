//! Packages in the formats of other tools.
//!
//! JSON and NDJSON contain the packages unchanged. CSV, Prometheus and OTLP merge the packages of
//! one period first, because these formats do not allow two deltas of one period.

mod csv;
mod otlp;
mod prometheus;

use crate::merge::{MergeError, merge};
use crate::package::Package;

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// An array of packages.
    Json,
    /// One package per line.
    Ndjson,
    /// One row per entry and one column per dimension.
    Csv,
    /// The Prometheus text format: running totals over all periods.
    Prometheus,
    /// OTLP in JSON: delta sums.
    Otlp,
}

pub fn export(packages: Vec<Package>, format: Format) -> Result<String, MergeError> {
    match format {
        Format::Json => Ok(serde_json::to_string_pretty(&packages).unwrap_or_default() + "\n"),
        Format::Ndjson => Ok(packages.iter().map(|package| package.to_line() + "\n").collect()),
        Format::Csv => Ok(csv::write(&merge(packages)?)),
        Format::Prometheus => prometheus::write(&merge(packages)?),
        Format::Otlp => Ok(otlp::write(&merge(packages)?)),
    }
}
