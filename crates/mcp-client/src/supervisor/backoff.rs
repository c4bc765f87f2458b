//! The delay before the next attempt.

use std::time::Duration;

const INITIAL_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_mins(1);

/// One second, doubled with every failure up to a minute, with 20 % jitter.
pub(super) fn delay(failures: u32) -> Duration {
    let doubled =
        INITIAL_DELAY.saturating_mul(1 << failures.saturating_sub(1).min(6)).min(MAX_DELAY);
    doubled.mul_f64(0.8 + 0.4 * fastrand::f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute_and_scatter_by_a_fifth() {
        for (failures, seconds) in [(1, 1.0), (2, 2.0), (3, 4.0), (6, 32.0), (7, 60.0), (100, 60.0)]
        {
            for _ in 0..50 {
                let waited = delay(failures).as_secs_f64();
                assert!((0.8 * seconds..=1.2 * seconds).contains(&waited), "{failures}: {waited}");
            }
        }
    }
}
