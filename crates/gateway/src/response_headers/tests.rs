//! Tests of `response_headers`.

use super::*;

#[test]
fn both_rate_limit_header_families_are_written() {
    let mut headers = HeaderMap::new();
    let rate_limit = RateLimitStatus { limit: 60, remaining: 12, reset_micros: 47_000_001 };
    let limit_status = LimitStatus { rate: Some(rate_limit), budget: None };
    write_limits(limit_status, &mut headers);
    assert_eq!(headers["x-ratelimit-limit-requests"], "60");
    assert_eq!(headers["x-ratelimit-remaining-requests"], "12");
    assert_eq!(headers["x-ratelimit-reset-requests"], "48s");
    assert_eq!(headers["ratelimit-policy"], "\"per-minute\";q=60;w=60");
    assert_eq!(headers["ratelimit"], "\"per-minute\";r=12;t=48");
}
