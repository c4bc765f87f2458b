//! Every row of the bucket tables, and the edges between them.

use super::*;

#[test]
fn duration_bucket_excludes_its_upper_bound() {
    let rows = [
        (0, DurationBucket::Lt1s),
        (999, DurationBucket::Lt1s),
        (1_000, DurationBucket::From1sTo5s),
        (1_001, DurationBucket::From1sTo5s),
        (4_999, DurationBucket::From1sTo5s),
        (5_000, DurationBucket::From5sTo30s),
        (5_001, DurationBucket::From5sTo30s),
        (29_999, DurationBucket::From5sTo30s),
        (30_000, DurationBucket::From30sTo2m),
        (30_001, DurationBucket::From30sTo2m),
        (119_999, DurationBucket::From30sTo2m),
        (120_000, DurationBucket::From2mTo10m),
        (120_001, DurationBucket::From2mTo10m),
        (599_999, DurationBucket::From2mTo10m),
        (600_000, DurationBucket::Gte10m),
        (600_001, DurationBucket::Gte10m),
        (u64::MAX, DurationBucket::Gte10m),
    ];
    for (elapsed_ms, bucket) in rows {
        assert_eq!(duration(Duration::from_millis(elapsed_ms)), bucket, "{elapsed_ms} ms");
    }
}

#[test]
fn fraction_of_a_millisecond_stays_in_its_duration_bucket() {
    assert_eq!(duration(Duration::from_nanos(999_999_999)), DurationBucket::Lt1s);
    assert_eq!(duration(Duration::from_secs(1)), DurationBucket::From1sTo5s);
    assert_eq!(duration(Duration::MAX), DurationBucket::Gte10m);
}

#[test]
fn counts_map_to_six_buckets() {
    let rows = [
        (i64::MIN, CountBucket::Zero),
        (-1, CountBucket::Zero),
        (0, CountBucket::Zero),
        (1, CountBucket::One),
        (2, CountBucket::Two),
        (3, CountBucket::From3To5),
        (4, CountBucket::From3To5),
        (5, CountBucket::From3To5),
        (6, CountBucket::From6To10),
        (10, CountBucket::From6To10),
        (11, CountBucket::Gte11),
        (12, CountBucket::Gte11),
        (i64::MAX, CountBucket::Gte11),
    ];
    for (number, bucket) in rows {
        assert_eq!(count(number), bucket, "{number}");
    }
}

/// Each bound with the bucket below it and the bucket from it on.
const LATENCY_BOUNDS: [(u64, LatencyBucket, LatencyBucket); 8] = [
    (100, LatencyBucket::Lt100ms, LatencyBucket::From100msTo250ms),
    (250, LatencyBucket::From100msTo250ms, LatencyBucket::From250msTo500ms),
    (500, LatencyBucket::From250msTo500ms, LatencyBucket::From500msTo1s),
    (1_000, LatencyBucket::From500msTo1s, LatencyBucket::From1sTo2s),
    (2_000, LatencyBucket::From1sTo2s, LatencyBucket::From2sTo5s),
    (5_000, LatencyBucket::From2sTo5s, LatencyBucket::From5sTo10s),
    (10_000, LatencyBucket::From5sTo10s, LatencyBucket::From10sTo30s),
    (30_000, LatencyBucket::From10sTo30s, LatencyBucket::Gte30s),
];

#[test]
fn latency_bucket_excludes_its_upper_bound() {
    let nanosecond = Duration::from_nanos(1);
    for (bound_ms, below, from) in LATENCY_BOUNDS {
        let bound = Duration::from_millis(bound_ms);
        assert_eq!(
            latency(bound.saturating_sub(Duration::from_millis(1))),
            below,
            "1 ms below {bound:?}"
        );
        assert_eq!(latency(bound.saturating_sub(nanosecond)), below, "1 ns below {bound:?}");
        assert_eq!(latency(bound), from, "{bound:?}");
        assert_eq!(latency(bound + nanosecond), from, "1 ns above {bound:?}");
    }
}

#[test]
fn latency_extremes_have_buckets() {
    assert_eq!(latency(Duration::ZERO), LatencyBucket::Lt100ms);
    assert_eq!(latency(Duration::MAX), LatencyBucket::Gte30s);
}
