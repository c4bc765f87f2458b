//! Holds, charges, top-ups and leases.

use std::sync::Arc;

use gateway_store::{Actor, StatementLine};
use ledger::{
    ChargeRule, EndResult, HoldOutcome, HouseAccount, Limits, Micros, PostingKind, Refusal, Time,
    TokenCounts, Transfer,
};

use crate::world::{LEASE, OWNER, SECOND, World, actor, closing, new_key, opening};

pub(crate) async fn a_settled_hold_is_charged_and_a_released_one_is_not(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let settled = world.hold(&key, 300).await.unwrap();
    let released = world.hold(&key, 200).await.unwrap();
    assert_eq!(world.money(member).await, (1000, 500));

    let EndResult::Ended(receipt) = world.end(&settled, ChargeRule::Answered).await else {
        panic!()
    };
    assert_eq!((receipt.charged, receipt.rule), (Micros::new(300), ChargeRule::Answered));
    assert_eq!(receipt.model.as_deref(), Some("a/b"));
    assert_eq!(receipt.tokens, TokenCounts { input: Some(3), output: None });
    let EndResult::Ended(refund) = world.end(&released, ChargeRule::UpstreamFailed).await else {
        panic!()
    };
    assert_eq!((refund.charged, refund.rule.outcome()), (Micros::ZERO, HoldOutcome::Released));
    assert_eq!(world.money(member).await, (700, 0));

    let store = &world.store;
    assert_eq!(store.receipt(None, settled.id).await.unwrap(), Some(receipt.clone()));
    assert_eq!(store.receipt(Some(member), settled.id).await.unwrap(), Some(receipt));
    let other = ledger::MemberId(member.0 + 1);
    assert_eq!(store.receipt(Some(other), settled.id).await.unwrap(), None);
    let lineage = store.lineage(key.lineage).await.unwrap().unwrap();
    assert_eq!((lineage.spent.get(), lineage.held.get(), lineage.running), (300, 0, 0));
    world.check().await;
}

pub(crate) async fn a_hold_ends_once_whoever_tries(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let hold = world.hold(&key, 300).await.unwrap();
    let mut enders = tokio::task::JoinSet::new();
    for number in 0..100 {
        let (store, hold) = (Arc::clone(&world.store), hold.clone());
        let rule = if number % 2 == 0 { ChargeRule::Answered } else { ChargeRule::Cancelled };
        enders.spawn(async move { store.end(closing(&hold, rule)).await.unwrap() });
    }
    let ended = enders.join_all().await;
    let now: Vec<_> = ended.iter().filter(|ended| **ended != EndResult::AlreadyEnded).collect();
    let [EndResult::Ended(receipt)] = now[..] else { panic!("it ended {} times", now.len()) };
    assert_eq!(world.money(member).await, (1000 - receipt.charged.get(), 0));
    assert_eq!(world.store.receipt(None, hold.id).await.unwrap().as_ref(), Some(receipt));
    world.check().await;
}

pub(crate) async fn every_runtime_is_answered_and_may_go(world: World) {
    const EACH: i64 = 40;
    let (member, key) = world.member("ann", 100_000, Limits::default()).await;
    let ask = |is_gone: bool| {
        let (store, key) = (Arc::clone(&world.store), key.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async move {
                let mut asking = tokio::task::JoinSet::new();
                for _ in 0..EACH {
                    let (store, opening) = (Arc::clone(&store), opening(&key, 10));
                    asking.spawn(async move {
                        let hold = store.hold(opening).await.unwrap().unwrap();
                        store.end(closing(&hold, ChargeRule::Answered)).await.unwrap()
                    });
                }
                if is_gone {
                    // All have asked, and nobody waits for what they are told.
                    return tokio::task::yield_now().await;
                }
                let ended = asking.join_all().await;
                assert!(
                    ended.iter().all(|ended| matches!(ended, EndResult::Ended(_))),
                    "{ended:?}"
                );
            });
        })
    };
    let asking = [false, true, false, false].map(ask);
    tokio::task::spawn_blocking(|| asking.map(|thread| thread.join().unwrap())).await.unwrap();
    // Whatever was asked before has been decided when this is.
    world.hold(&key, 1).await.unwrap();
    let (balance, held) = world.money(member).await;
    assert_eq!(balance, 100_000 - 3 * EACH * 10);
    assert!((1..=1 + EACH * 10).contains(&held), "{held}");
    world.check().await;
}

