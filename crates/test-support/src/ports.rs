//! Taking turns at the fixed ports of a login, which all tests of a machine share.
//!
//! Tests run at the same time, each in a process of its own. One that takes all five ports, or
//! counts on a certain one, asks for them [`alone`]; one that needs any of them asks for them
//! [`shared`].

use std::fs::{File, OpenOptions};

const NAME: &str = "agent-tests-pinned-ports.lock";

/// Waits until nobody else uses the ports. They are ours until the value is dropped.
///
/// # Panics
/// If the lock file cannot be used.
#[must_use = "the ports are given back with the value"]
#[expect(clippy::expect_used, reason = "a test without its ports cannot go on")]
pub fn alone() -> File {
    let file = open();
    file.lock().expect("the lock can be taken");
    file
}

/// Waits until nobody wants the ports alone. Nobody gets them so until the value is dropped.
///
/// # Panics
/// If the lock file cannot be used.
#[must_use = "the ports are given back with the value"]
#[expect(clippy::expect_used, reason = "a test without its ports cannot go on")]
pub fn shared() -> File {
    let file = open();
    file.lock_shared().expect("the lock can be taken");
    file
}

#[expect(clippy::expect_used, reason = "a test without its ports cannot go on")]
fn open() -> File {
    let path = std::env::temp_dir().join(NAME);
    let mut options = OpenOptions::new();
    let file = options.create(true).truncate(false).write(true).open(path);
    file.expect("the lock file can be opened")
}
