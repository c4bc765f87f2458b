//! Previews of packages: a pure function of the stored counters.
//!
//! `show` and `package` use the same function. Ids follow from the installation, a sequence
//! number and the contents, and `generated_at` is the last time a counter rose, so that a
//! draft does not depend on the time of the preview.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row};
use uuid::Uuid;

use super::{Result, state};
use crate::catalogue::{
    Architecture, InstallMethod, Kind, MAX_VERSION_CHARS, OsFamily, SCHEMA_VERSION,
};
use crate::clock::{Day, Timestamp};
use crate::package::{Counter, MAX_PACKAGE_BYTES, Metric, Package, Resource, split};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackageScope {
    All,
    /// Every day but this one, which may still grow. Later days come from a clock that was set
    /// back.
    Except(Day),
}

#[derive(Debug)]
pub(super) struct PackageDraft {
    pub(super) package: Package,
    pub(super) bytes: Vec<u8>,
    pub(super) sequence: i64,
    pub(super) day: i64,
}

#[derive(Debug, Default)]
pub(super) struct PackagePlan {
    pub(super) drafts: Vec<PackageDraft>,
    pub(super) packaged: Vec<RowKey>,
    pub(super) poison: Vec<RejectedRow>,
}

#[derive(Debug)]
pub(super) struct RejectedRow {
    pub(super) key: RowKey,
    pub(super) value: i64,
    pub(super) reason: &'static str,
}

/// The key of a counter row. The texts are bytes, because other programs may have written invalid
/// UTF-8.
#[derive(Debug, Clone)]
pub(super) struct RowKey {
    pub(super) day: i64,
    pub(super) resource: i64,
    pub(super) name: Vec<u8>,
    pub(super) dimensions: Vec<u8>,
}

struct CounterRow {
    key: RowKey,
    resource: [String; 4],
    value: i64,
    packaged: i64,
    touched_ms: i64,
}

const UNPACKAGED: &str = "
    SELECT c.day, c.resource, c.name, c.dimensions, c.value, c.packaged, c.touched_ms,
        r.agent_version, r.architecture, r.install_method, r.os_family
    FROM counter c JOIN resource r ON r.id = c.resource
    WHERE c.value <> c.packaged
    ORDER BY c.day, c.resource";

pub(super) fn plan(connection: &Connection, scope: PackageScope) -> Result<PackagePlan> {
    let install_id: String = state(connection, "install_id")?;
    let mut sequence: i64 = state(connection, "sequence")?;
    let mut plan = PackagePlan::default();
    // The counters of each day and resource, and the last time one of them rose.
    let mut groups: BTreeMap<(i64, Resource), (BTreeMap<Counter, u64>, i64)> = BTreeMap::new();
    let mut statement = connection.prepare_cached(UNPACKAGED)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let row = CounterRow::read(row)?;
        if scope == PackageScope::Except(Day::from_number(row.key.day)) {
            continue;
        }
        let (resource, counter, value) = match row.parse() {
            Ok(judged) => judged,
            Err(reason) => {
                plan.poison.push(RejectedRow { key: row.key, value: row.value, reason });
                continue;
            }
        };
        let (counters, touched_ms) = groups.entry((row.key.day, resource)).or_default();
        *touched_ms = row.touched_ms.max(*touched_ms);
        // Two rows may be equal after normalisation.
        let total = counters.entry(counter).or_default();
        *total = total.saturating_add(value);
        plan.packaged.push(row.key);
    }
    for ((day, resource), (counters, touched_ms)) in groups {
        let whole = whole_package(&install_id, day, resource, counters, touched_ms);
        for part in split(&whole, MAX_PACKAGE_BYTES) {
            sequence += 1;
            let metrics = whole.metrics[part].to_vec();
            let mut package = Package { metrics, ..whole.clone() };
            package.package_id = package_id(&install_id, sequence, &package);
            plan.drafts.push(PackageDraft { bytes: package.to_bytes(), package, sequence, day });
        }
    }
    Ok(plan)
}

impl CounterRow {
    fn read(row: &Row<'_>) -> Result<Self> {
        let key = RowKey {
            day: row.get(0)?,
            resource: row.get(1)?,
            name: bytes(row, 2)?,
            dimensions: bytes(row, 3)?,
        };
        Ok(CounterRow {
            key,
            value: row.get(4)?,
            packaged: row.get(5)?,
            touched_ms: row.get(6)?,
            resource: [text(row, 7)?, text(row, 8)?, text(row, 9)?, text(row, 10)?],
        })
    }

    /// The counter of the row, or why it cannot be packaged.
    fn parse(&self) -> std::result::Result<(Resource, Counter, u64), &'static str> {
        let resource = read_resource(&self.resource).ok_or("invalid resource")?;
        let dimensions: BTreeMap<String, String> = serde_json::from_slice(&self.key.dimensions)
            .map_err(|_| "the dimensions are not a JSON object of strings")?;
        let counter = std::str::from_utf8(&self.key.name)
            .ok()
            .and_then(|name| Counter::find(name, &dimensions))
            .ok_or("unknown counter")?;
        if Day::from_number(self.key.day).number() != self.key.day {
            return Err("the day is out of range");
        }
        let value = u64::try_from(self.value.saturating_sub(self.packaged))
            .ok()
            .filter(|value| *value > 0 && self.packaged >= 0)
            .ok_or("the count is lower than the packaged count")?;
        Ok((resource, counter, value))
    }
}

fn bytes(row: &Row<'_>, column: usize) -> Result<Vec<u8>> {
    Ok(row.get_ref(column)?.as_bytes().map_err(rusqlite::Error::from)?.to_vec())
}

fn text(row: &Row<'_>, column: usize) -> Result<String> {
    Ok(String::from_utf8_lossy(&bytes(row, column)?).into_owned())
}

fn read_resource([version, architecture, method, os]: &[String; 4]) -> Option<Resource> {
    let length = version.chars().count();
    (1..=MAX_VERSION_CHARS).contains(&length).then_some(())?;
    Some(Resource {
        agent_version: version.clone(),
        architecture: Architecture::parse(architecture)?,
        install_method: InstallMethod::parse(method)?,
        os_family: OsFamily::parse(os)?,
    })
}

fn whole_package(
    install_id: &str,
    day: i64,
    resource: Resource,
    counters: BTreeMap<Counter, u64>,
    touched_ms: i64,
) -> Package {
    let day = Day::from_number(day);
    let metrics = counters.into_iter().map(|(counter, value)| {
        // A client is active at most once.
        let value = if counter.kind() == Kind::ClientActive { 1 } else { value };
        Metric { counter, value }
    });
    Package {
        generated_at: Timestamp::from_ms(touched_ms).to_string(),
        install_id: install_id.to_owned(),
        metrics: metrics.collect(),
        // All ids have the same length, so that the size is known before the parts.
        package_id: Uuid::nil().to_string(),
        period_end: day.end().to_string(),
        period_start: day.start().to_string(),
        resource,
        schema_version: SCHEMA_VERSION,
    }
}

/// The id of the n-th package of the installation with this content. Equal ids always mean equal
/// bytes.
fn package_id(install_id: &str, sequence: i64, package: &Package) -> String {
    let namespace = Uuid::parse_str(install_id).unwrap_or(Uuid::NAMESPACE_OID);
    let name = format!("{sequence} {}", package.to_line());
    Uuid::new_v5(&namespace, name.as_bytes()).to_string()
}