pub(crate) async fn only_its_member_ends_a_hold(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let (stranger, _) = world.member("bob", 1000, Limits::default()).await;
    let hold = world.hold(&key, 300).await.unwrap();
    let mut theirs = hold.clone();
    theirs.member = stranger;
    assert_eq!(world.end(&theirs, ChargeRule::Answered).await, EndResult::AlreadyEnded);
    assert_eq!(world.money(member).await, (1000, 300));
    assert_eq!(world.money(stranger).await, (1000, 0));
}

pub(crate) async fn a_thousand_race_a_balance_that_covers_137(world: World) {
    let (member, key) = world.member("ann", 137 * 7 + 6, Limits::default()).await;
    let mut racers = tokio::task::JoinSet::new();
    for _ in 0..1000 {
        let (store, key) = (Arc::clone(&world.store), key.clone());
        racers.spawn(async move {
            let result = store.hold(opening(&key, 7)).await.unwrap();
            let balance = store.account(key.member).await.unwrap().unwrap();
            assert!(!balance.balance.is_negative() && balance.held <= balance.balance);
            match result {
                Ok(hold) => {
                    store.end(closing(&hold, ChargeRule::Answered)).await.unwrap();
                    true
                }
                Err(Refusal::InsufficientBalance { needed, available }) => {
                    assert!(needed == Micros::new(7) && available < needed);
                    false
                }
                Err(other) => panic!("{other}"),
            }
        });
    }
    let held = racers.join_all().await.into_iter().filter(|held| *held).count();
    assert_eq!((held, world.money(member).await), (137, (6, 0)));
    world.check().await;
}

pub(crate) async fn many_members_at_once_stay_apart(world: World) {
    let mut racers = tokio::task::JoinSet::new();
    for number in 0..20 {
        let (member, key) = world.member(&format!("m{number}"), 100, Limits::default()).await;
        for _ in 0..10 {
            let (store, key) = (Arc::clone(&world.store), key.clone());
            racers.spawn(async move {
                let hold = store.hold(opening(&key, 5 + number % 3)).await.unwrap().unwrap();
                store.end(closing(&hold, ChargeRule::Answered)).await.unwrap();
                (member, hold.amount)
            });
        }
    }
    let charged = racers.join_all().await;
    for (member, amount) in charged {
        assert_eq!(world.money(member).await, (100 - 10 * amount.get(), 0));
    }
    world.check().await;
}

pub(crate) async fn top_ups_and_corrections_are_posted_and_audited(world: World) {
    let (member, _) = world.member("ann", 0, Limits::default()).await;
    let posting = world.top_up(member, 500).await.unwrap();
    assert_eq!((posting.house, posting.balance), (HouseAccount::Funding, Micros::new(500)));
    let posting = world.move_money(member, PostingKind::Adjustment, -120).await.unwrap();
    assert_eq!((posting.house, posting.balance), (HouseAccount::Adjustments, Micros::new(380)));
    assert_eq!(world.money(member).await, (380, 0));
    for (kind, amount) in
        [(PostingKind::TopUp, -1), (PostingKind::TopUp, 0), (PostingKind::Charge, 5)]
    {
        let refused = world.move_money(member, kind, amount).await;
        assert_eq!(refused, Err(Refusal::AmountOutOfRange));
    }
    let entries = world.store.audit(i64::MAX, 2).await.unwrap();
    let actions: Vec<_> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["ledger.adjustment", "ledger.top_up"]);
    assert_eq!(entries[0].actor, actor());
    assert_eq!(entries[0].subject, format!("mem_{}", member.0));
    assert!(entries[0].detail.contains("because") && entries[0].detail.contains("-120"));
    world.check().await;
}

