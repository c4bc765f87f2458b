//! Merging of packages.

use proptest::prelude::*;
use usage_metrics::catalogue::{Cell, ClientActive};
use usage_metrics::merge::{MergeError, merge};
use usage_metrics::package::{Counter, Metric, Package};
use usage_metrics::store::PackageScope;

use crate::fixtures::{
    TestStore, assert_valid, batch, hours_later, mixed_batch, noon, route, totals,
};

/// A package of the day with these entries.
fn package(id: u128, metrics: Vec<(Counter, u64)>) -> Package {
    let temp = TestStore::new();
    let mut store = temp.open(noon());
    store.add(&[batch(noon(), vec![(route("template"), 1)])]).unwrap();
    let template = store.drafts(PackageScope::All).unwrap().remove(0);
    Package {
        install_id: "6ba7b811-9dad-41d1-80b4-00c04fd430c8".to_owned(),
        package_id: uuid::Builder::from_random_bytes(id.to_be_bytes()).into_uuid().to_string(),
        metrics: metrics.into_iter().map(|(counter, value)| Metric { counter, value }).collect(),
        ..template
    }
}

fn active() -> Counter {
    Counter::Cell(Cell::of(&ClientActive {}))
}

#[test]
fn packages_of_one_period_merge_into_sums() {
    let merged = merge([
        package(1, vec![(route("a"), 2), (route("b"), 1), (active(), 1)]),
        package(2, vec![(route("a"), 5), (active(), 1)]),
    ])
    .unwrap();
    assert_eq!(merged.len(), 1);
    assert_valid(&merged[0]);
    let totals: Vec<_> = totals(&merged).into_iter().collect();
    assert_eq!(totals, [(active(), 1), (route("a"), 7), (route("b"), 1)]);
}

#[test]
fn duplicate_package_counts_once() {
    let one = package(1, vec![(route("a"), 2)]);
    assert_eq!(merge([one.clone(), one.clone()]).unwrap(), [one]);
}

#[test]
fn one_id_for_two_packages_is_rejected() {
    let (one, other) = (package(1, vec![(route("a"), 2)]), package(1, vec![(route("a"), 3)]));
    let id = one.package_id.clone();
    match merge([one, other]) {
        Err(MergeError::IdReused { package_id }) => assert_eq!(package_id, id),
        other => panic!("{other:?}"),
    }
}

#[test]
fn overflowing_sum_is_rejected_by_name() {
    let halves = [package(1, vec![(route("a"), u64::MAX)]), package(2, vec![(route("a"), 1)])];
    let error = merge(halves).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the sum of agent.model_route.count {\"model\":\"a\",\"provider\":\"lab\"} exceeds \
         18446744073709551615"
    );
}

#[test]
fn different_days_resources_and_installations_stay_separate() {
    let temp = TestStore::new();
    let mut store = temp.open(noon());
    let mut upgraded = mixed_batch(noon());
    upgraded.resource.agent_version = "2".to_owned();
    store.add(&[mixed_batch(noon()), mixed_batch(hours_later(noon(), 24)), upgraded]).unwrap();
    let drafts = store.drafts(PackageScope::All).unwrap();
    let other_install = package(9, vec![(route("a"), 1)]);
    let merged = merge(drafts.clone().into_iter().chain([other_install])).unwrap();
    assert_eq!(merged.len(), drafts.len() + 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn merging_is_commutative_and_idempotent(
        values in prop::collection::vec(prop::collection::vec((0..3_u8, 1..50_u64), 1..4), 1..5),
        seed in any::<u64>(),
    ) {
        let packages: Vec<_> = values
            .iter()
            .enumerate()
            .map(|(id, entries)| {
                let entries = entries.iter().map(|(it, value)| (route(&format!("m{it}")), *value));
                package(id as u128, entries.collect())
            })
            .collect();
        let expected = totals(&packages);
        let merged = merge(packages.clone()).unwrap();
        prop_assert_eq!(totals(&merged), expected);
        let mut shuffled = packages;
        fastrand::Rng::with_seed(seed).shuffle(&mut shuffled);
        prop_assert_eq!(&merge(shuffled).unwrap(), &merged);
        prop_assert_eq!(merge(merged.clone()).unwrap(), merged);
    }
}
