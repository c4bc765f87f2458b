//! Reads packages from validated bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::{Counter, Metric, Package, Resource};
use crate::catalogue::SCHEMA_VERSION;
use crate::validate::{Verdict, parse_count, validate};

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("invalid package: {} found", violations(.0))]
    Invalid(Verdict),
    #[error("the value at /metrics/{index}/value exceeds {}", u64::MAX)]
    ValueTooLarge { index: usize },
    /// The validator accepted a document that the reader cannot read: a bug.
    #[error("cannot read a package that passed validation")]
    Unreadable(#[source] serde_json::Error),
}

fn violations(verdict: &Verdict) -> String {
    match verdict.total {
        1 => "1 violation".to_owned(),
        total => format!("{total} violations"),
    }
}

#[derive(serde::Deserialize)]
struct RawPackage<'a> {
    generated_at: String,
    install_id: String,
    #[serde(borrow)]
    metrics: Vec<RawMetric<'a>>,
    package_id: String,
    period_end: String,
    period_start: String,
    resource: Resource,
}

#[derive(serde::Deserialize)]
struct RawMetric<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    dimensions: BTreeMap<String, String>,
    #[serde(borrow)]
    value: &'a RawValue,
}

impl Package {
    /// Reads a valid package; rejects others with the verdict.
    pub fn read(document: &[u8]) -> Result<Package, ReadError> {
        Package::read_with(document, |index| Err(ReadError::ValueTooLarge { index }))
    }

    /// Reads a package and clamps values that exceed the limit.
    pub fn read_clamped(document: &[u8]) -> Result<Package, ReadError> {
        Package::read_with(document, |_| Ok(u64::MAX))
    }

    fn read_with(
        document: &[u8],
        too_large: impl Fn(usize) -> Result<u64, ReadError>,
    ) -> Result<Package, ReadError> {
        let verdict = validate(document);
        if !verdict.is_valid() {
            return Err(ReadError::Invalid(verdict));
        }
        let raw: RawPackage<'_> =
            serde_json::from_slice(document).map_err(ReadError::Unreadable)?;
        let mut metrics = Vec::with_capacity(raw.metrics.len());
        for (index, entry) in raw.metrics.iter().enumerate() {
            let counter = Counter::find(&entry.name, &entry.dimensions)
                .ok_or_else(|| serde::de::Error::custom("expected a counter in the catalogue"))
                .map_err(ReadError::Unreadable)?;
            let value = parse_count(entry.value.get()).map_or_else(|| too_large(index), Ok)?;
            metrics.push(Metric { counter, value });
        }
        Ok(Package {
            generated_at: raw.generated_at,
            install_id: raw.install_id,
            metrics,
            package_id: raw.package_id,
            period_end: raw.period_end,
            period_start: raw.period_start,
            resource: raw.resource,
            schema_version: SCHEMA_VERSION,
        })
    }
}
