//! Transfers that are asked for again.

use std::sync::Arc;

use ledger::{ChargeRule, Limits, PostingKind, Refusal, Transfer, TransferResult};

use crate::world::{World, actor};

const TOP_UP: PostingKind = PostingKind::TopUp;

pub(crate) async fn a_transfer_with_a_reference_is_posted_once(world: World) {
    let (member, key) = world.member("ann", 0, Limits::default()).await;
    let (other, _) = world.member("bob", 0, Limits::default()).await;
    let Ok(TransferResult::Posted(first)) = world.refer(member, (TOP_UP, 100), "invoice 17").await
    else {
        panic!("nothing was posted");
    };
    assert_eq!(first.reference.as_deref(), Some("invoice 17"));
    // What happens meanwhile changes nothing of it.
    let hold = world.hold(&key, 30).await.unwrap();
    world.end(&hold, ChargeRule::Answered).await;
    for _ in 0..2 {
        let again = world.refer(member, (TOP_UP, 100), "invoice 17").await;
        assert_eq!(again, Ok(TransferResult::AlreadyPosted(first.clone())));
    }
    // Another process knows it as well.
    let elsewhere = world.another().await;
    let transfer = Transfer {
        member,
        kind: TOP_UP,
        amount: first.amount,
        reason: "because".to_owned(),
        reference: first.reference.clone(),
    };
    let again = elsewhere.post(transfer.clone(), &actor()).await.unwrap();
    assert_eq!(again, Ok(TransferResult::AlreadyPosted(first.clone())));
    assert_eq!(world.money(member).await, (70, 0));

    let refused =
        |differing: &[&'static str]| Err(Refusal::ReferenceUsed { differing: differing.to_vec() });
    let adjusted = world.refer(member, (PostingKind::Adjustment, 100), "invoice 17").await;
    assert_eq!(adjusted, refused(&["kind"]));
    assert_eq!(world.refer(member, (TOP_UP, 101), "invoice 17").await, refused(&["amount"]));
    let why = Transfer { reason: "why not".to_owned(), ..transfer };
    assert_eq!(world.store.post(why, &actor()).await.unwrap(), refused(&["reason"]));

    // A reference is a member's own, and transfers without one are all their own.
    assert!(matches!(
        world.refer(other, (TOP_UP, 5), "invoice 17").await,
        Ok(TransferResult::Posted(_))
    ));
    world.top_up(member, 100).await.unwrap();
    world.top_up(member, 100).await.unwrap();
    assert_eq!(world.money(member).await, (270, 0));
    let lines = world.store.statement(member, i64::MAX, 10).await.unwrap();
    let references: Vec<_> = lines.iter().map(|line| line.posting.reference.as_deref()).collect();
    assert_eq!(references, [None, None, None, Some("invoice 17")]);
    assert_eq!(lines[3].posting, first);
    let entries = world.store.audit(i64::MAX, 100).await.unwrap();
    let moved = entries.iter().filter(|entry| entry.action.starts_with("ledger."));
    let referred = moved.clone().filter(|entry| entry.detail.contains("invoice 17"));
    assert_eq!((moved.count(), referred.count()), (4, 2));
    world.check().await;
}

pub(crate) async fn a_refused_transfer_leaves_its_reference_free(world: World) {
    let (member, _) = world.member("ann", 10, Limits::default()).await;
    let take = (PostingKind::Adjustment, -20);
    let refused = world.refer(member, take, "r").await;
    assert!(matches!(refused, Err(Refusal::InsufficientBalance { .. })));
    world.top_up(member, 10).await.unwrap();
    assert!(matches!(world.refer(member, take, "r").await, Ok(TransferResult::Posted(_))));
    // Done is done, though it could not be done now.
    assert!(matches!(world.refer(member, take, "r").await, Ok(TransferResult::AlreadyPosted(_))));
    assert_eq!(world.money(member).await, (0, 0));
    world.check().await;
}

/// On two handles, as two processes have them.
pub(crate) async fn a_hundred_with_one_reference_pay_in_once(world: World) {
    let (member, _) = world.member("ann", 0, Limits::default()).await;
    let stores = [Arc::clone(&world.store), Arc::new(world.another().await)];
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
    assert_eq!(world.money(member).await, (14, 0));
    world.check().await;
}
