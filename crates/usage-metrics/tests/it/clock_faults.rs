//! Whatever the clock does, packages stay legal, nothing stalls and nothing is counted twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use usage_metrics::catalogue::Kind;
use usage_metrics::clock::{ManualClock, Timestamp};
use usage_metrics::package::Counter;
use usage_metrics::recorder::FlushResult;
use usage_metrics::store::PackageScope;

use crate::workshop::{
    Shop, WAIT, all_packages, assert_sound, batch, hours_later, noon, recorder, route, totals,
};

#[derive(Debug, Clone)]
enum Step {
    /// Moves the clock by hours, forward or back.
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
    fn any_walk_of_the_clock_leaves_sound_packages_that_hold_everything(
        steps in prop::collection::vec(step(), 1..30)
    ) {
        let shop = Shop::new();
        let mut now = noon();
        let mut store = shop.open(now);
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
                Step::Reopen => store = shop.open(now),
            }
        }
        let packages = all_packages(&store);
        packages.iter().for_each(assert_sound);
        let ids: BTreeSet<_> = packages.iter().map(|package| &package.package_id).collect();
        prop_assert_eq!(ids.len(), packages.len());
        let mut found = totals(&packages);
        found.retain(|counter, _| counter.kind() != Kind::ClientActive);
        prop_assert_eq!(found, expected);
        // A period is lived through once, whatever the clock does.
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
fn a_clock_set_forth_and_back_does_not_stall_the_packaging_of_a_running_recorder() {
    let shop = Shop::new();
    let clock = Arc::new(ManualClock::at(noon()));
    let recorder = recorder(&shop.folder, &clock, std::time::Duration::from_millis(5));
    let at = |hours: i64, model: &str| {
        clock.set(hours_later(noon(), hours));
        recorder.client_active();
        recorder.count_route(model, "lab");
        assert_eq!(recorder.flush(WAIT), FlushResult::Stored);
        shop.existing().packages().unwrap().len()
    };
    assert_eq!(at(0, "a"), 0);
    // A year ahead: the old day is over.
    assert_eq!(at(365 * 24, "b"), 1);
    // And back: the day a year ahead does not wait for its time to come.
    assert_eq!(at(24, "c"), 2);
    assert_eq!(at(48, "d"), 3);
    recorder.close(WAIT);
    let store = shop.existing();
    let packages = all_packages(&store);
    packages.iter().for_each(assert_sound);
    assert_eq!(totals(&packages).values().sum::<u64>(), 4 + 3, "four routes, three active days");
    // What a package covers is forgotten after its time, not before.
    assert!(
        store.packages().unwrap().iter().all(|it| shop.folder.package(&it.package_id).exists())
    );
}
