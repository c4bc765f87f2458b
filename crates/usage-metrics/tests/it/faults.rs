//! Read-only, full, truncated or overwritten stores: callers are not blocked, no recoverable count
//! is lost, and counting resumes.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_test_support::disk::SmallDisk;
use agent_test_support::wait::eventually;
use usage_metrics::clock::ManualClock;
use usage_metrics::recorder::{FlushResult, Recorder};
use usage_metrics::store::{BUSY_WAIT, ErrorKind, Store, StoreFolder};
use uuid::Uuid;

use crate::fixtures::{TestStore, WAIT, all_packages, batch, noon, recorder, route, totals};

const SHORT: Duration = Duration::from_millis(20);

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(noon()))
}

fn existing(folder: &StoreFolder) -> Store {
    Store::existing(folder, Uuid::new_v4).unwrap().expect("there is a store")
}

fn total(folder: &StoreFolder, model: &str) -> u64 {
    totals(&all_packages(&existing(folder))).get(&route(model)).copied().unwrap_or(0)
}

/// Counting must never wait for the store, which would take seconds to give up.
fn count_without_blocking(recorder: &Recorder, models: impl Iterator<Item = String>) {
    let started = Instant::now();
    for model in models {
        recorder.count_route(&model, "lab");
    }
    assert!(started.elapsed() < BUSY_WAIT / 2, "counting waited for the store");
}

/// Damages the file from another process: in this one it would drop SQLite's locks.
fn shell(script: &str, folder: &StoreFolder) {
    let status =
        Command::new("sh").args(["-c", script, "sh"]).arg(folder.database()).status().unwrap();
    assert!(status.success());
}

#[test]
fn read_only_store_is_retried() {
    let disk = SmallDisk::mount(8 * 1024 * 1024);
    let folder = StoreFolder::new(disk.path().join("metrics"));
    let first = recorder(&folder, &clock(), SHORT);
    first.count_route("before", "lab");
    assert_eq!(first.close(WAIT), FlushResult::Stored);

    disk.make_read_only();
    let second = recorder(&folder, &clock(), SHORT);
    count_without_blocking(&second, (0..100).map(|_| "during".to_owned()));
    assert_eq!(second.flush(WAIT), FlushResult::Pending);
    // Existing data can be read, and writing fails.
    assert_eq!(total(&folder, "before"), 1);
    assert_eq!(existing(&folder).probe(noon()).unwrap_err().kind(), ErrorKind::ReadOnly);

    disk.make_writable();
    eventually("counting resumes", || second.flush(WAIT) == FlushResult::Stored);
    assert_eq!(total(&folder, "during"), 100);
    assert_eq!(existing(&folder).summary().unwrap().lost, 0);
    second.close(WAIT);
}

#[test]
fn full_disk_is_retried_without_loss() {
    let disk = SmallDisk::mount(1024 * 1024);
    let folder = StoreFolder::new(disk.path().join("metrics"));
    let recorder = recorder(&folder, &clock(), SHORT);
    recorder.count_route("model-0", "lab");
    assert_eq!(recorder.flush(WAIT), FlushResult::Stored);

    let ballast = disk.fill();
    count_without_blocking(&recorder, (0..2_000).map(|at| format!("model-{at}")));
    assert_eq!(recorder.flush(WAIT), FlushResult::Pending);
    let counts = (0..2_000).map(|at| (route(&format!("model-{at}")), 1)).collect();
    let refused = existing(&folder).add(&[batch(noon(), counts)]);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Full);
    assert_eq!(total(&folder, "model-0"), 1, "what was stored is still there");

    fs::remove_file(ballast).unwrap();
    eventually("counting resumes", || recorder.flush(WAIT) == FlushResult::Stored);
    recorder.close(WAIT);
    let totals = totals(&all_packages(&existing(&folder)));
    assert_eq!(totals.len(), 2_000);
    assert_eq!(totals[&route("model-0")], 2);
    assert_eq!(existing(&folder).summary().unwrap().lost, 0);
    assert!(folder.stores_set_aside().is_empty());
}

#[test]
fn disk_too_small_for_the_store_is_retried() {
    let disk = SmallDisk::mount(256 * 1024);
    let folder = StoreFolder::new(disk.path().join("metrics"));
    let ballast = disk.fill();
    let recorder = recorder(&folder, &clock(), SHORT);
    count_without_blocking(&recorder, (0..10).map(|_| "m".to_owned()));
    assert_eq!(recorder.flush(WAIT), FlushResult::Pending);
    fs::remove_file(ballast).unwrap();
    eventually("counting begins", || recorder.flush(WAIT) == FlushResult::Stored);
    assert_eq!(total(&folder, "m"), 10);
}

