//! Packages in the formats of other tools.
//!
//! JSON and NDJSON give the packages as they are. CSV, Prometheus and OTLP first add up the
//! packages of one period, because in those formats two deltas of one period would clash.

mod csv;
mod otlp;
mod prometheus;

use crate::merge::{MergeError, merge};
use crate::package::Package;

/// A format of another tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// An array of packages.
    Json,
    /// A package on each line.
    Ndjson,
    /// A row for each entry, a column for each dimension.
    Csv,
    /// The Prometheus text format: running totals over all periods.
    Prometheus,
    /// OTLP in JSON: delta sums.
    Otlp,
}

/// Writes packages in a format.
pub fn export(packages: Vec<Package>, format: Format) -> Result<String, MergeError> {
    match format {
        Format::Json => Ok(json(&packages)),
        Format::Ndjson => Ok(packages.iter().map(|package| package.to_line() + "\n").collect()),
        Format::Csv => Ok(csv::write(&merge(packages)?)),
        Format::Prometheus => prometheus::write(&merge(packages)?),
        Format::Otlp => Ok(otlp::write(&merge(packages)?)),
    }
}

fn json(packages: &[Package]) -> String {
    serde_json::to_string_pretty(packages).unwrap_or_default() + "\n"
}
