//! Tests of `overview`.

use std::time::Duration;

use super::Totals;
use crate::metrics::Metrics;

#[test]
fn latency_percentile_is_the_upper_bound_of_its_bucket() {
    let metrics = Metrics::new();
    assert_eq!(Totals::of(&metrics.text(0)).latency(50), "none yet");
    for (operation, millis, times) in
        [("chat", 0, 30), ("chat", 20, 30), ("messages", 700, 38), ("search", 20_000, 1)]
    {
        for _ in 0..times {
            metrics.answered(operation, 200, Duration::from_millis(millis));
        }
    }
    metrics.answered("chat", 503, Duration::from_hours(1));
    // Pages do not count.
    for _ in 0..500 {
        metrics.answered("console", 500, Duration::from_mins(5));
    }
    let totals = Totals::of(&metrics.text(0));
    assert_eq!((totals.requests, totals.errors), (100, 1));
    let latency = [1, 30, 31, 50, 61, 99, 100].map(|percent| totals.latency(percent));
    let expected = ["≤ 0.5 ms", "≤ 0.5 ms", "≤ 25 ms", "≤ 25 ms", "≤ 1 s", "≤ 30 s", "over 10 min"];
    assert_eq!(latency, expected);
}
