//! Helpers of the store and recorder tests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use usage_metrics::catalogue::{
    ApprovalOutcome, Architecture, Attribution, Cell, InstallMethod, OsFamily, ToolApproval,
};
use usage_metrics::clock::{Clock, ManualClock, Timestamp};
use usage_metrics::lint::lint;
use usage_metrics::package::{Counter, Package, Resource};
use usage_metrics::recorder::{Recorder, Settings};
use usage_metrics::store::{CounterBatch, Store, StoreFolder};
use usage_metrics::validate::validate;
use uuid::Uuid;

pub(crate) const WAIT: Duration = Duration::from_secs(30);

/// Noon of 2026-07-28.
pub(crate) fn noon() -> Timestamp {
    Timestamp::from_ms(1_785_196_800_000 + 12 * 3_600_000)
}

pub(crate) fn hours_later(at: Timestamp, hours: i64) -> Timestamp {
    Timestamp::from_ms(at.as_ms() + hours * 3_600_000)
}

pub(crate) fn resource() -> Resource {
    Resource {
        agent_version: "1.2.3".to_owned(),
        architecture: Architecture::X86_64,
        install_method: InstallMethod::Git,
        os_family: OsFamily::Linux,
    }
}

pub(crate) fn approval(outcome: ApprovalOutcome) -> ToolApproval {
    ToolApproval { attribution: Attribution::ToolCall, outcome }
}

pub(crate) fn route(model: &str) -> Counter {
    Counter::Route { model: model.to_owned(), provider: "lab".to_owned() }
}

pub(crate) fn batch(at: Timestamp, counts: Vec<(Counter, u64)>) -> CounterBatch {
    let counts = counts.into_iter().collect();
    CounterBatch { at, resource: resource(), counts, active: false, lost: 0 }
}

/// A few counters of several kinds.
pub(crate) fn mixed_batch(at: Timestamp) -> CounterBatch {
    let cell = |outcome| Counter::Cell(Cell::of(&approval(outcome)));
    let mut batch = batch(
        at,
        vec![
            (route("gpt-5"), 3),
            (cell(ApprovalOutcome::Denied), 2),
            (cell(ApprovalOutcome::Approved), 5),
        ],
    );
    batch.active = true;
    batch
}

/// A store in a temporary folder.
pub(crate) struct TestStore {
    _root: TempDir,
    pub(crate) folder: StoreFolder,
}

impl TestStore {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let folder = StoreFolder::new(root.path().join("metrics"));
        TestStore { _root: root, folder }
    }

    pub(crate) fn open(&self, now: Timestamp) -> Store {
        Store::open(&self.folder, now, Uuid::new_v4).unwrap()
    }

    pub(crate) fn existing(&self) -> Store {
        Store::existing(&self.folder, Uuid::new_v4).unwrap().expect("there is a store")
    }
}

pub(crate) fn recorder(
    folder: &StoreFolder,
    clock: &Arc<ManualClock>,
    interval: Duration,
) -> Recorder {
    let clock: Arc<dyn Clock> = clock.clone();
    let mut settings = Settings::new(folder.clone(), resource(), clock, Uuid::new_v4);
    settings.flush_interval = interval;
    Recorder::start(settings)
}

/// The packages in the outbox, then the preview of the next ones.
pub(crate) fn all_packages(store: &Store) -> Vec<Package> {
    let holdings = store.contents().unwrap();
    let made = holdings.made.iter().map(|stored| Package::read(&stored.bytes).unwrap());
    made.chain(holdings.next).collect()
}

/// Sums over packages.
pub(crate) fn totals(packages: &[Package]) -> BTreeMap<Counter, u64> {
    let mut totals = BTreeMap::new();
    for metric in packages.iter().flat_map(|package| &package.metrics) {
        *totals.entry(metric.counter.clone()).or_default() += metric.value;
    }
    totals
}

pub(crate) fn assert_valid(package: &Package) {
    let bytes = package.to_bytes();
    let verdict = validate(&bytes);
    assert!(verdict.is_valid(), "{:?}\n{}", verdict.violations, String::from_utf8_lossy(&bytes));
    assert_eq!(lint(&bytes, package), [], "{}", String::from_utf8_lossy(&bytes));
}

/// A valid package with these entries.
pub(crate) fn package_json(metrics: &Value) -> Value {
    json!({
        "schema_version": "agent.shared_metrics.v2",
        "package_id": "6ba7b810-9dad-41d1-80b4-00c04fd430c8",
        "install_id": "6ba7b811-9dad-41d1-80b4-00c04fd430c8",
        "period_start": "2026-07-28T00:00:00Z",
        "period_end": "2026-07-29T00:00:00Z",
        "generated_at": "2026-07-28T12:00:00Z",
        "resource": {
            "architecture": "x86_64", "agent_version": "1", "install_method": "git",
            "os_family": "linux",
        },
        "metrics": metrics,
    })
}
