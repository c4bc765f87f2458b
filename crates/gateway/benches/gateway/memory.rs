//! What the kernel knows about a process: the memory it has.

use std::fs;

use crate::process::Processes;

/// Memory in KiB.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    pub(crate) rss: u64,
    pub(crate) pss: u64,
}

/// Resident, and resident with shared pages counted in part.
pub(crate) fn memory(processes: &Processes) -> Memory {
    let parts = processes.0.iter().map(|pid| {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"));
        let text = text.expect("the kernel tells the memory of a running process");
        (field(&text, "Rss:"), field(&text, "Pss:"))
    });
    let (rss, pss) = parts.fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    Memory { rss, pss }
}

fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("a field");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
