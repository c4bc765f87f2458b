//! Tests of `retry`.

use http::{HeaderMap, HeaderValue, StatusCode};

use super::*;

fn broken() -> MemberError {
    MemberError::Broken { reason: "x".to_owned() }
}

fn refused(status: u16, after: Option<&'static str>, code: &str) -> MemberError {
    let mut headers = HeaderMap::new();
    if let Some(after) = after {
        headers.insert(http::header::RETRY_AFTER, HeaderValue::from_static(after));
    }
    let body = serde_json::json!({"error": {"message": "m", "type": "t", "param": null,
        "code": code}});
    MemberError::refused(
        StatusCode::from_u16(status).unwrap(),
        &headers,
        body.to_string().as_bytes(),
    )
}

#[test]
fn safe_requests_are_retried_a_limited_number_of_times() {
    let mut tries = RetryState::new(Duration::ZERO, true);
    let pauses: Vec<_> = std::iter::from_fn(|| tries.pause(&broken())).take(99).collect();
    assert_eq!(pauses.len(), MAX_MENDS as usize);
    assert!(pauses.is_sorted() && pauses[0] == FIRST_PAUSE);
    assert!(tries.pause(&broken()).is_none());
    assert_eq!(RetryState::new(Duration::from_mins(1), false).pause(&broken()), None);
    let mut waiting = RetryState::new(Duration::from_mins(1), true);
    waiting.mends = MAX_MENDS;
    assert_eq!(waiting.pause(&broken()), Some(FIRST_PAUSE), "a person waits for longer");
    let late = MemberError::Late { after: Duration::from_secs(1) };
    assert_eq!(RetryState::new(Duration::from_mins(1), true).pause(&late), None);
}

#[test]
fn restarting_service_is_retried_after_a_broken_connection() {
    let away = MemberError::Unreachable { reason: "x".to_owned() };
    let mut tries = RetryState::new(Duration::ZERO, true);
    assert_eq!(tries.pause(&away), None, "it was never there");
    assert!(tries.pause(&broken()).is_some() && tries.pause(&away).is_some());
    let running = refused(409, None, "idempotency_in_progress");
    assert_eq!(tries.pause(&running), Some(LOOK_EVERY));
    assert_eq!(RetryState::new(Duration::ZERO, true).pause(&running), None, "it is another's");
}

#[test]
fn waits_follow_retry_after_within_the_wait_limit() {
    let busy = refused(429, Some("7"), "rate_limited");
    let mut tries = RetryState::new(Duration::from_mins(1), true);
    assert_eq!(tries.pause(&busy), Some(Duration::from_secs(7)));
    assert_eq!(RetryState::new(Duration::from_secs(6), true).pause(&busy), None);
    assert_eq!(RetryState::new(Duration::ZERO, true).pause(&busy), None);
    let mut tries = RetryState::new(Duration::from_mins(1), false);
    let down = refused(503, None, "draining");
    assert_eq!(tries.pause(&down), Some(FIRST_PAUSE));
    assert_eq!(tries.pause(&down), Some(FIRST_PAUSE * 2));
    assert_eq!(tries.pause(&refused(400, None, "invalid_request")), None);
    assert_eq!(growing(99), MAX_PAUSE);
}
