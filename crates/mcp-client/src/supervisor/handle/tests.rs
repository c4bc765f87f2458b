//! Tests of `handle`.

use super::*;

#[tokio::test(start_paused = true)]
async fn three_failures_open_the_breaker_and_a_probe_closes_it() {
    let breaker = CircuitBreaker::default();
    for _ in 0..MAX_FAILURES {
        assert_eq!(breaker.check(), Ok(()));
        breaker.failed();
    }
    assert_eq!(breaker.check(), Err((3, OPEN_DURATION)));
    tokio::time::advance(OPEN_DURATION).await;
    assert_eq!(breaker.check(), Ok(()), "the probe");
    assert!(breaker.check().is_err(), "everybody else still waits");
    breaker.succeeded();
    assert_eq!(breaker.check(), Ok(()));
}
