//! The contents of the store and the packages made from it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use usage_metrics::catalogue::Kind;
use usage_metrics::package::{MAX_PACKAGE_BYTES, Package};
use usage_metrics::store::{ErrorKind, PackageScope, Store};
use uuid::Uuid;

use crate::fixtures::{
    TestStore, all_packages, assert_valid, batch, hours_later, mixed_batch, noon, resource, route,
    totals,
};

#[test]
fn packages_are_deltas_and_match_their_preview() {
    let temp = TestStore::new();
    let mut store = temp.open(noon());
    store.add(&[mixed_batch(noon())]).unwrap();

    let shown = store.drafts(PackageScope::All).unwrap();
    let shown_again = temp.existing().drafts(PackageScope::All).unwrap();
    assert_eq!(shown, shown_again);
    let made = store.package(PackageScope::All, hours_later(noon(), 1)).unwrap();
    store.write_outbox(noon()).unwrap();
    assert_eq!(made.len(), 1);
    assert_eq!(made[0].bytes, shown[0].to_bytes());
    assert_eq!(fs::read(temp.folder.package(&made[0].package_id)).unwrap(), made[0].bytes);
    shown.iter().for_each(assert_valid);

    // No new counts give no package; new counts give only the difference.
    assert!(store.package(PackageScope::All, noon()).unwrap().is_empty());
    store.add(&[batch(noon(), vec![(route("gpt-5"), 4)])]).unwrap();
    let second = store.package(PackageScope::All, noon()).unwrap();
    let package = Package::read(&second[0].bytes).unwrap();
    assert_eq!(totals(&[package]).into_iter().collect::<Vec<_>>(), [(route("gpt-5"), 4)]);
    assert_ne!(second[0].package_id, made[0].package_id);
    assert_eq!(totals(&all_packages(&store))[&route("gpt-5")], 7);
}

#[test]
fn package_has_period_sorted_entries_and_resource() {
    let temp = TestStore::new();
    let mut store = temp.open(noon());
    store.add(&[mixed_batch(noon())]).unwrap();
    let draft = store.drafts(PackageScope::All).unwrap().remove(0);
    assert_eq!(draft.period_start, "2026-07-28T00:00:00Z");
    assert_eq!(draft.period_end, "2026-07-29T00:00:00Z");
    assert_eq!(draft.generated_at, "2026-07-28T12:00:00Z");
    assert_eq!(draft.resource, resource());
    assert_eq!(draft.install_id, store.install_id().unwrap());
    let written: Vec<_> = draft
        .metrics
        .iter()
        .map(|metric| (metric.counter.kind().name(), metric.counter.dimensions_json()))
        .collect();
    assert!(written.is_sorted(), "{written:?}");
    assert_eq!(written.len(), 4);
}

#[test]
fn days_and_resources_have_separate_packages() {
    let temp = TestStore::new();
    let mut store = temp.open(noon());
    let mut upgraded = batch(noon(), vec![(route("a"), 1)]);
    upgraded.resource.agent_version = "2.0.0".to_owned();
    store
        .add(&[
            batch(hours_later(noon(), 24), vec![(route("a"), 1)]),
            batch(noon(), vec![(route("a"), 1)]),
            upgraded,
        ])
        .unwrap();
    let drafts = store.drafts(PackageScope::All).unwrap();
    let groups: Vec<_> = drafts
        .iter()
        .map(|package| (&package.period_start[..10], package.resource.agent_version.as_str()))
        .collect();
    assert_eq!(groups, [("2026-07-28", "1.2.3"), ("2026-07-28", "2.0.0"), ("2026-07-29", "1.2.3")]);
    let today = hours_later(noon(), 24).day();
    assert_eq!(store.drafts(PackageScope::Except(today)).unwrap().len(), 2);
}

#[test]
fn large_packages_are_split_deterministically() {
    let temp = TestStore::new();
    let mut store = temp.open(noon());
    let counts = (0..12_000).map(|at| (route(&format!("model-{at}")), 1)).collect();
    store.add(&[batch(noon(), counts)]).unwrap();
    let drafts = store.drafts(PackageScope::All).unwrap();
    let made = store.package(PackageScope::All, noon()).unwrap();
    assert!(made.len() > 1, "12,000 entries do not fit one package");
    for (package, draft) in made.iter().zip(&drafts) {
        assert!(package.bytes.len() <= MAX_PACKAGE_BYTES, "{} bytes", package.bytes.len());
        assert_eq!(package.bytes, draft.to_bytes());
        assert_valid(draft);
    }
    // Every package but the last is nearly full, and together they contain everything.
    assert!(made[..made.len() - 1].iter().all(|it| it.bytes.len() > MAX_PACKAGE_BYTES - 400));
    assert_eq!(totals(&all_packages(&store)).len(), 12_000);
}

