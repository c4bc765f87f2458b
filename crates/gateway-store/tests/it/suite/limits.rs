//! What keys may do.

use std::sync::Arc;

use gateway_store::{KeyChange, LimitsChange, MemberChange};
use ledger::{ChargeRule, EndResult, Limits, LineageId, Micros, Refusal};

use crate::world::{SECOND, World, actor, opening};

fn spend(limit: i64) -> Limits {
    Limits { spend: Some(Micros::new(limit)), ..Limits::default() }
}

fn rate(limit: u32) -> Limits {
    Limits { requests_per_minute: Some(limit), ..Limits::default() }
}

pub(crate) async fn a_spend_limit_follows_rotation(world: World) {
    let (_, key) = world.member("ann", 1000, spend(100)).await;
    let hold = world.hold(&key, 70).await.unwrap();
    world.end(&hold, ChargeRule::Answered).await;
    let new = world.store.rotate_key(&key.id, ("next", [9; 32]), 0, &actor()).await.unwrap();
    assert_eq!(new.lineage, key.lineage);
    let (needed, available) = (Micros::new(31), Micros::new(30));
    let refused = Err(Refusal::KeyLimitReached { needed, available });
    assert_eq!(world.hold(&new, 31).await, refused);
    // What is held counts as spent, until it is released.
    let second = world.hold(&new, 30).await.unwrap();
    assert!(world.hold(&key, 1).await.is_err());
    world.end(&second, ChargeRule::UpstreamFailed).await;
    assert!(world.hold(&key, 30).await.is_ok());
    world.check().await;
}

pub(crate) async fn a_rate_limit_counts_free_and_paid_requests(world: World) {
    let (member, key) = world.member("ann", 1000, rate(3)).await;
    let room = world.store.admit(member, key.lineage).await.unwrap().unwrap().unwrap();
    assert_eq!((room.limit, room.remaining), (3, 2));
    let hold = world.hold(&key, 1).await.unwrap();
    assert_eq!(hold.rate_limit.map(|room| room.remaining), Some(1));
    world.store.admit(member, key.lineage).await.unwrap().unwrap();
    let Err(Refusal::RateLimited { retry_after_micros, status: room }) = world.hold(&key, 1).await
    else {
        panic!("a fourth request came");
    };
    assert_eq!((room.limit, room.remaining), (3, 0));
    assert!((1..=20 * SECOND).contains(&retry_after_micros), "{retry_after_micros}");
    assert!(world.store.admit(member, key.lineage).await.unwrap().is_err());
    world.pass(20 * SECOND);
    assert!(world.hold(&key, 1).await.is_ok());
    assert!(world.hold(&key, 1).await.is_err());
    world.pass(60 * SECOND);
    for _ in 0..3 {
        assert!(world.store.admit(member, key.lineage).await.unwrap().is_ok());
    }
    assert!(world.store.admit(member, key.lineage).await.unwrap().is_err());
    let unlimited = world.member("bob", 0, Limits::default()).await;
    assert_eq!(world.store.admit(unlimited.0, unlimited.1.lineage).await.unwrap(), Ok(None));
    assert!(world.store.admit(member, LineageId(999)).await.unwrap().is_err());
}

pub(crate) async fn a_rate_is_not_forgotten_by_a_new_handle(world: World) {
    let (member, key) = world.member("ann", 1000, rate(2)).await;
    for _ in 0..2 {
        assert!(world.store.admit(member, key.lineage).await.unwrap().is_ok());
    }
    world.store.close().await;
    let other = world.another().await;
    assert!(other.admit(member, key.lineage).await.unwrap().is_err());
    assert!(other.hold(opening(&key, 1)).await.unwrap().is_err());
}

pub(crate) async fn no_more_run_at_once_than_may(world: World) {
    let limits = Limits { concurrency: Some(5), ..Limits::default() };
    let (_, key) = world.member("ann", 1000, limits).await;
    let mut racers = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let (store, opening) = (Arc::clone(&world.store), opening(&key, 1));
        racers.spawn(async move { store.hold(opening).await.unwrap() });
    }
    let (begun, refused): (Vec<_>, Vec<_>) =
        racers.join_all().await.into_iter().partition(Result::is_ok);
    assert_eq!(begun.len(), 5);
    assert!(refused.into_iter().all(|held| held == Err(Refusal::TooManyRunning { limit: 5 })));
    let hold = begun[0].as_ref().unwrap();
    assert!(matches!(world.end(hold, ChargeRule::Cancelled).await, EndResult::Ended(_)));
    assert!(world.hold(&key, 1).await.is_ok());
    assert!(world.hold(&key, 1).await.is_err());
}

