//! Tests of `owner_limits`.

use super::*;

#[tokio::test]
async fn owners_without_a_job_are_removed() {
    let limits = OwnerLimits::new(1);
    let busy = limits.acquire(Some(-1)).await.unwrap();
    for owner in 0..2 * i64::try_from(MAX_IDLE_OWNERS).unwrap() {
        drop(limits.acquire(Some(owner)).await.unwrap());
    }
    let owners = limits.owners.lock().unwrap();
    assert!(owners.len() <= MAX_IDLE_OWNERS && owners.contains_key(&Some(-1)));
    drop(busy);
}