#[test]
fn missing_or_damaged_outbox_file_is_rewritten_identically() {
    let temp = TestStore::new();
    let mut store = temp.open(noon());
    store.add(&[mixed_batch(noon())]).unwrap();
    let made = store.package(PackageScope::All, noon()).unwrap().remove(0);
    assert_eq!(store.write_outbox(noon()).unwrap(), 1);
    assert_eq!(store.write_outbox(noon()).unwrap(), 0);
    let path = temp.folder.package(&made.package_id);
    fs::remove_file(&path).unwrap();
    assert_eq!(store.write_outbox(noon()).unwrap(), 1);
    assert_eq!(fs::read(&path).unwrap(), made.bytes);
    fs::write(&path, "{").unwrap();
    assert_eq!(store.write_outbox(noon()).unwrap(), 1);
    assert_eq!(fs::read(&path).unwrap(), made.bytes);
}

#[test]
fn files_are_readable_only_by_the_owner() {
    let temp = TestStore::new();
    let mut store = temp.open(noon());
    store.add(&[mixed_batch(noon())]).unwrap();
    store.package(PackageScope::All, noon()).unwrap();
    store.write_outbox(noon()).unwrap();
    let mut files = 0;
    let mut folders = vec![temp.folder.root().to_owned()];
    while let Some(folder) = folders.pop() {
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files += 1;
                let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
                assert_eq!(mode, 0o600, "{}", path.display());
            }
        }
    }
    // Database, journal, its index, lock and one package.
    assert_eq!(files, 5);
}

#[test]
fn invalid_row_is_set_aside_and_the_rest_is_packaged() {
    let temp = TestStore::new();
    let mut store = temp.open(noon());
    store.add(&[mixed_batch(noon())]).unwrap();
    let sql = rusqlite::Connection::open(temp.folder.database()).unwrap();
    for (name, dimensions, value) in [
        ("agent.no_such.count", "{}", 3),
        ("agent.tool_approval.count", r#"{"attribution":"tool_call","outcome":"maybe"}"#, 4),
        ("agent.tool_approval.count", "not json", 5),
        ("agent.model_route.count", r#"{"model":"Big","provider":"lab"}"#, 6),
        ("agent.tool_approval.count", r#"{"attribution":"tool_call","outcome":"unknown"}"#, -7),
    ] {
        sql.execute(
            "INSERT INTO counter (day, resource, name, dimensions, value, touched_ms)
             VALUES (?1, 1, ?2, ?3, ?4, ?5)",
            rusqlite::params![noon().day().number(), name, dimensions, value, noon().as_ms()],
        )
        .unwrap();
    }
    // Bytes that are not UTF-8.
    sql.execute(
        "INSERT INTO counter (day, resource, name, dimensions, value, touched_ms)
         VALUES (?1, 1, 'agent.tool_approval.count', CAST(x'ff' AS TEXT), 8, ?2)",
        [noon().day().number(), noon().as_ms()],
    )
    .unwrap();
    drop(sql);
    let made = store.package(PackageScope::All, noon()).unwrap();
    assert_eq!(made.len(), 1);
    let package = Package::read(&made[0].bytes).unwrap();
    assert_valid(&package);
    assert_eq!(package.metrics.len(), 4);
    let summary = store.summary().unwrap();
    let reasons: Vec<_> =
        summary.set_aside_rows.iter().map(|row| (row.value, row.reason.as_str())).collect();
    assert_eq!(reasons.len(), 6);
    assert!(reasons.contains(&(3, "unknown counter")), "{reasons:?}");
    assert!(
        reasons.contains(&(5, "the dimensions are not a JSON object of strings")),
        "{reasons:?}"
    );
    assert!(reasons.contains(&(-7, "the count is lower than the packaged count")), "{reasons:?}");
    assert!(store.package(PackageScope::All, noon()).unwrap().is_empty());
}

#[test]
fn retention_deletes_only_old_written_packages() {
    let temp = TestStore::new();
    let mut store = temp.open(noon());
    store.add(&[batch(noon(), vec![(route("old"), 1)])]).unwrap();
    let old = store.package(PackageScope::All, noon()).unwrap().remove(0);
    store.write_outbox(noon()).unwrap();
    store.add(&[batch(noon(), vec![(route("unwritten"), 1)])]).unwrap();
    let unwritten = store.package(PackageScope::All, noon()).unwrap().remove(0);
    store.add(&[batch(noon(), vec![(route("unpackaged"), 1)])]).unwrap();

    let thirty_days = hours_later(noon(), 30 * 24);
    assert_eq!(store.prune(thirty_days, 30).unwrap().packages, 0, "exactly 30 days are kept");
    let pruned = store.prune(hours_later(thirty_days, 24), 30).unwrap();
    assert_eq!((pruned.packages, pruned.counters), (1, 2));
    assert!(!temp.folder.package(&old.package_id).exists());
    let left: Vec<_> = store.packages().unwrap().into_iter().map(|it| it.package_id).collect();
    assert_eq!(left, [unwritten.package_id]);
    assert_eq!(store.drafts(PackageScope::All).unwrap()[0].metrics[0].counter, route("unpackaged"));
}

#[test]
fn client_is_active_once_per_24_hours() {
    let temp = TestStore::new();
    let mut store = temp.open(noon());
    let mut active = |hours: i64| {
        let mut batch = batch(hours_later(noon(), hours), Vec::new());
        batch.active = true;
        store.add(&[batch]).unwrap();
        let packages = store.drafts(PackageScope::All).unwrap();
        let entries = packages.iter().flat_map(|package| &package.metrics);
        entries.filter(|metric| metric.counter.kind() == Kind::ClientActive).count()
    };
    assert_eq!(active(0), 1);
    assert_eq!(active(1), 1);
    assert_eq!(active(23), 1, "another day, but not 24 hours later");
    assert_eq!(active(24), 2, "exactly 24 hours later");
    assert_eq!(active(47), 2);
    assert_eq!(active(72), 3);
}

#[test]
fn unreadable_activity_time_counts_as_none() {
    let temp = TestStore::new();
    let mut store = temp.open(noon());
    let mut active = batch(noon(), Vec::new());
    active.active = true;
    store.add(&[active.clone()]).unwrap();
    let sql = rusqlite::Connection::open(temp.folder.database()).unwrap();
    sql.execute("UPDATE state SET value = 'soon' WHERE key = 'active_ms'", []).unwrap();
    drop(sql);
    store.add(&[active]).unwrap();
    let drafts = store.drafts(PackageScope::All).unwrap();
    assert_eq!(drafts[0].metrics[0].value, 1, "still once that day");
    assert_valid(&drafts[0]);
}

#[test]
fn store_of_a_newer_version_is_not_modified() {
    let temp = TestStore::new();
    drop(temp.open(noon()));
    let sql = rusqlite::Connection::open(temp.folder.database()).unwrap();
    sql.pragma_update(None, "user_version", 99).unwrap();
    drop(sql);
    let before = fs::read(temp.folder.database()).unwrap();
    let error = Store::open(&temp.folder, noon(), Uuid::new_v4).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Newer);
    assert_eq!(error.to_string(), "the store has version 99; this program supports version 1");
    assert_eq!(fs::read(temp.folder.database()).unwrap(), before);
    assert!(temp.folder.stores_set_aside().is_empty());
}

#[test]
fn new_installation_id_applies_to_later_packages() {
    let temp = TestStore::new();
    let mut store = temp.open(noon());
    store.add(&[mixed_batch(noon())]).unwrap();
    let made = store.package(PackageScope::All, noon()).unwrap().remove(0);
    let before = store.install_id().unwrap();
    let after = store.reset_id().unwrap();
    assert_ne!(before, after);
    store.add(&[batch(noon(), vec![(route("a"), 1)])]).unwrap();
    let draft = store.drafts(PackageScope::All).unwrap().remove(0);
    assert_eq!(draft.install_id, after);
    assert_valid(&draft);
    assert_eq!(Package::read(&made.bytes).unwrap().install_id, before);
}

#[test]
fn counters_saturate() {
    let temp = TestStore::new();
    let mut store = temp.open(noon());
    for _ in 0..3 {
        store.add(&[batch(noon(), vec![(route("a"), u64::MAX)])]).unwrap();
    }
    let draft = store.drafts(PackageScope::All).unwrap().remove(0);
    assert_eq!(draft.metrics[0].value, i64::MAX.unsigned_abs());
    assert_valid(&draft);
}

#[test]
fn parallel_packaging_packages_every_increment_once() {
    let temp = TestStore::new();
    let mut store = temp.open(noon());
    store.add(&[mixed_batch(noon())]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| temp.existing().package(PackageScope::All, noon()).unwrap());
        }
    });
    assert_eq!(store.packages().unwrap().len(), 1);
    assert_eq!(totals(&all_packages(&store))[&route("gpt-5")], 3);
}