pub(crate) async fn blocked_members_and_unknown_keys_get_no_hold(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let (_, other) = world.member("bob", 1000, Limits::default()).await;
    let hold = world.hold(&key, 1).await.unwrap();
    world.store.change_member(member, &MemberChange::Block, &actor()).await.unwrap();
    assert_eq!(world.hold(&key, 1).await, Err(Refusal::Blocked));
    assert_eq!(world.store.admit(member, key.lineage).await.unwrap(), Err(Refusal::Blocked));
    // What began before ends all the same.
    assert!(matches!(world.end(&hold, ChargeRule::Answered).await, EndResult::Ended(_)));
    world.store.change_member(member, &MemberChange::Unblock, &actor()).await.unwrap();
    assert!(world.hold(&key, 1).await.is_ok());
    let mut theirs = key.clone();
    theirs.lineage = other.lineage;
    assert_eq!(world.hold(&theirs, 1).await, Err(Refusal::UnknownLineage));
    theirs.member = ledger::MemberId(999);
    assert_eq!(world.hold(&theirs, 1).await, Err(Refusal::UnknownMember));
    world.check().await;
}

pub(crate) async fn changed_limits_count_at_once(world: World) {
    let (_, key) = world.member("ann", 1000, Limits::default()).await;
    world.hold(&key, 1).await.unwrap();
    let change = KeyChange { limits: LimitsChange::to(spend(1)), ..KeyChange::default() };
    world.store.change_key(&key.id, &change, &actor()).await.unwrap();
    assert!(matches!(world.hold(&key, 1).await, Err(Refusal::KeyLimitReached { .. })));
    let change = KeyChange { limits: LimitsChange::to(Limits::default()), ..KeyChange::default() };
    world.store.change_key(&key.id, &change, &actor()).await.unwrap();
    assert!(world.hold(&key, 1).await.is_ok());
}

/// Through two handles and two keys of one lineage, as two operators do it.
pub(crate) async fn changes_of_different_limits_at_once_are_all_made(world: World) {
    let (_, key) = world.member("ann", 1000, Limits::default()).await;
    let by = actor();
    let next = world.store.rotate_key(&key.id, ("next", [9; 32]), 1000, &by).await.unwrap();
    let stores = [Arc::clone(&world.store), Arc::new(world.another().await)];
    for round in 1..=20_u32 {
        let limits = Limits {
            spend: Some(Micros::new(i64::from(round))),
            requests_per_minute: (round % 3 > 0).then_some(round),
            concurrency: Some(round + 1),
        };
        let all = LimitsChange::to(limits);
        let none = LimitsChange::default();
        let mut changes = tokio::task::JoinSet::new();
        for (number, limits) in [
            LimitsChange { spend: all.spend, ..none },
            LimitsChange { requests_per_minute: all.requests_per_minute, ..none },
            LimitsChange { concurrency: all.concurrency, ..none },
        ]
        .into_iter()
        .enumerate()
        {
            let store = Arc::clone(&stores[number % 2]);
            let id = if number == 1 { next.id.clone() } else { key.id.clone() };
            let change = KeyChange { limits, ..KeyChange::default() };
            changes.spawn(async move { store.change_key(&id, &change, &actor()).await.unwrap() });
        }
        changes.join_all().await;
        assert_eq!(world.store.key(&key.id).await.unwrap().unwrap().limits, limits);
        assert_eq!(world.store.key(&next.id).await.unwrap().unwrap().limits, limits);
    }
    let entries = world.store.audit(i64::MAX, 3).await.unwrap();
    let mut told: Vec<_> = entries.iter().map(|entry| entry.detail.as_str()).collect();
    told.sort_unstable();
    assert_eq!(
        told,
        [
            r#"{"limits":{"concurrency":21}}"#,
            r#"{"limits":{"requests_per_minute":20}}"#,
            r#"{"limits":{"spend_limit_micros":20}}"#,
        ]
    );
}
