//! Merges packages.
//!
//! Several packages of one installation, period and resource are normal: each is a delta. Merging
//! sums them to one package per group. A duplicate package counts once.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::catalogue::Kind;
use crate::package::{Counter, Metric, Package, Resource};
use crate::validate::{DateTime, parse_date_time};

#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    #[error("the sum of {name} {dimensions} exceeds {}", u64::MAX)]
    SumTooLarge { name: &'static str, dimensions: String },
    /// Two different packages have the same id: one of them was tampered with.
    #[error("two different packages have the id {package_id}")]
    IdReused { package_id: String },
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    start: Option<DateTime>,
    end: Option<DateTime>,
    install_id: String,
    resource: Resource,
}

/// Merges packages by group, in the order of their periods.
pub fn merge(packages: impl IntoIterator<Item = Package>) -> Result<Vec<Package>, MergeError> {
    let mut unique: BTreeMap<String, Package> = BTreeMap::new();
    for package in packages {
        match unique.get(&package.package_id) {
            Some(known) if *known == package => {}
            Some(_) => {
                return Err(MergeError::IdReused { package_id: package.package_id });
            }
            None => drop(unique.insert(package.package_id.clone(), package)),
        }
    }
    let mut groups: BTreeMap<Group, Vec<Package>> = BTreeMap::new();
    for package in unique.into_values() {
        let group = Group {
            start: parse_date_time(&package.period_start),
            end: parse_date_time(&package.period_end),
            install_id: package.install_id.clone(),
            resource: package.resource.clone(),
        };
        groups.entry(group).or_default().push(package);
    }
    groups.into_values().map(sum).collect()
}

fn sum(mut packages: Vec<Package>) -> Result<Package, MergeError> {
    // A single package keeps its id, unless it has duplicate entries.
    let mut totals: BTreeMap<Counter, u64> = BTreeMap::new();
    let mut entries = 0;
    for package in &mut packages {
        for Metric { counter, value } in package.metrics.drain(..) {
            entries += 1;
            let total = totals.get(&counter).copied().unwrap_or(0);
            let total = match counter.kind() {
                // The client counts as active once.
                Kind::ClientActive => 1,
                _ => add(total, value, &counter)?,
            };
            totals.insert(counter, total);
        }
    }
    let unchanged = packages.len() == 1 && entries == totals.len();
    let package_id = if unchanged { packages[0].package_id.clone() } else { merged_id(&packages) };
    let generated_at = packages
        .iter()
        .map(|package| &package.generated_at)
        .max_by_key(|text| parse_date_time(text))
        .cloned()
        .unwrap_or_default();
    let metrics = totals.into_iter().map(|(counter, value)| Metric { counter, value }).collect();
    let first = packages.swap_remove(0);
    Ok(Package { generated_at, metrics, package_id, ..first })
}

pub(crate) fn add(total: u64, value: u64, counter: &Counter) -> Result<u64, MergeError> {
    total.checked_add(value).ok_or_else(|| MergeError::SumTooLarge {
        name: counter.kind().name(),
        dimensions: counter.dimensions_json(),
    })
}

/// Equal packages always merge to the same id.
fn merged_id(packages: &[Package]) -> String {
    let ids: Vec<_> = packages.iter().map(|package| package.package_id.as_str()).collect();
    Uuid::new_v5(&Uuid::NAMESPACE_OID, ids.join("+").as_bytes()).to_string()
}
