//! What goes wrong: kills, frozen processes, a full disk, a clock that jumps.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;

use crate::deployment::Deployment;
use crate::process::{children, send_signal};

/// How far a clock jumps at most, either way.
const MAX_CLOCK_SECONDS: i64 = 3600;
const MAX_FREEZE_MS: u64 = 800;
const MAX_FULL_DISK_MS: u64 = 800;
const MAX_PAUSE_MS: u64 = 350;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    KillService,
    KillPostgres,
    KillUpstream,
    KillWorker,
    FreezeService,
    FreezeUpstream,
    FillDisk,
    MoveClock,
}

/// The service is killed most often: it has the most states to be killed in.
const CHOICES: &[Fault] = &[
    Fault::KillService,
    Fault::KillService,
    Fault::KillService,
    Fault::KillService,
    Fault::KillPostgres,
    Fault::KillUpstream,
    Fault::KillUpstream,
    Fault::KillWorker,
    Fault::KillWorker,
    Fault::FreezeService,
    Fault::FreezeUpstream,
    Fault::FillDisk,
    Fault::MoveClock,
];

/// How many of each fault were injected.
#[derive(Debug, Default)]
pub(crate) struct FaultCounts {
    services: u64,
    databases: u64,
    upstreams: u64,
    workers: u64,
    freezes: u64,
    full_disks: u64,
    clock_moves: u64,
}

impl FaultCounts {
    pub(crate) fn kills(&self) -> u64 {
        self.services + self.databases + self.upstreams + self.workers
    }
}

impl fmt::Display for FaultCounts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} kills ({} services, {} PostgreSQL, {} upstreams, {} parser workers), {} freezes, \
             {} full disks, {} clock moves",
            self.kills(),
            self.services,
            self.databases,
            self.upstreams,
            self.workers,
            self.freezes,
            self.full_disks,
            self.clock_moves
        )
    }
}

/// Waits a moment, then injects one fault and undoes it unless it undoes itself.
pub(crate) fn inject(deployment: &mut Deployment, counts: &mut FaultCounts) {
    sleep(Duration::from_millis(fastrand::u64(..MAX_PAUSE_MS)));
    deployment.restart_exited();
    let chosen = fastrand::usize(..deployment.services.len());
    match CHOICES[fastrand::usize(..CHOICES.len())] {
        Fault::KillService => {
            deployment.services[chosen].process.kill();
            deployment.restart_service(chosen);
            counts.services += 1;
        }
        Fault::KillPostgres => {
            let Some(cluster) = deployment.cluster() else { return };
            cluster.kill();
            cluster.start();
            counts.databases += 1;
        }
        Fault::KillUpstream => {
            deployment.upstream.kill();
            sleep(Duration::from_millis(fastrand::u64(..MAX_PAUSE_MS)));
            deployment.restart_upstream();
            counts.upstreams += 1;
        }
        Fault::KillWorker => {
            let service = deployment.services[chosen].process.id();
            let workers = children(service);
            if !workers.is_empty() {
                send_signal(workers[fastrand::usize(..workers.len())], Signal::KILL);
                counts.workers += 1;
            }
        }
        Fault::FreezeService => {
            freeze(deployment.services[chosen].process.id());
            counts.freezes += 1;
        }
        Fault::FreezeUpstream => {
            freeze(deployment.upstream.id());
            counts.freezes += 1;
        }
        Fault::FillDisk => {
            let ballast = deployment.disk.fill();
            sleep(Duration::from_millis(fastrand::u64(..MAX_FULL_DISK_MS)));
            empty(deployment, &ballast);
            counts.full_disks += 1;
        }
        Fault::MoveClock => {
            deployment.clock.set(fastrand::i64(-MAX_CLOCK_SECONDS..=MAX_CLOCK_SECONDS));
            counts.clock_moves += 1;
        }
    }
}

/// Ends every fault that lasts, and waits until the deployment serves again.
pub(crate) fn repair(deployment: &mut Deployment) {
    deployment.clock.set(0);
    if let Some(cluster) = deployment.cluster() {
        cluster.start();
    }
    deployment.wait_until_ready();
}

fn freeze(id: u32) {
    send_signal(id, Signal::STOP);
    sleep(Duration::from_millis(fastrand::u64(..MAX_FREEZE_MS)));
    send_signal(id, Signal::CONT);
}

/// Frees the disk. PostgreSQL may have stopped because it could not write its log.
fn empty(deployment: &Deployment, ballast: &PathBuf) {
    let _ = fs::remove_file(ballast);
    if let Some(cluster) = deployment.cluster() {
        cluster.start();
    }
}
