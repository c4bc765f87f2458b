//! Waits for a condition instead of sleeping.

use std::time::{Duration, Instant};

/// How long any condition may take before a test fails.
pub const DEADLINE: Duration = Duration::from_secs(30);

const POLL: Duration = Duration::from_millis(5);

/// Waits until the condition holds.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(POLL);
    }
}
