//! Waits for conditions instead of sleeping, and for locks.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Timeout of any condition before a test fails.
pub const DEADLINE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(5);

/// Waits until the condition holds.
pub fn eventually(what: &str, holds: impl FnMut() -> bool) {
    assert!(holds_within(DEADLINE, holds), "never: {what}");
}

/// Waits until the condition holds; returns false if it does not hold in time.
pub(crate) fn holds_within(timeout: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + timeout;
    while !holds() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(POLL);
    }
    true
}

/// Locks a mutex, also after a thread that held it panicked: that test has failed already.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