pub(crate) async fn what_is_held_cannot_be_corrected_away(world: World) {
    let (member, key) = world.member("ann", 100, Limits::default()).await;
    world.hold(&key, 60).await.unwrap();
    let refused = world.move_money(member, PostingKind::Adjustment, -41).await;
    let (needed, available) = (Micros::new(41), Micros::new(40));
    assert_eq!(refused, Err(Refusal::InsufficientBalance { needed, available }));
    world.move_money(member, PostingKind::Adjustment, -40).await.unwrap();
    assert_eq!(world.money(member).await, (60, 60));
    world.check().await;
}

pub(crate) async fn a_statement_is_read_in_pages(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let (other, _) = world.member("bob", 1000, Limits::default()).await;
    let mut holds = Vec::new();
    for amount in 1..=6 {
        let hold = world.hold(&key, amount).await.unwrap();
        world.end(&hold, ChargeRule::Answered).await;
        holds.push(hold.id);
    }
    let mut lines: Vec<StatementLine> = Vec::new();
    loop {
        let before = lines.last().map_or(i64::MAX, |line| line.id);
        let page = world.store.statement(member, before, 3).await.unwrap();
        assert!(page.len() <= 3);
        if page.is_empty() {
            break;
        }
        lines.extend(page);
    }
    let amounts: Vec<i64> = lines.iter().map(|line| line.posting.amount.get()).collect();
    assert_eq!(amounts, [-6, -5, -4, -3, -2, -1, 1000]);
    assert_eq!(lines[0].posting.hold, holds.pop());
    assert_eq!(lines[0].operation.as_deref(), Some("chat"));
    assert_eq!(lines[0].model.as_deref(), Some("a/b"));
    assert_eq!(lines[0].posting.balance, Micros::new(979));
    assert_eq!(lines[6].posting.reason.as_deref(), Some("because"));
    assert_eq!((&lines[6].operation, lines[6].posting.kind), (&None, PostingKind::TopUp));
    assert_eq!(world.store.statement(other, i64::MAX, 10).await.unwrap().len(), 1);
    // A page may begin at any number, also at one that is somebody else's.
    let others = world.store.statement(other, i64::MAX, 10).await.unwrap()[0].id;
    let page = world.store.statement(member, others, 10).await.unwrap();
    assert_eq!(page, lines[6..]);
    assert!(world.store.statement(member, lines[6].id, 10).await.unwrap().is_empty());
    world.check().await;
}

pub(crate) async fn usage_counts_charged_requests(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    for rule in [ChargeRule::Answered, ChargeRule::ClientLeftLate, ChargeRule::EmptyAnswer] {
        let hold = world.hold(&key, 5).await.unwrap();
        world.end(&hold, rule).await;
    }
    let usage = world.store.account(member).await.unwrap().unwrap().usage;
    assert_eq!((usage.day.requests, usage.day.charged), (2, Micros::new(10)));
    assert_eq!((usage.month.requests, usage.month.charged), (2, Micros::new(10)));
    assert_eq!(usage.at(Time::from_micros(0)).day.requests, 0);
}

pub(crate) async fn free_requests_are_held_and_leave_no_posting(world: World) {
    let (member, key) = world.member("ann", 0, Limits::default()).await;
    let hold = world.hold(&key, 0).await.unwrap();
    let EndResult::Ended(receipt) = world.end(&hold, ChargeRule::Answered).await else { panic!() };
    assert_eq!((receipt.charged, receipt.rule), (Micros::ZERO, ChargeRule::Answered));
    assert!(world.store.statement(member, i64::MAX, 10).await.unwrap().is_empty());
    let refused = world.hold(&key, -1).await;
    assert_eq!(refused, Err(Refusal::AmountOutOfRange));
    world.check().await;
}

pub(crate) async fn leases_are_renewed_and_end(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let hold = world.hold(&key, 5).await.unwrap();
    let mut stranger = opening(&key, 6);
    stranger.request.owner = OWNER + 1;
    let lost = world.store.hold(stranger).await.unwrap().unwrap();
    assert_eq!(world.store.expire_holds().await.unwrap(), 0);
    world.pass(LEASE / 2);
    assert_eq!(world.store.renew_leases(OWNER, LEASE).await.unwrap(), 1);
    world.pass(LEASE * 3 / 4);
    assert_eq!(world.store.expire_holds().await.unwrap(), 1);
    assert_eq!(world.money(member).await, (1000, 5));
    let receipt = world.store.receipt(None, lost.id).await.unwrap().unwrap();
    assert_eq!((receipt.rule, receipt.charged), (ChargeRule::Expired, Micros::ZERO));
    assert_eq!(world.end(&lost, ChargeRule::Answered).await, EndResult::AlreadyEnded);
    assert!(matches!(world.end(&hold, ChargeRule::Answered).await, EndResult::Ended(_)));
    assert_eq!(world.money(member).await, (995, 0));
    world.check().await;
}

