//! Every row of the bucket tables, and the edges between them.

use super::*;

#[test]
fn duration_bucket_excludes_its_upper_bound() {
    let rows = [
        (i64::MIN, DurationBucket::Lt1s),
        (-1, DurationBucket::Lt1s),
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
        (i64::MAX, DurationBucket::Gte10m),
    ];
    for (elapsed_ms, bucket) in rows {
        assert_eq!(duration(elapsed_ms), bucket, "{elapsed_ms} ms");
        if let Ok(elapsed_ms) = u64::try_from(elapsed_ms) {
            assert_eq!(duration_of(Duration::from_millis(elapsed_ms)), bucket, "{elapsed_ms} ms");
        }
    }
}

#[test]
fn fraction_of_a_millisecond_stays_in_its_duration_bucket() {
    assert_eq!(duration_of(Duration::from_nanos(999_999_999)), DurationBucket::Lt1s);
    assert_eq!(duration_of(Duration::from_secs(1)), DurationBucket::From1sTo5s);
    assert_eq!(duration_of(Duration::MAX), DurationBucket::Gte10m);
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

#[test]
fn retries_map_like_counts_and_default_to_unknown() {
    assert_eq!(retries(None), RetryBucket::Unknown);
    assert_eq!(retries(Some(i64::MIN)), RetryBucket::Unknown);
    assert_eq!(retries(Some(-1)), RetryBucket::Unknown);
    for number in (0..=12).chain([i64::MAX]) {
        assert_eq!(retries(Some(number)).text(), count(number).text(), "{number}");
    }
}

/// Each bound with the bucket below it and the bucket from it on.
const LATENCY_BOUNDS: [(f64, LatencyBucket, LatencyBucket); 8] = [
    (100.0, LatencyBucket::Lt100ms, LatencyBucket::From100msTo250ms),
    (250.0, LatencyBucket::From100msTo250ms, LatencyBucket::From250msTo500ms),
    (500.0, LatencyBucket::From250msTo500ms, LatencyBucket::From500msTo1s),
    (1_000.0, LatencyBucket::From500msTo1s, LatencyBucket::From1sTo2s),
    (2_000.0, LatencyBucket::From1sTo2s, LatencyBucket::From2sTo5s),
    (5_000.0, LatencyBucket::From2sTo5s, LatencyBucket::From5sTo10s),
    (10_000.0, LatencyBucket::From5sTo10s, LatencyBucket::From10sTo30s),
    (30_000.0, LatencyBucket::From10sTo30s, LatencyBucket::Gte30s),
];

#[test]
fn latency_bucket_excludes_its_upper_bound() {
    for (bound_ms, below, from) in LATENCY_BOUNDS {
        assert_eq!(latency(Some(bound_ms.next_down())), below, "just below {bound_ms} ms");
        assert_eq!(latency(Some(bound_ms - 1.0)), below, "1 ms below {bound_ms} ms");
        assert_eq!(latency(Some(bound_ms)), from, "{bound_ms} ms");
        assert_eq!(latency(Some(bound_ms.next_up())), from, "just above {bound_ms} ms");
        let bound = Duration::from_secs_f64(bound_ms / 1_000.0);
        assert_eq!(
            latency_of(bound.saturating_sub(Duration::from_nanos(1))),
            below,
            "1 ns below {bound:?}"
        );
        assert_eq!(latency_of(bound), from, "{bound:?}");
        assert_eq!(latency_of(bound + Duration::from_nanos(1)), from, "1 ns above {bound:?}");
    }
}

#[test]
fn latency_extremes_have_buckets() {
    for elapsed_ms in [0.0, -0.0, f64::MIN_POSITIVE, 0.5] {
        assert_eq!(latency(Some(elapsed_ms)), LatencyBucket::Lt100ms, "{elapsed_ms} ms");
    }
    assert_eq!(latency(Some(f64::MAX)), LatencyBucket::Gte30s);
    assert_eq!(latency_of(Duration::ZERO), LatencyBucket::Lt100ms);
    assert_eq!(latency_of(Duration::MAX), LatencyBucket::Gte30s);
}

#[test]
fn invalid_latency_is_unknown() {
    let unusable =
        [-1.0, -f64::MIN_POSITIVE, f64::MIN, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    assert_eq!(latency(None), LatencyBucket::Unknown);
    for elapsed_ms in unusable {
        assert_eq!(latency(Some(elapsed_ms)), LatencyBucket::Unknown, "{elapsed_ms} ms");
    }
}

#[test]
fn measured_time_replaces_an_unreported_latency() {
    let measured = Some(Duration::from_millis(300));
    let bucket = LatencyBucket::From250msTo500ms;
    assert_eq!(latency_reported_or_measured(None, measured), bucket);
    assert_eq!(latency_reported_or_measured(Some(f64::NAN), measured), bucket);
    assert_eq!(latency_reported_or_measured(Some(-5.0), measured), bucket);
    assert_eq!(latency_reported_or_measured(Some(20.0), measured), LatencyBucket::Lt100ms);
    assert_eq!(latency_reported_or_measured(None, None), LatencyBucket::Unknown);
}
