//! Stores that are read-only, full, cut short or overwritten: no caller notices, nothing that can
//! be kept is lost, and counting resumes.

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

use crate::workshop::{Shop, WAIT, all_packages, noon, recorder, route, totals};

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

/// Counts; a caller must never wait for the store, which would take seconds to give up.
fn count_unbothered(recorder: &Recorder, models: impl Iterator<Item = String>) {
    let started = Instant::now();
    for model in models {
        recorder.count_route(&model, "lab");
    }
    assert!(started.elapsed() < BUSY_WAIT / 2, "counting waited for the store");
}

/// Spoils the file from another process: in this one it would drop SQLite's locks.
fn shell(script: &str, folder: &StoreFolder) {
    let status =
        Command::new("sh").args(["-c", script, "sh"]).arg(folder.database()).status().unwrap();
    assert!(status.success());
}

#[test]
fn a_read_only_store_is_waited_for() {
    let disk = SmallDisk::mount(8 * 1024 * 1024);
    let folder = StoreFolder::new(disk.path().join("metrics"));
    let first = recorder(&folder, &clock(), SHORT);
    first.count_route("before", "lab");
    assert_eq!(first.close(WAIT), FlushResult::Stored);

    disk.make_read_only();
    let second = recorder(&folder, &clock(), SHORT);
    count_unbothered(&second, (0..100).map(|_| "during".to_owned()));
    assert_eq!(second.flush(WAIT), FlushResult::Pending);
    let health = second.health();
    assert_eq!(health.trouble.map(|trouble| trouble.kind), Some(ErrorKind::ReadOnly));
    assert_eq!((health.waiting, health.lost), (100, 0));
    // What is there can still be looked at, and writing is said to be impossible.
    assert_eq!(total(&folder, "before"), 1);
    assert_eq!(existing(&folder).probe(noon()).unwrap_err().kind(), ErrorKind::ReadOnly);

    disk.make_writable();
    eventually("counting resumes", || second.flush(WAIT) == FlushResult::Stored);
    assert_eq!(total(&folder, "during"), 100);
    assert_eq!(second.health(), usage_metrics::recorder::Health::default());
    second.close(WAIT);
}

#[test]
fn a_full_disk_is_waited_for_and_nothing_is_lost() {
    let disk = SmallDisk::mount(1024 * 1024);
    let folder = StoreFolder::new(disk.path().join("metrics"));
    let recorder = recorder(&folder, &clock(), SHORT);
    recorder.count_route("model-0", "lab");
    assert_eq!(recorder.flush(WAIT), FlushResult::Stored);

    let ballast = disk.fill();
    count_unbothered(&recorder, (0..2_000).map(|at| format!("model-{at}")));
    assert_eq!(recorder.flush(WAIT), FlushResult::Pending);
    let health = recorder.health();
    assert_eq!(health.trouble.map(|trouble| trouble.kind), Some(ErrorKind::Full));
    assert_eq!((health.waiting, health.lost), (2_000, 0));
    assert_eq!(total(&folder, "model-0"), 1, "what was stored is still there");

    fs::remove_file(ballast).unwrap();
    eventually("counting resumes", || recorder.flush(WAIT) == FlushResult::Stored);
    recorder.close(WAIT);
    let totals = totals(&all_packages(&existing(&folder)));
    assert_eq!(totals.len(), 2_000);
    assert_eq!(totals[&route("model-0")], 2);
    assert!(folder.stores_set_aside().is_empty());
}

#[test]
fn a_disk_without_room_for_the_store_itself_is_waited_for() {
    let disk = SmallDisk::mount(256 * 1024);
    let folder = StoreFolder::new(disk.path().join("metrics"));
    let ballast = disk.fill();
    let recorder = recorder(&folder, &clock(), SHORT);
    count_unbothered(&recorder, (0..10).map(|_| "m".to_owned()));
    assert_eq!(recorder.flush(WAIT), FlushResult::Pending);
    fs::remove_file(ballast).unwrap();
    eventually("counting begins", || recorder.flush(WAIT) == FlushResult::Stored);
    assert_eq!(total(&folder, "m"), 10);
}

#[test]
fn a_damaged_store_is_set_aside_and_counting_starts_anew() {
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
        let shop = Shop::new();
        let first = recorder(&shop.folder, &clock(), SHORT);
        for at in 0..200 {
            first.count_route(&format!("before-{at}"), "lab");
        }
        assert_eq!(first.close(WAIT), FlushResult::Stored);
        let id_before = existing(&shop.folder).install_id().unwrap();

        shell(script, &shop.folder);
        // Who only looks is told, and changes nothing.
        let looked =
            Store::existing(&shop.folder, Uuid::new_v4).and_then(|it| it.unwrap().summary());
        assert_eq!(looked.unwrap_err().kind(), ErrorKind::Corrupt, "{name}");
        assert!(shop.folder.stores_set_aside().is_empty(), "{name}");

        let second = recorder(&shop.folder, &clock(), SHORT);
        count_unbothered(&second, (0..50).map(|_| "after".to_owned()));
        assert_eq!(second.close(WAIT), FlushResult::Stored, "{name}");
        assert_eq!(total(&shop.folder, "after"), 50, "{name}");
        let aside = existing(&shop.folder).summary().unwrap().set_aside_stores;
        assert_eq!(aside.len(), 1, "{name}");
        assert!(aside[0].join("metrics.sqlite3").exists(), "{name}");
        assert_ne!(existing(&shop.folder).install_id().unwrap(), id_before);
    }
}

