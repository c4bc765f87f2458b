//! The delay before the next attempt.

use std::time::Duration;

const INITIAL_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_mins(1);

/// One second, doubled with every failure up to a minute, with 20 % jitter.
pub(crate) fn delay(failures: u32) -> Duration {
    let doubled =
        INITIAL_DELAY.saturating_mul(1 << failures.saturating_sub(1).min(6)).min(MAX_DELAY);
    doubled.mul_f64(0.8 + 0.4 * fastrand::f64())
}

#[cfg(test)]
mod tests;
