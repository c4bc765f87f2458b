//! Packages in export formats.

use serde_json::Value;
use usage_metrics::export::{Format, export};
use usage_metrics::package::Package;
use usage_metrics::store::PackageScope;
use uuid::Uuid;

use crate::fixtures::{TestStore, batch, hours_later, mixed_batch, noon, route};

/// Two packages of one day and one of the next.
fn packages() -> Vec<Package> {
    let temp = TestStore::new();
    let fixed = || Uuid::from_u128(0x6ba7_b811_9dad_41d1_80b4_00c0_4fd4_30c8);
    let mut store = usage_metrics::store::Store::open(&temp.folder, noon(), fixed).unwrap();
    store.add(&[mixed_batch(noon())]).unwrap();
    store.package(PackageScope::All, noon()).unwrap();
    let mut quoted = batch(hours_later(noon(), 24), vec![(route("gpt-5"), 1)]);
    "1.2 \"beta\", \\x".clone_into(&mut quoted.resource.agent_version);
    store.add(&[batch(noon(), vec![(route("gpt-5"), 4)]), quoted]).unwrap();
    crate::fixtures::all_packages(&store)
}

#[test]
fn csv_has_a_row_for_each_counter_of_a_period() {
    insta::assert_snapshot!(export(packages(), Format::Csv).unwrap());
}

#[test]
fn prometheus_text_has_cumulative_totals() {
    insta::assert_snapshot!(export(packages(), Format::Prometheus).unwrap());
}

#[test]
fn otlp_has_nonoverlapping_delta_sums() {
    let text = export(packages(), Format::Otlp).unwrap();
    insta::assert_snapshot!(text);
    let request: Value = serde_json::from_str(&text).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for resource in request["resourceMetrics"].as_array().unwrap() {
        for metric in resource["scopeMetrics"][0]["metrics"].as_array().unwrap() {
            assert_eq!(metric["sum"]["aggregationTemporality"], 1);
            for point in metric["sum"]["dataPoints"].as_array().unwrap() {
                let stream = format!(
                    "{} {} {} {}",
                    resource["resource"],
                    metric["name"],
                    point["attributes"],
                    point["startTimeUnixNano"]
                );
                assert!(seen.insert(stream), "two points of one stream overlap");
            }
        }
    }
    assert!(!text.contains("6ba7b811"), "the installation's id is local");
}

#[test]
fn json_and_ndjson_keep_packages_unchanged() {
    let packages = packages();
    let json: Vec<Value> =
        serde_json::from_str(&export(packages.clone(), Format::Json).unwrap()).unwrap();
    assert_eq!(json.len(), 3);
    for (value, package) in json.iter().zip(&packages) {
        assert_eq!(Package::read(value.to_string().as_bytes()).unwrap(), *package);
    }
    let ndjson = export(packages.clone(), Format::Ndjson).unwrap();
    let read: Vec<_> = ndjson.lines().map(|line| Package::read(line.as_bytes()).unwrap()).collect();
    assert_eq!(read, packages);
}
