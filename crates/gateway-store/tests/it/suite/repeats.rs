//! Idempotency keys.

use std::sync::Arc;

use ledger::{ChargeRule, EndResult, IdempotencyConflict, Limits, Refusal};

use crate::world::{DAY, LEASE, World, actor, answering, closing, repeated};

const NOT_YET: Result<(), Refusal> = Err(Refusal::IdempotencyKeyUsed(IdempotencyConflict::Running));

pub(crate) async fn a_word_that_runs_is_told_so(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let store = &world.store;
    store.hold(repeated(&key, 5, "w", 1)).await.unwrap().unwrap();
    assert_eq!(store.hold(repeated(&key, 5, "w", 1)).await.unwrap().map(drop), NOT_YET);
    // However long it runs.
    world.pass(2 * DAY);
    store.delete_expired().await.unwrap();
    assert_eq!(store.hold(repeated(&key, 5, "w", 1)).await.unwrap().map(drop), NOT_YET);
    assert_eq!(world.money(member).await, (1000, 5));
}

pub(crate) async fn a_word_with_another_body_is_refused(world: World) {
    let (_, key) = world.member("ann", 1000, Limits::default()).await;
    let store = &world.store;
    let other = Err(Refusal::IdempotencyKeyUsed(IdempotencyConflict::OtherBody));
    let hold = store.hold(repeated(&key, 5, "w", 1)).await.unwrap().unwrap();
    assert_eq!(store.hold(repeated(&key, 5, "w", 2)).await.unwrap(), other);
    store.end(answering(&hold, "{}")).await.unwrap();
    assert_eq!(store.hold(repeated(&key, 5, "w", 2)).await.unwrap(), other);
}

pub(crate) async fn an_answered_word_gives_its_answer(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let store = &world.store;
    let hold = store.hold(repeated(&key, 5, "w", 1)).await.unwrap().unwrap();
    let closing = answering(&hold, "the answer");
    let kept = closing.answer.clone();
    store.end(closing).await.unwrap();
    let answered = Err(Refusal::IdempotencyKeyUsed(IdempotencyConflict::Answered(hold.id)));
    assert_eq!(store.hold(repeated(&key, 5, "w", 1)).await.unwrap(), answered);
    assert_eq!(store.answer(hold.id).await.unwrap(), kept);
    assert_eq!(world.money(member).await, (995, 0));
    // Through another handle too.
    let other = world.another().await;
    assert_eq!(other.hold(repeated(&key, 5, "w", 1)).await.unwrap(), answered);
}

pub(crate) async fn a_word_is_free_again_after_a_release(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let store = &world.store;
    for rule in [ChargeRule::UpstreamFailed, ChargeRule::Cancelled] {
        let hold = store.hold(repeated(&key, 5, "w", 1)).await.unwrap().unwrap();
        let ended = store.end(closing(&hold, rule)).await.unwrap();
        assert!(matches!(ended, EndResult::Ended(_)));
    }
    // An answer to a request that is not charged is not kept either.
    let hold = store.hold(repeated(&key, 5, "w", 1)).await.unwrap().unwrap();
    let mut failed = closing(&hold, ChargeRule::UpstreamFailed);
    failed.end.answered = true;
    store.end(failed).await.unwrap();
    // A lease that ends is a release as well.
    store.hold(repeated(&key, 5, "w", 1)).await.unwrap().unwrap();
    world.pass(LEASE * 2);
    assert_eq!(store.expire_holds().await.unwrap(), 1);
    assert!(store.hold(repeated(&key, 5, "w", 2)).await.unwrap().is_ok());
    assert_eq!(world.money(member).await, (1000, 5));
}

pub(crate) async fn a_word_is_free_again_after_a_day(world: World) {
    let (_, key) = world.member("ann", 1000, Limits::default()).await;
    let store = &world.store;
    let hold = store.hold(repeated(&key, 5, "w", 1)).await.unwrap().unwrap();
    store.end(answering(&hold, "{}")).await.unwrap();
    world.pass(DAY - 60_000_000);
    assert_eq!(store.delete_expired().await.unwrap(), 0);
    assert!(store.hold(repeated(&key, 5, "w", 1)).await.unwrap().is_err());
    world.pass(120_000_000);
    assert_eq!(store.answer(hold.id).await.unwrap(), None);
    let again = store.hold(repeated(&key, 5, "w", 2)).await.unwrap().unwrap();
    store.end(answering(&again, "second")).await.unwrap();
    let answered = Err(Refusal::IdempotencyKeyUsed(IdempotencyConflict::Answered(again.id)));
    assert_eq!(store.hold(repeated(&key, 5, "w", 2)).await.unwrap(), answered);
    // The word was taken over: nothing of it is over yet.
    assert_eq!(store.delete_expired().await.unwrap(), 0);
    world.pass(DAY + 60_000_000);
    assert_eq!(store.delete_expired().await.unwrap(), 1);
    assert_eq!(store.delete_expired().await.unwrap(), 0);
}

pub(crate) async fn a_word_belongs_to_its_lineage(world: World) {
    let (_, key) = world.member("ann", 1000, Limits::default()).await;
    let (_, other) = world.member("bob", 1000, Limits::default()).await;
    let store = &world.store;
    store.hold(repeated(&key, 5, "w", 1)).await.unwrap().unwrap();
    store.hold(repeated(&other, 5, "w", 2)).await.unwrap().unwrap();
    let new = store.rotate_key(&key.id, ("next", [9; 32]), 0, &actor()).await.unwrap();
    assert_eq!(store.hold(repeated(&new, 5, "w", 1)).await.unwrap().map(drop), NOT_YET);
}

pub(crate) async fn a_hundred_with_one_word_get_one_hold(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let mut racers = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (store, opening) = (Arc::clone(&world.store), repeated(&key, 5, "w", 1));
        racers.spawn(async move { store.hold(opening).await.unwrap() });
    }
    let held = racers.join_all().await;
    assert_eq!(held.iter().filter(|held| held.is_ok()).count(), 1);
    assert_eq!(world.money(member).await, (1000, 5));
    world.check().await;
}
