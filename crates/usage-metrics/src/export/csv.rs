//! CSV: one row per entry, one column per dimension of the catalogue.

use std::collections::BTreeSet;

use crate::catalogue::KINDS;
use crate::package::Package;

const BEFORE: [&str; 7] = [
    "period_start", "period_end", "agent_version", "architecture", "install_method", "os_family",
    "name",
];

pub(super) fn write(packages: &[Package]) -> String {
    let dimensions: BTreeSet<&str> =
        KINDS.iter().flat_map(|spec| spec.keys.iter().copied()).collect();
    let mut table = csv::Writer::from_writer(Vec::new());
    let header = BEFORE.iter().chain(&dimensions).chain(&["value"]);
    // Writing to memory cannot fail, and all records have the same length.
    let _ = table.write_record(header);
    for package in packages {
        let resource = &package.resource;
        for metric in &package.metrics {
            let found = metric.counter.dimensions();
            let value = metric.value.to_string();
            let before = [
                &*package.period_start,
                &package.period_end,
                &resource.agent_version,
                resource.architecture.text(),
                resource.install_method.text(),
                resource.os_family.text(),
                metric.counter.kind().name(),
            ];
            let cells = dimensions.iter().map(|key| {
                found.iter().find(|(known, _)| known == key).map_or("", |(_, value)| *value)
            });
            let _ = table.write_record(before.into_iter().chain(cells).chain([&*value]));
        }
    }
    let bytes = table.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}