#[test]
fn damaged_store_is_set_aside_and_replaced() {
    for (name, script) in [
        ("cut to nothing", r#": > "$1""#),
        ("cut in the middle", r#"truncate -s 5000 "$1""#),
        (
            "noise all over",
            r#"dd if=/dev/urandom of="$1" bs=4096 count=16 conv=notrunc status=none"#,
        ),
        (
            "noise behind the header",
            r#"dd if=/dev/urandom of="$1" bs=4096 seek=1 count=15 conv=notrunc status=none"#,
        ),
        (
            "another program's file",
            r#"printf 'not a database at all, just some text that is long enough' > "$1""#,
        ),
    ] {
        let temp = TestStore::new();
        let first = recorder(&temp.folder, &clock(), SHORT);
        for at in 0..200 {
            first.count_route(&format!("before-{at}"), "lab");
        }
        assert_eq!(first.close(WAIT), FlushResult::Stored);
        let id_before = existing(&temp.folder).install_id().unwrap();

        shell(script, &temp.folder);
        // A reader gets an error, and changes nothing.
        let looked =
            Store::existing(&temp.folder, Uuid::new_v4).and_then(|it| it.unwrap().summary());
        assert_eq!(looked.unwrap_err().kind(), ErrorKind::Corrupt, "{name}");
        assert!(temp.folder.stores_set_aside().is_empty(), "{name}");

        let second = recorder(&temp.folder, &clock(), SHORT);
        count_without_blocking(&second, (0..50).map(|_| "after".to_owned()));
        assert_eq!(second.close(WAIT), FlushResult::Stored, "{name}");
        assert_eq!(total(&temp.folder, "after"), 50, "{name}");
        let aside = existing(&temp.folder).summary().unwrap().set_aside_stores;
        assert_eq!(aside.len(), 1, "{name}");
        assert!(aside[0].join("metrics.sqlite3").exists(), "{name}");
        assert_ne!(existing(&temp.folder).install_id().unwrap(), id_before);
    }
}

#[test]
fn store_damaged_while_recording_is_replaced() {
    for script in [
        r#"dd if=/dev/urandom of="$1" bs=4096 count=16 conv=notrunc status=none"#,
        r#"truncate -s 100 "$1""#,
        r#"rm "$1""#,
    ] {
        let temp = TestStore::new();
        let recorder = recorder(&temp.folder, &clock(), Duration::from_hours(1));
        recorder.count_route("before", "lab");
        assert_eq!(recorder.flush(WAIT), FlushResult::Stored);
        shell(script, &temp.folder);
        count_without_blocking(&recorder, (0..50).map(|_| "after".to_owned()));
        eventually("counting resumes", || recorder.flush(WAIT) == FlushResult::Stored);
        assert_eq!(total(&temp.folder, "after"), 50, "{script}");
        recorder.close(WAIT);
    }
}

#[test]
fn concurrent_processes_set_damage_aside_once() {
    let temp = TestStore::new();
    drop(temp.open(noon()));
    shell(r#"dd if=/dev/urandom of="$1" bs=4096 count=16 conv=notrunc status=none"#, &temp.folder);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| temp.open(noon()));
        }
    });
    assert_eq!(temp.folder.stores_set_aside().len(), 1);
}

#[test]
fn purge_is_final_while_a_recorder_runs() {
    let temp = TestStore::new();
    let recorder = recorder(&temp.folder, &clock(), SHORT);
    recorder.count_route("m", "lab");
    assert_eq!(recorder.flush(WAIT), FlushResult::Stored);
    temp.folder.purge().unwrap();
    recorder.count_route("m", "lab");
    recorder.flush(WAIT);
    recorder.count_route("m", "lab");
    recorder.close(WAIT);
    assert!(!temp.folder.exists(), "nothing comes back");
}

#[test]
fn locked_store_delays_only_storing() {
    let temp = TestStore::new();
    let recorder = recorder(&temp.folder, &clock(), SHORT);
    recorder.count_route("m", "lab");
    assert_eq!(recorder.flush(WAIT), FlushResult::Stored);
    let mut other = rusqlite::Connection::open(temp.folder.database()).unwrap();
    let held = other.transaction_with_behavior(rusqlite::TransactionBehavior::Exclusive).unwrap();
    count_without_blocking(&recorder, (0..100).map(|_| "m".to_owned()));
    assert_eq!(recorder.flush(Duration::from_millis(50)), FlushResult::Pending);
    held.rollback().unwrap();
    eventually("counting resumes", || recorder.flush(WAIT) == FlushResult::Stored);
    assert_eq!(total(&temp.folder, "m"), 101);
}

#[test]
fn purged_store_packages_nothing() {
    let temp = TestStore::new();
    let clock = clock();
    let recorder = recorder(&temp.folder, &clock, Duration::from_hours(1));
    recorder.count_route("m", "lab");
    assert_eq!(recorder.flush(WAIT), FlushResult::Stored);
    temp.folder.purge().unwrap();
    // A new day with nothing to store: the day before would be packaged now.
    clock.set(crate::fixtures::hours_later(noon(), 24));
    assert_eq!(recorder.flush(WAIT), FlushResult::Stored);
    recorder.close(WAIT);
    assert!(!temp.folder.exists(), "nothing comes back");
}

#[test]
fn purge_removes_the_target_of_a_symlink() {
    let root = tempfile::tempdir().unwrap();
    let real = root.path().join("elsewhere");
    fs::create_dir(&real).unwrap();
    let link = root.path().join("metrics");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let folder = StoreFolder::new(&link);
    drop(Store::open(&folder, noon(), Uuid::new_v4).unwrap());
    assert!(real.join("metrics.sqlite3").exists());
    folder.purge().unwrap();
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0, "neither the link nor the data");
}

#[test]
fn missing_parent_folder_is_retried() {
    let disk = SmallDisk::mount(1024 * 1024);
    let folder = StoreFolder::new(disk.path().join("metrics"));
    disk.make_read_only();
    let recorder = recorder(&folder, &clock(), SHORT);
    count_without_blocking(&recorder, (0..10).map(|_| "m".to_owned()));
    assert_eq!(recorder.flush(WAIT), FlushResult::Pending);
    disk.make_writable();
    eventually("counting begins", || recorder.flush(WAIT) == FlushResult::Stored);
    assert_eq!(total(&folder, "m"), 10);
    recorder.close(WAIT);
}
