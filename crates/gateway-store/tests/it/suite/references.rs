//! Transfers with a reference.

use std::sync::Arc;

use ledger::{ChargeRule, Limits, PostingKind, Refusal, Transfer, TransferResult};

use crate::test_database::{TestDatabase, actor};

const TOP_UP: PostingKind = PostingKind::TopUp;

pub(crate) async fn transfers_with_the_same_reference_are_posted_once(db: TestDatabase) {
    let (member, key) = db.member("ann", 0, Limits::default()).await;
    let (other, _) = db.member("bob", 0, Limits::default()).await;
    let Ok(TransferResult::Posted(first)) = db.transfer(member, TOP_UP, 100, "invoice 17").await
    else {
        panic!("nothing was posted");
    };
    assert_eq!(first.reference.as_deref(), Some("invoice 17"));
    // Operations in between do not change the result.
    let hold = db.hold(&key, 30).await.unwrap();
    db.end(&hold, ChargeRule::Answered).await;
    for _ in 0..2 {
        let again = db.transfer(member, TOP_UP, 100, "invoice 17").await;
        assert_eq!(again, Ok(TransferResult::AlreadyPosted(first.clone())));
    }
    // Another process knows the reference.
    let elsewhere = db.another().await;
    let transfer = Transfer {
        member,
        kind: TOP_UP,
        amount: first.amount,
        reason: "because".to_owned(),
        reference: first.reference.clone(),
    };
    let again = elsewhere.post(transfer.clone(), &actor()).await.unwrap();
    assert_eq!(again, Ok(TransferResult::AlreadyPosted(first.clone())));
    assert_eq!(db.money(member).await, (70, 0));

    let refused =
        |differing: &[&'static str]| Err(Refusal::ReferenceUsed { differing: differing.to_vec() });
    let adjusted = db.transfer(member, PostingKind::Adjustment, 100, "invoice 17").await;
    assert_eq!(adjusted, refused(&["kind"]));
    assert_eq!(db.transfer(member, TOP_UP, 101, "invoice 17").await, refused(&["amount"]));
    let why = Transfer { reason: "why not".to_owned(), ..transfer };
    assert_eq!(db.store.post(why, &actor()).await.unwrap(), refused(&["reason"]));

    // References of different members do not collide, and transfers without one are independent.
    assert!(matches!(
        db.transfer(other, TOP_UP, 5, "invoice 17").await,
        Ok(TransferResult::Posted(_))
    ));
    db.top_up(member, 100).await.unwrap();
    db.top_up(member, 100).await.unwrap();
    assert_eq!(db.money(member).await, (270, 0));
    let lines = db.store.statement(member, i64::MAX, 10).await.unwrap();
    let references: Vec<_> = lines.iter().map(|line| line.posting.reference.as_deref()).collect();
    assert_eq!(references, [None, None, None, Some("invoice 17")]);
    assert_eq!(lines[3].posting, first);
    let entries = db.store.audit(i64::MAX, 100).await.unwrap();
    let moved = entries.iter().filter(|entry| entry.action.starts_with("ledger."));
    let referred = moved.clone().filter(|entry| entry.detail.contains("invoice 17"));
    assert_eq!((moved.count(), referred.count()), (4, 2));
    db.check().await;
}

pub(crate) async fn a_rejected_transfer_does_not_use_its_reference(db: TestDatabase) {
    let (member, _) = db.member("ann", 10, Limits::default()).await;
    let kind = PostingKind::Adjustment;
    let refused = db.transfer(member, kind, -20, "r").await;
    assert!(matches!(refused, Err(Refusal::InsufficientBalance { .. })));
    db.top_up(member, 10).await.unwrap();
    assert!(matches!(db.transfer(member, kind, -20, "r").await, Ok(TransferResult::Posted(_))));
    // A posted transfer is reported although it could not be made again.
    assert!(matches!(
        db.transfer(member, kind, -20, "r").await,
        Ok(TransferResult::AlreadyPosted(_))
    ));
    assert_eq!(db.money(member).await, (0, 0));
    db.check().await;
}

/// With two handles, like two processes.
pub(crate) async fn concurrent_transfers_with_one_reference_are_posted_once(db: TestDatabase) {
    let (member, _) = db.member("ann", 0, Limits::default()).await;
    let stores = [Arc::clone(&db.store), Arc::new(db.another().await)];
    let mut racers = tokio::task::JoinSet::new();
    for number in 0..200 {
        let store = Arc::clone(&stores[number % 2]);
        let transfer = Transfer {
            member,
            kind: TOP_UP,
            amount: ledger::Micros::new(7),
            reason: "because".to_owned(),
            reference: Some(format!("invoice {}", number / 100)),
        };
        racers.spawn(async move { store.post(transfer, &actor()).await.unwrap().unwrap() });
    }
    let posted = racers.join_all().await;
    let now: Vec<_> =
        posted.iter().filter(|posted| matches!(posted, TransferResult::Posted(_))).collect();
    assert_eq!(now.len(), 2);
    for posted in posted.iter().cloned().map(TransferResult::into_posting) {
        assert!(
            now.iter().any(|now| matches!(now, TransferResult::Posted(first) if *first == posted))
        );
    }
    assert_eq!(db.money(member).await, (14, 0));
    db.check().await;
}
