//! Idempotency keys.

use std::sync::Arc;

use ledger::{ChargeRule, EndResult, IdempotencyConflict, Limits, Refusal};

use crate::test_database::{
    DAY, LEASE, TestDatabase, actor, answering, closing, rotation, with_key,
};

const NOT_YET: Result<(), Refusal> = Err(Refusal::IdempotencyKeyUsed(IdempotencyConflict::Running));

pub(crate) async fn a_key_in_use_is_reported_as_running(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let store = &db.store;
    store.hold(with_key(&key, 5, "w", 1)).await.unwrap().unwrap();
    assert_eq!(store.hold(with_key(&key, 5, "w", 1)).await.unwrap().map(drop), NOT_YET);
    // It does not expire while the request runs.
    db.advance_clock(2 * DAY);
    store.delete_expired().await.unwrap();
    assert_eq!(store.hold(with_key(&key, 5, "w", 1)).await.unwrap().map(drop), NOT_YET);
    assert_eq!(db.money(member).await, (1000, 5));
}

pub(crate) async fn a_key_with_another_body_is_rejected(db: TestDatabase) {
    let (_, key) = db.member("ann", 1000, Limits::default()).await;
    let store = &db.store;
    let other = Err(Refusal::IdempotencyKeyUsed(IdempotencyConflict::OtherBody));
    let hold = store.hold(with_key(&key, 5, "w", 1)).await.unwrap().unwrap();
    assert_eq!(store.hold(with_key(&key, 5, "w", 2)).await.unwrap(), other);
    store.end(answering(&hold, "{}")).await.unwrap();
    assert_eq!(store.hold(with_key(&key, 5, "w", 2)).await.unwrap(), other);
}

pub(crate) async fn an_answered_key_returns_the_saved_answer(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let store = &db.store;
    let hold = store.hold(with_key(&key, 5, "w", 1)).await.unwrap().unwrap();
    let closing = answering(&hold, "the answer");
    let kept = closing.answer.clone();
    store.end(closing).await.unwrap();
    let answered = Err(Refusal::IdempotencyKeyUsed(IdempotencyConflict::Answered(hold.id)));
    assert_eq!(store.hold(with_key(&key, 5, "w", 1)).await.unwrap(), answered);
    assert_eq!(store.answer(hold.id).await.unwrap(), kept);
    assert_eq!(db.money(member).await, (995, 0));
    // Another handle returns it too.
    let other = db.another().await;
    assert_eq!(other.hold(with_key(&key, 5, "w", 1)).await.unwrap(), answered);
}

pub(crate) async fn a_key_is_reusable_after_a_release(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let store = &db.store;
    for rule in [ChargeRule::UpstreamFailed, ChargeRule::Cancelled] {
        let hold = store.hold(with_key(&key, 5, "w", 1)).await.unwrap().unwrap();
        let ended = store.end(closing(&hold, rule)).await.unwrap();
        assert!(matches!(ended, EndResult::Ended(_)));
    }
    // The answer of an uncharged request is not saved.
    let hold = store.hold(with_key(&key, 5, "w", 1)).await.unwrap().unwrap();
    let mut failed = closing(&hold, ChargeRule::UpstreamFailed);
    failed.end.answered = true;
    store.end(failed).await.unwrap();
    // An expired lease is a release.
    store.hold(with_key(&key, 5, "w", 1)).await.unwrap().unwrap();
    db.advance_clock(LEASE * 2);
    assert_eq!(store.expire_holds().await.unwrap(), 1);
    assert!(store.hold(with_key(&key, 5, "w", 2)).await.unwrap().is_ok());
    assert_eq!(db.money(member).await, (1000, 5));
}

pub(crate) async fn a_key_is_reusable_after_a_day(db: TestDatabase) {
    let (_, key) = db.member("ann", 1000, Limits::default()).await;
    let store = &db.store;
    let hold = store.hold(with_key(&key, 5, "w", 1)).await.unwrap().unwrap();
    store.end(answering(&hold, "{}")).await.unwrap();
    db.advance_clock(DAY - 60_000_000);
    assert_eq!(store.delete_expired().await.unwrap(), 0);
    assert!(store.hold(with_key(&key, 5, "w", 1)).await.unwrap().is_err());
    db.advance_clock(120_000_000);
    assert_eq!(store.answer(hold.id).await.unwrap(), None);
    let again = store.hold(with_key(&key, 5, "w", 2)).await.unwrap().unwrap();
    store.end(answering(&again, "second")).await.unwrap();
    let answered = Err(Refusal::IdempotencyKeyUsed(IdempotencyConflict::Answered(again.id)));
    assert_eq!(store.hold(with_key(&key, 5, "w", 2)).await.unwrap(), answered);
    // The new request has taken the key over, so nothing has expired yet.
    assert_eq!(store.delete_expired().await.unwrap(), 0);
    db.advance_clock(DAY + 60_000_000);
    assert_eq!(store.delete_expired().await.unwrap(), 1);
    assert_eq!(store.delete_expired().await.unwrap(), 0);
}

pub(crate) async fn keys_of_different_lineages_do_not_collide(db: TestDatabase) {
    let (_, key) = db.member("ann", 1000, Limits::default()).await;
    let (_, other) = db.member("bob", 1000, Limits::default()).await;
    let store = &db.store;
    store.hold(with_key(&key, 5, "w", 1)).await.unwrap().unwrap();
    store.hold(with_key(&other, 5, "w", 2)).await.unwrap().unwrap();
    let new = store.rotate_key(&rotation(&key.id, "next", [9; 32], 0), &actor()).await.unwrap();
    assert_eq!(store.hold(with_key(&new, 5, "w", 1)).await.unwrap().map(drop), NOT_YET);
}

pub(crate) async fn concurrent_requests_with_one_key_open_one_hold(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let mut racers = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (store, hold) = (Arc::clone(&db.store), with_key(&key, 5, "w", 1));
        racers.spawn(async move { store.hold(hold).await.unwrap() });
    }
    let held = racers.join_all().await;
    assert_eq!(held.iter().filter(|held| held.is_ok()).count(), 1);
    assert_eq!(db.money(member).await, (1000, 5));
    db.check().await;
}
