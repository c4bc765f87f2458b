//! Tests of `lineage`.

use super::*;

fn lineage(requests_per_minute: u32) -> Lineage {
    let limits = Limits { requests_per_minute: Some(requests_per_minute), ..Limits::default() };
    Lineage::new(LineageId(1), MemberId(1), limits)
}

#[test]
fn burst_equals_the_limit_and_then_requests_are_spaced() {
    for limit in [1, 7, 60, 1000] {
        let mut lineage = lineage(limit);
        let now = Time::from_millis(1_000_000);
        for left in (0..limit).rev() {
            let status = lineage.count_request(now).ok().flatten();
            assert_eq!(status.map(|status| status.remaining), Some(left), "of {limit}");
        }
        let Err(Refusal::RateLimited { retry_after_micros, .. }) = lineage.count_request(now)
        else {
            panic!("one more than {limit} came");
        };
        let early = now.plus_micros(retry_after_micros - 1);
        assert!(lineage.count_request(early).is_err());
        assert!(lineage.count_request(now.plus_micros(retry_after_micros)).is_ok());
    }
}

#[test]
fn limits_beyond_one_request_per_microsecond_work() {
    for limit in [50_000_000, 60_000_001, u32::MAX] {
        let status = lineage(limit).count_request(Time::from_millis(1)).ok().flatten();
        assert_eq!(status.map(|status| status.remaining), Some(limit - 1));
    }
}

#[test]
fn a_limit_of_zero_rejects_everything() {
    assert!(lineage(0).count_request(Time::from_millis(1)).is_err());
}
