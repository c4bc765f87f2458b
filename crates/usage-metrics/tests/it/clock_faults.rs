//! With any clock changes, packages stay valid, nothing stalls and nothing is counted twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use usage_metrics::catalogue::Kind;
use usage_metrics::clock::{ManualClock, Timestamp};
use usage_metrics::package::Counter;
use usage_metrics::recorder::FlushResult;
use usage_metrics::store::PackageScope;

use crate::fixtures::{
    TestStore, WAIT, all_packages, assert_valid, batch, hours_later, noon, recorder, route, totals,
};

#[derive(Debug, Clone)]
enum Step {
    /// Shifts the clock by hours, forward or back.
    Move(i64),
    /// Sets the clock to an extreme.
    Jump(i64),
    Count(u8, u64),
    Active,
    Package,
    PackageEnded,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (-60_i64..60).prop_map(Step::Move),
        prop_oneof![Just(0), Just(i64::MAX), Just(noon().as_ms())].prop_map(Step::Jump),
        (0..4_u8, 1..100_u64).prop_map(|(model, count)| Step::Count(model, count)),
        Just(Step::Active),
        Just(Step::Package),
        Just(Step::PackageEnded),
        Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn any_clock_changes_leave_valid_complete_packages(
        steps in prop::collection::vec(step(), 1..30)
    ) {
        let temp = TestStore::new();
        let mut now = noon();
        let mut store = temp.open(now);
        let mut expected: BTreeMap<Counter, u64> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Move(hours) => now = hours_later(now, hours),
                Step::Jump(ms) => now = Timestamp::from_ms(ms),
                Step::Count(model, count) => {
                    let counter = route(&format!("m{model}"));
                    *expected.entry(counter.clone()).or_default() += count;
                    store.add(&[batch(now, vec![(counter, count)])]).unwrap();
                }
                Step::Active => {
                    let mut active = batch(now, Vec::new());
                    active.active = true;
                    store.add(&[active]).unwrap();
                }
                Step::Package => drop(store.package(PackageScope::All, now).unwrap()),
                Step::PackageEnded => {
                    store.package(PackageScope::Except(now.day()), now).unwrap();
                    let left = store.drafts(PackageScope::All).unwrap();
                    let today = now.day().start().to_string();
                    prop_assert!(left.iter().all(|it| it.period_start == today), "packaging stalled");
                }
                Step::Reopen => store = temp.open(now),
            }
        }
        let packages = all_packages(&store);
        packages.iter().for_each(assert_valid);
        let ids: BTreeSet<_> = packages.iter().map(|package| &package.package_id).collect();
        prop_assert_eq!(ids.len(), packages.len());
        let mut found = totals(&packages);
        found.retain(|counter, _| counter.kind() != Kind::ClientActive);
        prop_assert_eq!(found, expected);
        // A period occurs once, whatever the clock does.
        let mut active_days = BTreeSet::new();
        for package in &packages {
            for metric in &package.metrics {
                if metric.counter.kind() == Kind::ClientActive {
                    prop_assert_eq!(metric.value, 1);
                    prop_assert!(active_days.insert(&package.period_start));
                }
            }
        }
    }
}

#[test]
fn clock_set_forth_and_back_does_not_stall_packaging() {
    let temp = TestStore::new();
    let clock = Arc::new(ManualClock::at(noon()));
    let recorder = recorder(&temp.folder, &clock, std::time::Duration::from_millis(5));
    let at = |hours: i64, model: &str| {
        clock.set(hours_later(noon(), hours));
        recorder.client_active();
        recorder.count_route(model, "lab");
        assert_eq!(recorder.flush(WAIT), FlushResult::Stored);
        temp.existing().packages().unwrap().len()
    };
    assert_eq!(at(0, "a"), 0);
    // A year ahead: the old day is past.
    assert_eq!(at(365 * 24, "b"), 1);
    // Back again: the day a year ahead is packaged without waiting for it.
    assert_eq!(at(24, "c"), 2);
    assert_eq!(at(48, "d"), 3);
    recorder.close(WAIT);
    let store = temp.existing();
    let packages = all_packages(&store);
    packages.iter().for_each(assert_valid);
    assert_eq!(totals(&packages).values().sum::<u64>(), 4 + 3, "four routes, three active days");
    // The contents of a package are deleted after the retention time, not before.
    assert!(
        store.packages().unwrap().iter().all(|it| temp.folder.package(&it.package_id).exists())
    );
}
