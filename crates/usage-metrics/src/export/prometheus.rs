//! The Prometheus text format: one family per kind, labels from dimensions and resource.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::catalogue::Kind;
use crate::merge::{MergeError, add};
use crate::package::{Counter, Package, Resource};

/// Writes running totals over all periods.
pub(super) fn write(packages: &[Package]) -> Result<String, MergeError> {
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
    labels.extend([
        ("agent_version", &*resource.agent_version),
        ("architecture", resource.architecture.text()),
        ("install_method", resource.install_method.text()),
        ("os_family", resource.os_family.text()),
    ]);
    let escape = |text: &str| text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    let pairs: Vec<_> =
        labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escape(value))).collect();
    pairs.join(",")
}
