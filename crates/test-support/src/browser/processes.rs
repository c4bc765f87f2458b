//! Finds and ends process trees, so that no browser is left behind. Linux only; elsewhere it finds
//! none.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(10);

struct Process {
    id: u32,
    parent: u32,
    ended: bool,
}

pub(super) fn tree(root: u32) -> Vec<u32> {
    let all = all();
    let mut found = BTreeSet::from([root]);
    let mut before = 0;
    while found.len() > before {
        before = found.len();
        let children = all.iter().filter(|process| found.contains(&process.parent));
        let children: Vec<u32> = children.map(|process| process.id).collect();
        found.extend(children);
    }
    found.into_iter().collect()
}

pub(super) fn running_among(ids: &[u32]) -> Vec<u32> {
    let running = all().into_iter().filter(|process| !process.ended);
    running.map(|process| process.id).filter(|id| ids.contains(id)).collect()
}

/// Waits until none of them runs and kills those that do not exit in time.
pub(super) fn outlive(ids: &[u32], patience: Duration) {
    let deadline = Instant::now() + patience;
    let mut left = running_among(ids);
    while !left.is_empty() && Instant::now() < deadline {
        std::thread::sleep(POLL);
        left = running_among(ids);
    }
    for id in left {
        // It may have just exited.
        let _ = Command::new("kill").args(["-KILL", &id.to_string()]).status();
    }
}

fn all() -> Vec<Process> {
    let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
    folders
        .filter_map(|folder| {
            let id = folder.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(folder.path().join("stat")).ok()?;
            // The name is in parentheses and may contain any character.
            let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
            let ended = matches!(fields.next()?, "Z" | "X");
            let parent = fields.next()?.parse().ok()?;
            Some(Process { id, parent, ended })
        })
        .collect()
}
