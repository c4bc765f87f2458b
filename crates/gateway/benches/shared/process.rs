//! What the kernel knows about a process: the time it computed.

use std::fs;
use std::time::Duration;

/// Ticks of the kernel's clock in a second; the same on every Linux that runs this.
const TICKS_PER_SECOND: f64 = 100.0;

/// Processes that are measured as one.
#[derive(Debug, Clone)]
pub(crate) struct Processes(pub(crate) Vec<u32>);

impl Processes {
    /// The time that all threads computed so far, in the program and in the kernel.
    pub(crate) fn cpu(&self) -> Duration {
        self.0.iter().map(|pid| cpu(*pid)).sum()
    }
}

fn cpu(pid: u32) -> Duration {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process runs");
    // The name, in brackets, may hold anything.
    let (_, rest) = text.rsplit_once(')').expect("a name");
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks: f64 =
        [11, 12].map(|at: usize| fields[at].parse::<f64>().expect("a number")).iter().sum();
    Duration::from_secs_f64(ticks / TICKS_PER_SECOND)
}
