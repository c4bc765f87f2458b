//! The running processes below a process, from `/proc`: Linux only, elsewhere there are none.

use std::fs;
use std::process::{Command, Stdio};

/// The ids of the children of all threads of a process.
pub(crate) fn children(id: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let lists = threads.map(|thread| fs::read_to_string(thread.path().join("children")));
    let lists: Vec<String> = lists.flatten().collect();
    lists.iter().flat_map(|list| list.split_whitespace()).flat_map(str::parse).collect()
}

/// A process and all of its descendants.
pub(crate) fn process_tree(root: u32) -> Vec<u32> {
    let mut tree = vec![root];
    let mut next = 0;
    while let Some(id) = tree.get(next) {
        tree.extend(children(*id));
        next += 1;
    }
    tree
}

/// Whether a process exists and has not exited.
pub(crate) fn is_running(id: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/status"));
    status.is_ok_and(|status| !["State:\tZ", "State:\tX"].iter().any(|end| status.contains(end)))
}

pub(crate) fn kill(id: u32) {
    // It may have just exited.
    let _ = Command::new("kill").args(["-KILL", &id.to_string()]).stderr(Stdio::null()).status();
}
