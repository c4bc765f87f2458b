//! Tests of `concurrency`.

use super::*;

#[tokio::test]
async fn idle_hosts_are_dropped() {
    let limits = Concurrency::new(1, 1);
    let busy = limits.acquire_host("busy").await.unwrap();
    for number in 0..MAX_IDLE_HOSTS * 2 {
        drop(limits.acquire_host(&format!("host{number}")).await.unwrap());
    }
    assert!(limits.hosts.lock().unwrap().len() <= MAX_IDLE_HOSTS);
    assert!(limits.hosts.lock().unwrap().contains_key("busy"));
    drop(busy);
}

#[tokio::test]
async fn requests_beyond_the_limit_are_rejected() {
    let limits = Concurrency::new(1, 1);
    let one = limits.try_acquire().unwrap();
    assert_eq!(limits.try_acquire().unwrap_err(), Fault::Busy);
    drop(one);
    assert!(limits.try_acquire().is_ok());
}
