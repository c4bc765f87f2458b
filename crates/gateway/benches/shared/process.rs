//! What the kernel knows about a process: the time it computed.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

/// Ticks of the kernel's clock in a second; the same on every Linux that runs this.
const TICKS_PER_SECOND: f64 = 100.0;

/// Processes that are measured as one, with those that they start.
#[derive(Debug, Clone)]
pub(crate) struct Processes(pub(crate) Vec<u32>);

impl Processes {
    /// The time that all threads computed so far, in the program and in the kernel.
    pub(crate) fn cpu(&self) -> Duration {
        let children = self.0.iter().flat_map(|pid| children(*pid));
        let all: BTreeSet<u32> = self.0.iter().copied().chain(children).collect();
        all.into_iter().map(cpu).sum()
    }
}

/// The processes that a process started and that still run.
fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("the process runs").flatten();
    let lists = threads.map(|thread| fs::read_to_string(thread.path().join("children")));
    let lists: Vec<String> = lists.flatten().collect();
    lists.join(" ").split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

/// The time of a process, and of those that it started and that have ended.
fn cpu(pid: u32) -> Duration {
    // One that has just ended counts as a part of its parent.
    let Ok(text) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return Duration::ZERO };
    // The name, in brackets, may hold anything.
    let (_, rest) = text.rsplit_once(')').expect("a name");
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks: f64 =
        [11, 12, 13, 14].map(|at: usize| fields[at].parse::<f64>().expect("a number")).iter().sum();
    Duration::from_secs_f64(ticks / TICKS_PER_SECOND)
}
