//! OTLP/JSON: every counter is a monotonic sum with delta temporality over its period.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::catalogue::{Kind, SCHEMA_VERSION};
use crate::package::{Metric, Package, Resource};
use crate::validate::{DateTime, parse_date_time};

/// `AGGREGATION_TEMPORALITY_DELTA`.
const DELTA: u8 = 1;

/// Writes one metrics export request. The id of the installation is local and not included.
pub(super) fn write(packages: &[Package]) -> String {
    let mut by_resource: BTreeMap<&Resource, BTreeMap<Kind, Vec<Value>>> = BTreeMap::new();
    for package in packages {
        let kinds = by_resource.entry(&package.resource).or_default();
        for metric in &package.metrics {
            kinds.entry(metric.counter.kind()).or_default().push(data_point(package, metric));
        }
    }
    let resource_metrics: Vec<Value> = by_resource
        .into_iter()
        .map(|(resource, kinds)| {
            let metrics: Vec<Value> =
                kinds.into_iter().map(|(kind, points)| sum(kind, &points)).collect();
            json!({
                "resource": { "attributes": resource_attributes(resource) },
                "scopeMetrics": [{ "scope": { "name": SCHEMA_VERSION }, "metrics": metrics }],
            })
        })
        .collect();
    let request = json!({ "resourceMetrics": resource_metrics });
    serde_json::to_string_pretty(&request).unwrap_or_default() + "\n"
}

fn sum(kind: Kind, points: &[Value]) -> Value {
    json!({
        "name": kind.name(),
        "description": kind.spec().summary,
        "unit": "1",
        "sum": { "aggregationTemporality": DELTA, "isMonotonic": true, "dataPoints": points },
    })
}

fn data_point(package: &Package, metric: &Metric) -> Value {
    let attributes: Vec<Value> =
        metric.counter.dimensions().into_iter().map(|(key, value)| attribute(key, value)).collect();
    // 64-bit integers are strings in OTLP/JSON.
    json!({
        "attributes": attributes,
        "startTimeUnixNano": nanos(&package.period_start),
        "timeUnixNano": nanos(&package.period_end),
        "asInt": metric.value.to_string(),
    })
}

fn resource_attributes(resource: &Resource) -> Value {
    json!([
        attribute("service.name", "agent"),
        attribute("service.version", &resource.agent_version),
        attribute("os.type", resource.os_family.text()),
        attribute("host.arch", resource.architecture.text()),
        attribute("agent.install_method", resource.install_method.text()),
    ])
}

fn attribute(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// Nanoseconds since the epoch; times before it become 0.
fn nanos(text: &str) -> String {
    let Some(DateTime { seconds, fraction }) = parse_date_time(text) else { return "0".to_owned() };
    let nanos: i128 = format!("{fraction:0<9.9}").parse().unwrap_or(0);
    (i128::from(seconds) * 1_000_000_000 + nanos).max(0).to_string()
}