#[test]
fn equivalent_rows_are_added() {
    let temp = TestStore::new();
    let mut store = temp.open(noon());
    store.add(&[batch(noon(), vec![(route("a"), 2)])]).unwrap();
    let sql = rusqlite::Connection::open(temp.folder.database()).unwrap();
    sql.execute(
        "INSERT INTO counter (day, resource, name, dimensions, value, touched_ms)
         VALUES (?1, 1, 'agent.model_route.count', '{\"provider\":\"lab\",\"model\":\"a\"}', 3, ?2)",
        [noon().day().number(), noon().as_ms()],
    )
    .unwrap();
    drop(sql);
    assert_eq!(totals(&store.drafts(PackageScope::All).unwrap())[&route("a")], 5);
}

#[test]
fn changed_preview_has_another_id() {
    let temp = TestStore::new();
    let mut store = temp.open(noon());
    store.add(&[batch(noon(), vec![(route("a"), 2)])]).unwrap();
    let before = store.drafts(PackageScope::All).unwrap().remove(0);
    store.add(&[batch(noon(), vec![(route("a"), 1)])]).unwrap();
    let after = store.drafts(PackageScope::All).unwrap().remove(0);
    assert_ne!(before.package_id, after.package_id, "equal ids mean equal bytes");
    assert_valid(&after);
}