pub(crate) async fn a_clock_set_back_does_not_prolong_leases(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let mut stranger = opening(&key, 6);
    stranger.request.owner = OWNER + 1;
    world.store.hold(stranger).await.unwrap().unwrap();
    world.pass(-100 * LEASE);
    assert_eq!(world.store.renew_leases(OWNER, LEASE).await.unwrap(), 0);
    // Its process may live: it has a whole lease to renew it.
    assert_eq!(world.store.expire_holds().await.unwrap(), 0);
    world.pass(LEASE + SECOND);
    assert_eq!(world.store.expire_holds().await.unwrap(), 1);
    assert_eq!(world.money(member).await, (1000, 0));
    world.check().await;
}

pub(crate) async fn many_leases_end_a_thousand_at_a_time(world: World) {
    let (member, key) = world.member("ann", 5000, Limits::default()).await;
    let mut opened = tokio::task::JoinSet::new();
    for _ in 0..1100 {
        let (store, opening) = (Arc::clone(&world.store), opening(&key, 1));
        opened.spawn(async move { store.hold(opening).await.unwrap().unwrap() });
    }
    opened.join_all().await;
    world.pass(LEASE * 2);
    assert_eq!(world.store.expire_holds().await.unwrap(), 1000);
    assert_eq!(world.money(member).await, (5000, 100));
    assert_eq!(world.store.expire_holds().await.unwrap(), 100);
    assert_eq!(world.money(member).await, (5000, 0));
    world.check().await;
}

/// As the service and the command line.
pub(crate) async fn two_handles_share_one_truth(world: World) {
    let (member, key) = world.member("ann", 10, Limits::default()).await;
    let other = world.another().await;
    // What the first handle has read is changed through the second one.
    let hold = world.hold(&key, 10).await.unwrap();
    assert!(world.hold(&key, 1).await.is_err());
    let (kind, amount, reason) = (PostingKind::TopUp, Micros::new(90), "cash".to_owned());
    let transfer = Transfer { member, kind, amount, reason, reference: None };
    let by = Actor { name: "cli:b".to_owned(), request: None };
    other.post(transfer, &by).await.unwrap().unwrap();
    let second = world.hold(&key, 90).await.unwrap();
    assert!(matches!(
        other.end(closing(&hold, ChargeRule::Answered)).await.unwrap(),
        EndResult::Ended(_)
    ));
    assert_eq!(world.end(&hold, ChargeRule::Cancelled).await, EndResult::AlreadyEnded);
    assert!(matches!(world.end(&second, ChargeRule::Answered).await, EndResult::Ended(_)));
    assert_eq!(world.money(member).await, (0, 0));

    let theirs = other.create_key(&new_key(member, "late", Limits::default()), &by).await.unwrap();
    assert_eq!(world.hold(&theirs, 0).await.map(|hold| hold.lineage), Ok(theirs.lineage));

    // Both at once.
    world.top_up(member, 200).await.unwrap();
    let other = Arc::new(other);
    let mut racers = tokio::task::JoinSet::new();
    for number in 0..100 {
        let store = if number % 2 == 0 { &world.store } else { &other };
        let (store, key) = (Arc::clone(store), key.clone());
        racers.spawn(async move {
            let Ok(hold) = store.hold(opening(&key, 4)).await.unwrap() else { return 0 };
            store.end(closing(&hold, ChargeRule::Answered)).await.unwrap();
            1
        });
    }
    assert_eq!(racers.join_all().await.into_iter().sum::<i64>(), 50);
    assert_eq!(world.money(member).await, (0, 0));
    world.check().await;
}
