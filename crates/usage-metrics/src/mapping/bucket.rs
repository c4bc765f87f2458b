//! Buckets for numbers, so that no exact duration or count is stored.
//!
//! Upper bounds are exclusive: 1,000 ms is not below a second.

use std::time::Duration;

use crate::catalogue::{CountBucket, DurationBucket, LatencyBucket};

#[cfg(test)]
mod tests;

pub fn duration(elapsed: Duration) -> DurationBucket {
    match elapsed.as_millis() {
        ..1_000 => DurationBucket::Lt1s,
        1_000..5_000 => DurationBucket::From1sTo5s,
        5_000..30_000 => DurationBucket::From5sTo30s,
        30_000..120_000 => DurationBucket::From30sTo2m,
        120_000..600_000 => DurationBucket::From2mTo10m,
        600_000.. => DurationBucket::Gte10m,
    }
}

pub fn latency(elapsed: Duration) -> LatencyBucket {
    match elapsed.as_millis() {
        ..100 => LatencyBucket::Lt100ms,
        100..250 => LatencyBucket::From100msTo250ms,
        250..500 => LatencyBucket::From250msTo500ms,
        500..1_000 => LatencyBucket::From500msTo1s,
        1_000..2_000 => LatencyBucket::From1sTo2s,
        2_000..5_000 => LatencyBucket::From2sTo5s,
        5_000..10_000 => LatencyBucket::From5sTo10s,
        10_000..30_000 => LatencyBucket::From10sTo30s,
        30_000.. => LatencyBucket::Gte30s,
    }
}

/// The bucket of a count; negative values count as 0.
pub fn count(count: i64) -> CountBucket {
    match count {
        ..=0 => CountBucket::Zero,
        1 => CountBucket::One,
        2 => CountBucket::Two,
        3..=5 => CountBucket::From3To5,
        6..=10 => CountBucket::From6To10,
        11.. => CountBucket::Gte11,
    }
}
