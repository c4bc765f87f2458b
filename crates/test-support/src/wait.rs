//! Waiting for something that will be so, instead of sleeping and hoping.

use std::time::{Duration, Instant};

/// How long anything may take before a test fails.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// How often a condition is looked at.
const POLL: Duration = Duration::from_millis(5);

/// Looks until it holds.
///
/// # Panics
/// If it does not hold in time.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(POLL);
    }
}
