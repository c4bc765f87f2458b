//! Buckets for numbers, so that no exact duration or count is stored.
//!
//! Upper bounds are exclusive: 1,000 ms is not below a second.

use std::time::Duration;

use crate::catalogue::{CountBucket, DurationBucket, LatencyBucket, RetryBucket};

#[cfg(test)]
mod tests;

/// The end of each latency bucket in milliseconds; everything above is `gte_30s`.
const LATENCY_ENDS_MS: [(f64, LatencyBucket); 8] = [
    (100.0, LatencyBucket::Lt100ms),
    (250.0, LatencyBucket::From100msTo250ms),
    (500.0, LatencyBucket::From250msTo500ms),
    (1_000.0, LatencyBucket::From500msTo1s),
    (2_000.0, LatencyBucket::From1sTo2s),
    (5_000.0, LatencyBucket::From2sTo5s),
    (10_000.0, LatencyBucket::From5sTo10s),
    (30_000.0, LatencyBucket::From10sTo30s),
];

/// The bucket of a task's duration; negative values count as 0.
pub fn duration(elapsed_ms: i64) -> DurationBucket {
    match elapsed_ms {
        ..1_000 => DurationBucket::Lt1s,
        1_000..5_000 => DurationBucket::From1sTo5s,
        5_000..30_000 => DurationBucket::From5sTo30s,
        30_000..120_000 => DurationBucket::From30sTo2m,
        120_000..600_000 => DurationBucket::From2mTo10m,
        600_000.. => DurationBucket::Gte10m,
    }
}

/// The bucket of a task's duration, measured by a monotonic clock.
pub fn duration_of(elapsed: Duration) -> DurationBucket {
    duration(i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX))
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

/// The bucket of a call's latency; missing, negative and non-finite values are `unknown`.
pub fn latency(elapsed_ms: Option<f64>) -> LatencyBucket {
    match elapsed_ms {
        Some(elapsed_ms) if elapsed_ms.is_finite() && elapsed_ms >= 0.0 => LATENCY_ENDS_MS
            .iter()
            .find(|(end_ms, _)| elapsed_ms < *end_ms)
            .map_or(LatencyBucket::Gte30s, |(_, bucket)| *bucket),
        _ => LatencyBucket::Unknown,
    }
}

pub fn latency_of(elapsed: Duration) -> LatencyBucket {
    // All bounds are whole milliseconds far below `u32::MAX`, so rounding does not change the
    // bucket.
    latency(Some(f64::from(u32::try_from(elapsed.as_millis()).unwrap_or(u32::MAX))))
}

/// The bucket of the reported latency, or of our measurement if the reported one is unusable.
pub fn latency_reported_or_measured(
    reported_ms: Option<f64>,
    measured: Option<Duration>,
) -> LatencyBucket {
    match latency(reported_ms) {
        LatencyBucket::Unknown => measured.map_or(LatencyBucket::Unknown, latency_of),
        known => known,
    }
}

/// The bucket of the reported retries; missing and negative values are `unknown`, because retries
/// are never inferred.
pub fn retries(reported: Option<i64>) -> RetryBucket {
    match reported {
        None | Some(..0) => RetryBucket::Unknown,
        Some(0) => RetryBucket::Zero,
        Some(1) => RetryBucket::One,
        Some(2) => RetryBucket::Two,
        Some(3..=5) => RetryBucket::From3To5,
        Some(6..=10) => RetryBucket::From6To10,
        Some(11..) => RetryBucket::Gte11,
    }
}