#[test]
fn a_store_damaged_under_a_running_recorder_is_replaced() {
    for script in [
        r#"dd if=/dev/urandom of="$1" bs=4096 count=16 conv=notrunc status=none"#,
        r#"truncate -s 100 "$1""#,
        r#"rm "$1""#,
    ] {
        let shop = Shop::new();
        let recorder = recorder(&shop.folder, &clock(), Duration::from_hours(1));
        recorder.count_route("before", "lab");
        assert_eq!(recorder.flush(WAIT), FlushResult::Stored);
        shell(script, &shop.folder);
        count_unbothered(&recorder, (0..50).map(|_| "after".to_owned()));
        eventually("counting resumes", || recorder.flush(WAIT) == FlushResult::Stored);
        assert_eq!(total(&shop.folder, "after"), 50, "{script}");
        recorder.close(WAIT);
    }
}

#[test]
fn two_processes_that_find_the_damage_at_once_set_it_aside_once() {
    let shop = Shop::new();
    drop(shop.open(noon()));
    shell(r#"dd if=/dev/urandom of="$1" bs=4096 count=16 conv=notrunc status=none"#, &shop.folder);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| shop.open(noon()));
        }
    });
    assert_eq!(shop.folder.stores_set_aside().len(), 1);
}

#[test]
fn a_purge_stays_a_purge_while_a_recorder_runs() {
    let shop = Shop::new();
    let recorder = recorder(&shop.folder, &clock(), SHORT);
    recorder.count_route("m", "lab");
    assert_eq!(recorder.flush(WAIT), FlushResult::Stored);
    shop.folder.purge().unwrap();
    recorder.count_route("m", "lab");
    recorder.flush(WAIT);
    recorder.count_route("m", "lab");
    recorder.close(WAIT);
    assert!(!shop.folder.exists(), "nothing comes back");
}

#[test]
fn a_store_held_by_another_process_delays_nothing_but_the_store() {
    let shop = Shop::new();
    let recorder = recorder(&shop.folder, &clock(), SHORT);
    recorder.count_route("m", "lab");
    assert_eq!(recorder.flush(WAIT), FlushResult::Stored);
    let mut other = rusqlite::Connection::open(shop.folder.database()).unwrap();
    let held = other.transaction_with_behavior(rusqlite::TransactionBehavior::Exclusive).unwrap();
    count_unbothered(&recorder, (0..100).map(|_| "m".to_owned()));
    assert_eq!(recorder.flush(Duration::from_millis(50)), FlushResult::Pending);
    held.rollback().unwrap();
    eventually("counting resumes", || recorder.flush(WAIT) == FlushResult::Stored);
    assert_eq!(total(&shop.folder, "m"), 101);
}

#[test]
fn nothing_is_packaged_from_a_store_that_was_purged() {
    let shop = Shop::new();
    let clock = clock();
    let recorder = recorder(&shop.folder, &clock, Duration::from_hours(1));
    recorder.count_route("m", "lab");
    assert_eq!(recorder.flush(WAIT), FlushResult::Stored);
    shop.folder.purge().unwrap();
    // A new day, and nothing to store: the day before would be packaged now.
    clock.set(crate::workshop::hours_later(noon(), 24));
    assert_eq!(recorder.flush(WAIT), FlushResult::Stored);
    recorder.close(WAIT);
    assert!(!shop.folder.exists(), "nothing comes back");
}

#[test]
fn a_purge_removes_what_a_linked_folder_points_to() {
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
fn a_folder_that_cannot_be_made_at_first_is_waited_for() {
    let disk = SmallDisk::mount(1024 * 1024);
    let folder = StoreFolder::new(disk.path().join("metrics"));
    disk.make_read_only();
    let recorder = recorder(&folder, &clock(), SHORT);
    count_unbothered(&recorder, (0..10).map(|_| "m".to_owned()));
    assert_eq!(recorder.flush(WAIT), FlushResult::Pending);
    disk.make_writable();
    eventually("counting begins", || recorder.flush(WAIT) == FlushResult::Stored);
    assert_eq!(total(&folder, "m"), 10);
    recorder.close(WAIT);
}
