//! Tests of `supervisor`.

use super::*;

#[test]
fn backoff_doubles_up_to_a_minute_with_jitter() {
    for (failures, seconds) in [(1, 1.0), (2, 2.0), (3, 4.0), (6, 32.0), (7, 60.0), (100, 60.0)] {
        for _ in 0..50 {
            let waited = backoff(failures).as_secs_f64();
            assert!((0.8 * seconds..=1.2 * seconds).contains(&waited), "{failures}: {waited}");
        }
    }
}
