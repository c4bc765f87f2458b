//! Concurrent processes on one store, a third of them killed at random.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use agent_test_support::wait::eventually;
use usage_metrics::catalogue::{ApprovalOutcome, Cell, Kind};
use usage_metrics::clock::{Clock, SystemClock};
use usage_metrics::package::Counter;
use usage_metrics::store::{PackageScope, Store};
use uuid::Uuid;

use crate::fixtures::{TestStore, all_packages, approval, assert_valid, route, totals};

const PROCESSES: u64 = 16;
const BATCHES: u64 = 30;
const SIZE: u64 = 10;

struct Counting {
    child: Child,
    /// The count that the process reports as stored.
    flushed: Arc<AtomicU64>,
    reader: std::thread::JoinHandle<()>,
}

fn start(temp: &TestStore, name: &str) -> Counting {
    let mut child = Command::new(example("counting_process"))
        .arg(temp.folder.root())
        .args([name, &BATCHES.to_string(), &SIZE.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let flushed = Arc::new(AtomicU64::new(0));
    let (lines, said) = (BufReader::new(child.stdout.take().unwrap()).lines(), flushed.clone());
    let reader = std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            let total = line.strip_prefix("flushed ").and_then(|it| it.parse().ok()).unwrap();
            said.store(total, Ordering::SeqCst);
        }
    });
    Counting { child, flushed, reader }
}

/// The example is built next to this test.
fn example(name: &str) -> std::path::PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(|deps| deps.parent()).unwrap();
    profile.join("examples").join(name)
}

#[test]
fn killed_processes_keep_every_flushed_increment_exactly_once() {
    let temp = TestStore::new();
    let mut random = fastrand::Rng::new();
    println!("seed {}", random.get_seed());
    let mut processes: Vec<_> =
        (0..PROCESSES).map(|at| start(&temp, &format!("process-{at}"))).collect();

    // Packages are made meanwhile.
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                if let Ok(Some(mut store)) = Store::existing(&temp.folder, Uuid::new_v4) {
                    let now = SystemClock.now();
                    store.package(PackageScope::All, now).unwrap();
                    store.write_outbox(now).unwrap();
                }
            }
        });
        for at in 0..5 {
            let victim = &mut processes[at * 3];
            let enough = random.u64(1..BATCHES / 2) * SIZE;
            eventually("the victim has stored enough", || {
                victim.flushed.load(Ordering::SeqCst) >= enough
            });
            victim.child.kill().unwrap();
        }
        for process in &mut processes {
            process.child.wait().unwrap();
        }
        done.store(true, Ordering::SeqCst);
    });

    let store = temp.existing();
    let packages = all_packages(&store);
    packages.iter().for_each(assert_valid);
    let totals = totals(&packages);
    let mut stored_in_all = 0;
    for (at, process) in processes.into_iter().enumerate() {
        process.reader.join().unwrap();
        let flushed = process.flushed.load(Ordering::SeqCst);
        let stored = totals.get(&route(&format!("process-{at}"))).copied().unwrap_or(0);
        stored_in_all += stored;
        if at % 3 == 0 && at < 15 {
            // Killed between storing and reporting, it may have stored one batch more.
            let legal = [flushed, flushed + SIZE];
            assert!(legal.contains(&stored), "process {at}: said {flushed}, stored {stored}");
        } else {
            assert_eq!(flushed, BATCHES * SIZE, "process {at} finished");
            assert_eq!(stored, flushed, "process {at}");
        }
    }
    // Both counters of a batch are in the same transaction.
    let approved = Counter::Cell(Cell::of(&approval(ApprovalOutcome::Approved)));
    assert_eq!(totals[&approved], stored_in_all);
    let active = totals.iter().filter(|(counter, _)| counter.kind() == Kind::ClientActive);
    assert_eq!(active.map(|(_, value)| value).sum::<u64>(), 1, "one client, one day");
    assert!(temp.folder.stores_set_aside().is_empty());
}

#[test]
fn purge_is_final_while_processes_count() {
    for _ in 0..10 {
        let temp = TestStore::new();
        let mut processes: Vec<_> =
            (0..3).map(|at| start(&temp, &format!("process-{at}"))).collect();
        eventually("all of them are counting", || {
            processes.iter().all(|process| process.flushed.load(Ordering::SeqCst) > 0)
        });
        temp.folder.purge().unwrap();
        for process in &mut processes {
            process.child.wait().unwrap();
        }
        assert!(!temp.folder.exists(), "a store came back");
    }
}
