//! Limits of keys.

use std::sync::Arc;

use gateway_store::{KeyChange, LimitsChange, MemberChange};
use ledger::{ChargeRule, EndResult, Limits, LineageId, Micros, Refusal};

use crate::test_database::{SECOND, TestDatabase, actor, new_hold, rotation};

fn spend(limit: i64) -> Limits {
    Limits { spend: Some(Micros::new(limit)), ..Limits::default() }
}

fn rate(limit: u32) -> Limits {
    Limits { requests_per_minute: Some(limit), ..Limits::default() }
}

pub(crate) async fn rotated_keys_share_the_spend_limit(db: TestDatabase) {
    let (_, key) = db.member("ann", 1000, spend(100)).await;
    let hold = db.hold(&key, 70).await.unwrap();
    db.end(&hold, ChargeRule::Answered).await;
    let new = db.store.rotate_key(&rotation(&key.id, "next", [9; 32], 0), &actor()).await.unwrap();
    assert_eq!(new.lineage, key.lineage);
    let (needed, available) = (Micros::new(31), Micros::new(30));
    let refused = Err(Refusal::KeyLimitReached { needed, available });
    assert_eq!(db.hold(&new, 31).await, refused);
    // Holds count as spent until they are released.
    let second = db.hold(&new, 30).await.unwrap();
    assert!(db.hold(&key, 1).await.is_err());
    db.end(&second, ChargeRule::UpstreamFailed).await;
    assert!(db.hold(&key, 30).await.is_ok());
    db.check().await;
}

pub(crate) async fn a_rate_limit_counts_free_and_paid_requests(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, rate(3)).await;
    let room = db.store.admit(member, key.lineage).await.unwrap().unwrap().unwrap();
    assert_eq!((room.limit, room.remaining), (3, 2));
    let hold = db.hold(&key, 1).await.unwrap();
    assert_eq!(hold.limits.rate.map(|room| room.remaining), Some(1));
    db.store.admit(member, key.lineage).await.unwrap().unwrap();
    let Err(Refusal::RateLimited { retry_after_micros, status: room }) = db.hold(&key, 1).await
    else {
        panic!("a fourth request came");
    };
    assert_eq!((room.limit, room.remaining), (3, 0));
    assert!((1..=20 * SECOND).contains(&retry_after_micros), "{retry_after_micros}");
    assert!(db.store.admit(member, key.lineage).await.unwrap().is_err());
    db.advance_clock(20 * SECOND);
    assert!(db.hold(&key, 1).await.is_ok());
    assert!(db.hold(&key, 1).await.is_err());
    db.advance_clock(60 * SECOND);
    for _ in 0..3 {
        assert!(db.store.admit(member, key.lineage).await.unwrap().is_ok());
    }
    assert!(db.store.admit(member, key.lineage).await.unwrap().is_err());
    let unlimited = db.member("bob", 0, Limits::default()).await;
    assert_eq!(db.store.admit(unlimited.0, unlimited.1.lineage).await.unwrap(), Ok(None));
    assert!(db.store.admit(member, LineageId(999)).await.unwrap().is_err());
}

pub(crate) async fn rate_limits_survive_a_reopened_store(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, rate(2)).await;
    for _ in 0..2 {
        assert!(db.store.admit(member, key.lineage).await.unwrap().is_ok());
    }
    db.store.close().await;
    let other = db.another().await;
    assert!(other.admit(member, key.lineage).await.unwrap().is_err());
    assert!(other.hold(new_hold(&key, 1)).await.unwrap().is_err());
}

pub(crate) async fn concurrency_limits_are_enforced(db: TestDatabase) {
    let limits = Limits { concurrency: Some(5), ..Limits::default() };
    let (_, key) = db.member("ann", 1000, limits).await;
    let mut racers = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let (store, hold) = (Arc::clone(&db.store), new_hold(&key, 1));
        racers.spawn(async move { store.hold(hold).await.unwrap() });
    }
    let (begun, refused): (Vec<_>, Vec<_>) =
        racers.join_all().await.into_iter().partition(Result::is_ok);
    assert_eq!(begun.len(), 5);
    assert!(refused.into_iter().all(|held| held == Err(Refusal::TooManyRunning { limit: 5 })));
    let hold = begun[0].as_ref().unwrap();
    assert!(matches!(db.end(hold, ChargeRule::Cancelled).await, EndResult::Ended(_)));
    assert!(db.hold(&key, 1).await.is_ok());
    assert!(db.hold(&key, 1).await.is_err());
}

pub(crate) async fn blocked_members_and_unknown_keys_get_no_hold(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let (_, other) = db.member("bob", 1000, Limits::default()).await;
    let hold = db.hold(&key, 1).await.unwrap();
    db.store.change_member(member, &MemberChange::Block, &actor()).await.unwrap();
    assert_eq!(db.hold(&key, 1).await, Err(Refusal::Blocked));
    assert_eq!(db.store.admit(member, key.lineage).await.unwrap(), Err(Refusal::Blocked));
    // Holds that were opened before can end.
    assert!(matches!(db.end(&hold, ChargeRule::Answered).await, EndResult::Ended(_)));
    db.store.change_member(member, &MemberChange::Unblock, &actor()).await.unwrap();
    assert!(db.hold(&key, 1).await.is_ok());
    let mut theirs = key.clone();
    theirs.lineage = other.lineage;
    assert_eq!(db.hold(&theirs, 1).await, Err(Refusal::UnknownLineage));
    theirs.member = ledger::MemberId(999);
    assert_eq!(db.hold(&theirs, 1).await, Err(Refusal::UnknownMember));
    db.check().await;
}

pub(crate) async fn changed_limits_apply_immediately(db: TestDatabase) {
    let (_, key) = db.member("ann", 1000, Limits::default()).await;
    db.hold(&key, 1).await.unwrap();
    let change = KeyChange { limits: LimitsChange::to(spend(1)), ..KeyChange::default() };
    db.store.change_key(&key.id, &change, &actor()).await.unwrap();
    assert!(matches!(db.hold(&key, 1).await, Err(Refusal::KeyLimitReached { .. })));
    let change = KeyChange { limits: LimitsChange::to(Limits::default()), ..KeyChange::default() };
    db.store.change_key(&key.id, &change, &actor()).await.unwrap();
    assert!(db.hold(&key, 1).await.is_ok());
}

/// With two handles and two keys of one lineage, like two operators.
pub(crate) async fn concurrent_changes_of_different_limits_are_all_applied(db: TestDatabase) {
    let (_, key) = db.member("ann", 1000, Limits::default()).await;
    let by = actor();
    let next = db.store.rotate_key(&rotation(&key.id, "next", [9; 32], 1000), &by).await.unwrap();
    let stores = [Arc::clone(&db.store), Arc::new(db.another().await)];
    for round in 1..=20_u32 {
        let limits = Limits {
            spend: Some(Micros::new(i64::from(round))),
            requests_per_minute: (round % 3 > 0).then_some(round),
            concurrency: Some(round + 1),
            budget: None,
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
        assert_eq!(db.store.key(&key.id).await.unwrap().unwrap().limits, limits);
        assert_eq!(db.store.key(&next.id).await.unwrap().unwrap().limits, limits);
    }
    let entries = db.store.audit(i64::MAX, 3).await.unwrap();
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
