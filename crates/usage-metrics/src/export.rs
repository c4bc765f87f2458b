//! Packages in the formats of other tools.
//!
//! JSON and NDJSON contain the packages unchanged. CSV, Prometheus and OTLP merge the packages of
//! one period first, because these formats do not allow two deltas of one period.

mod otlp;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::catalogue::{KINDS, Kind};
use crate::merge::{MergeError, add, merge};
use crate::package::{Counter, Package, Resource};

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
        Format::Csv => Ok(csv(&merge(packages)?)),
        Format::Prometheus => prometheus(&merge(packages)?),
        Format::Otlp => Ok(otlp::write(&merge(packages)?)),
    }
}

/// The columns before those of the dimensions.
const BEFORE: [&str; 7] = [
    "period_start", "period_end", "agent_version", "architecture", "install_method", "os_family",
    "name",
];

/// CSV: one row per entry, one column per dimension of the catalogue.
fn csv(packages: &[Package]) -> String {
    let dimensions: BTreeSet<&str> =
        KINDS.iter().flat_map(|spec| spec.keys.iter().copied()).collect();
    let mut table = csv::Writer::from_writer(Vec::new());
    let header = BEFORE.iter().chain(&dimensions).chain(&["value"]);
    // Writing to memory cannot fail, and all records have the same length.
    let _ = table.write_record(header);
    for package in packages {
        let resource = package.resource.fields().map(|(_, value)| value);
        for metric in &package.metrics {
            let found = metric.counter.dimensions();
            let value = metric.value.to_string();
            let period = [&*package.period_start, &package.period_end];
            let before = period.into_iter().chain(resource).chain([metric.counter.kind().name()]);
            let cells = dimensions.iter().map(|key| {
                found.iter().find(|(known, _)| known == key).map_or("", |(_, value)| *value)
            });
            let _ = table.write_record(before.chain(cells).chain([&*value]));
        }
    }
    let bytes = table.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// The Prometheus text format: one family per kind with running totals over all periods, labels from
/// dimensions and resource.
fn prometheus(packages: &[Package]) -> Result<String, MergeError> {
    let mut totals: BTreeMap<Kind, BTreeMap<(&Counter, &Resource), u64>> = BTreeMap::new();
    for package in packages {
        for metric in &package.metrics {
            let family = totals.entry(metric.counter.kind()).or_default();
            let total = family.entry((&metric.counter, &package.resource)).or_default();
            *total = add(*total, metric.value, &metric.counter)?;
        }
    }
    let mut text = String::new();
    for (kind, family) in &totals {
        let name = format!("{}_total", kind.name().replace('.', "_"));
        let _ = writeln!(text, "# HELP {name} {}", kind.spec().summary);
        let _ = writeln!(text, "# TYPE {name} counter");
        for ((counter, resource), total) in family {
            let _ = writeln!(text, "{name}{{{}}} {total}", labels(counter, resource));
        }
    }
    Ok(text)
}

fn labels(counter: &Counter, resource: &Resource) -> String {
    let mut labels = counter.dimensions();
    labels.extend(resource.fields());
    let escape = |text: &str| text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    let pairs: Vec<_> =
        labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escape(value))).collect();
    pairs.join(",")
}
