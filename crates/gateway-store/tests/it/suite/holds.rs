//! Holds, charges, top-ups and leases.

use std::sync::Arc;

use gateway_store::{Actor, NewHold, StatementLine};
use ledger::{
    ChargeRule, EndResult, HoldOutcome, HouseAccount, Limits, Micros, PostingKind, Refusal, Time,
    TokenCounts, Transfer,
};

use crate::test_database::{LEASE, OWNER, SECOND, TestDatabase, actor, closing, new_hold, new_key};

pub(crate) async fn settled_holds_are_charged_and_released_ones_are_not(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let settled = db.hold(&key, 300).await.unwrap();
    let released = db.hold(&key, 200).await.unwrap();
    assert_eq!(db.money(member).await, (1000, 500));

    let EndResult::Ended(receipt) = db.end(&settled, ChargeRule::Answered).await else { panic!() };
    assert_eq!((receipt.charged, receipt.rule), (Micros::new(300), ChargeRule::Answered));
    assert_eq!(receipt.model.as_deref(), Some("a/b"));
    assert_eq!(receipt.tokens, TokenCounts { input: Some(3), output: None });
    let EndResult::Ended(refund) = db.end(&released, ChargeRule::UpstreamFailed).await else {
        panic!()
    };
    assert_eq!((refund.charged, refund.rule.outcome()), (Micros::ZERO, HoldOutcome::Released));
    assert_eq!(db.money(member).await, (700, 0));

    let store = &db.store;
    assert_eq!(store.receipt(None, settled.id).await.unwrap(), Some(receipt.clone()));
    assert_eq!(store.receipt(Some(member), settled.id).await.unwrap(), Some(receipt));
    let other = ledger::MemberId(member.0 + 1);
    assert_eq!(store.receipt(Some(other), settled.id).await.unwrap(), None);
    let lineage = store.lineage(key.lineage).await.unwrap().unwrap();
    assert_eq!((lineage.spent.get(), lineage.held.get(), lineage.running), (300, 0, 0));
    db.check().await;
}

pub(crate) async fn concurrent_ends_of_a_hold_charge_once(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let hold = db.hold(&key, 300).await.unwrap();
    let mut enders = tokio::task::JoinSet::new();
    for number in 0..100 {
        let (store, hold) = (Arc::clone(&db.store), hold.clone());
        let rule = if number % 2 == 0 { ChargeRule::Answered } else { ChargeRule::Cancelled };
        enders.spawn(async move { store.end(closing(&hold, rule)).await.unwrap() });
    }
    let ended = enders.join_all().await;
    let now: Vec<_> = ended.iter().filter(|ended| **ended != EndResult::AlreadyEnded).collect();
    let [EndResult::Ended(receipt)] = now[..] else { panic!("it ended {} times", now.len()) };
    assert_eq!(db.money(member).await, (1000 - receipt.charged.get(), 0));
    assert_eq!(db.store.receipt(None, hold.id).await.unwrap().as_ref(), Some(receipt));
    db.check().await;
}

pub(crate) async fn callers_on_other_runtimes_get_replies_and_may_disappear(db: TestDatabase) {
    const EACH: i64 = 40;
    let (member, key) = db.member("ann", 100_000, Limits::default()).await;
    let ask = |is_gone: bool| {
        let (store, key) = (Arc::clone(&db.store), key.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async move {
                let mut asking = tokio::task::JoinSet::new();
                for _ in 0..EACH {
                    let (store, hold) = (Arc::clone(&store), new_hold(&key, 10));
                    asking.spawn(async move {
                        let hold = store.hold(hold).await.unwrap().unwrap();
                        store.end(closing(&hold, ChargeRule::Answered)).await.unwrap()
                    });
                }
                if is_gone {
                    // All operations are submitted; the replies are dropped.
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
    // Earlier operations are complete when this one is.
    db.hold(&key, 1).await.unwrap();
    let (balance, held) = db.money(member).await;
    // A caller that disappears may have ended some of its holds already.
    let charged_to_gone = 100_000 - 3 * EACH * 10 - balance;
    assert_eq!(charged_to_gone % 10, 0);
    assert!((0..=EACH * 10).contains(&charged_to_gone), "{charged_to_gone}");
    assert!((1..=1 + EACH * 10 - charged_to_gone).contains(&held), "{held}, {charged_to_gone}");
    db.check().await;
}

pub(crate) async fn a_hold_is_ended_only_for_its_member(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let (stranger, _) = db.member("bob", 1000, Limits::default()).await;
    let hold = db.hold(&key, 300).await.unwrap();
    let mut theirs = hold.clone();
    theirs.member = stranger;
    assert_eq!(db.end(&theirs, ChargeRule::Answered).await, EndResult::AlreadyEnded);
    assert_eq!(db.money(member).await, (1000, 300));
    assert_eq!(db.money(stranger).await, (1000, 0));
}

pub(crate) async fn concurrent_holds_never_exceed_the_balance(db: TestDatabase) {
    let (member, key) = db.member("ann", 137 * 7 + 6, Limits::default()).await;
    let mut racers = tokio::task::JoinSet::new();
    for _ in 0..1000 {
        let (store, key) = (Arc::clone(&db.store), key.clone());
        racers.spawn(async move {
            let result = store.hold(new_hold(&key, 7)).await.unwrap();
            let balance = store.account(key.member).await.unwrap().unwrap();
            assert!(!balance.balance.is_negative() && balance.held <= balance.balance);
            match result {
                Ok(hold) => {
                    store.end(closing(&hold, ChargeRule::Answered)).await.unwrap();
                    true
                }
                Err(Refusal::InsufficientBalance { needed, available, .. }) => {
                    assert!(needed == Micros::new(7) && available < needed);
                    false
                }
                Err(other) => panic!("{other}"),
            }
        });
    }
    let held = racers.join_all().await.into_iter().filter(|held| *held).count();
    assert_eq!((held, db.money(member).await), (137, (6, 0)));
    db.check().await;
}

pub(crate) async fn concurrent_members_do_not_affect_each_other(db: TestDatabase) {
    let mut racers = tokio::task::JoinSet::new();
    for number in 0..20 {
        let (member, key) = db.member(&format!("m{number}"), 100, Limits::default()).await;
        for _ in 0..10 {
            let (store, key) = (Arc::clone(&db.store), key.clone());
            racers.spawn(async move {
                let hold = store.hold(new_hold(&key, 5 + number % 3)).await.unwrap().unwrap();
                store.end(closing(&hold, ChargeRule::Answered)).await.unwrap();
                (member, hold.amount)
            });
        }
    }
    let charged = racers.join_all().await;
    for (member, amount) in charged {
        assert_eq!(db.money(member).await, (100 - 10 * amount.get(), 0));
    }
    db.check().await;
}

pub(crate) async fn transfers_are_posted_and_audited(db: TestDatabase) {
    let (member, _) = db.member("ann", 0, Limits::default()).await;
    let posting = db.top_up(member, 500).await.unwrap();
    assert_eq!((posting.house, posting.balance), (HouseAccount::Funding, Micros::new(500)));
    let posting = db.move_money(member, PostingKind::Adjustment, -120).await.unwrap();
    assert_eq!((posting.house, posting.balance), (HouseAccount::Adjustments, Micros::new(380)));
    assert_eq!(db.money(member).await, (380, 0));
    for (kind, amount) in
        [(PostingKind::TopUp, -1), (PostingKind::TopUp, 0), (PostingKind::Charge, 5)]
    {
        let refused = db.move_money(member, kind, amount).await;
        assert_eq!(refused, Err(Refusal::AmountOutOfRange));
    }
    let entries = db.store.audit(i64::MAX, 2).await.unwrap();
    let actions: Vec<_> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["ledger.adjustment", "ledger.top_up"]);
    assert_eq!(entries[0].actor, actor());
    assert_eq!(entries[0].subject, format!("mem_{}", member.0));
    assert!(entries[0].detail.contains("because") && entries[0].detail.contains("-120"));
    db.check().await;
}

pub(crate) async fn adjustments_cannot_take_held_money(db: TestDatabase) {
    let (member, key) = db.member("ann", 100, Limits::default()).await;
    db.hold(&key, 60).await.unwrap();
    let refused = db.move_money(member, PostingKind::Adjustment, -41).await;
    let (needed, available) = (Micros::new(41), Micros::new(40));
    let account = ledger::AccountKind::Member;
    assert_eq!(refused, Err(Refusal::InsufficientBalance { needed, available, account }));
    db.move_money(member, PostingKind::Adjustment, -40).await.unwrap();
    assert_eq!(db.money(member).await, (60, 60));
    db.check().await;
}

pub(crate) async fn statements_are_paged(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let (other, _) = db.member("bob", 1000, Limits::default()).await;
    let mut holds = Vec::new();
    for amount in 1..=6 {
        let hold = db.hold(&key, amount).await.unwrap();
        db.end(&hold, ChargeRule::Answered).await;
        holds.push(hold.id);
    }
    let mut lines: Vec<StatementLine> = Vec::new();
    loop {
        let before = lines.last().map_or(i64::MAX, |line| line.id);
        let page = db.store.statement(member, before, 3).await.unwrap();
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
    assert_eq!(db.store.statement(other, i64::MAX, 10).await.unwrap().len(), 1);
    // A page may start at any id, also of another member.
    let others = db.store.statement(other, i64::MAX, 10).await.unwrap()[0].id;
    let page = db.store.statement(member, others, 10).await.unwrap();
    assert_eq!(page, lines[6..]);
    assert!(db.store.statement(member, lines[6].id, 10).await.unwrap().is_empty());
    db.check().await;
}

pub(crate) async fn usage_counts_charged_requests(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    for rule in [ChargeRule::Answered, ChargeRule::ClientLeftLate, ChargeRule::EmptyAnswer] {
        let hold = db.hold(&key, 5).await.unwrap();
        db.end(&hold, rule).await;
    }
    let usage = db.store.account(member).await.unwrap().unwrap().usage;
    assert_eq!((usage.day.requests, usage.day.charged), (2, Micros::new(10)));
    assert_eq!((usage.month.requests, usage.month.charged), (2, Micros::new(10)));
    assert_eq!(usage.at(Time::from_micros(0)).day.requests, 0);
}

pub(crate) async fn holds_of_zero_leave_no_posting(db: TestDatabase) {
    let (member, key) = db.member("ann", 0, Limits::default()).await;
    let hold = db.hold(&key, 0).await.unwrap();
    let EndResult::Ended(receipt) = db.end(&hold, ChargeRule::Answered).await else { panic!() };
    assert_eq!((receipt.charged, receipt.rule), (Micros::ZERO, ChargeRule::Answered));
    assert!(db.store.statement(member, i64::MAX, 10).await.unwrap().is_empty());
    let refused = db.hold(&key, -1).await;
    assert_eq!(refused, Err(Refusal::AmountOutOfRange));
    db.check().await;
}

pub(crate) async fn renewed_leases_expire_later(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let hold = db.hold(&key, 5).await.unwrap();
    let mut stranger = new_hold(&key, 6);
    stranger.request.owner = OWNER + 1;
    let lost = db.store.hold(stranger).await.unwrap().unwrap();
    assert_eq!(db.store.expire_holds().await.unwrap(), 0);
    db.advance_clock(LEASE / 2);
    assert_eq!(db.store.renew_leases(OWNER, LEASE).await.unwrap(), 1);
    db.advance_clock(LEASE * 3 / 4);
    assert_eq!(db.store.expire_holds().await.unwrap(), 1);
    assert_eq!(db.money(member).await, (1000, 5));
    let receipt = db.store.receipt(None, lost.id).await.unwrap().unwrap();
    assert_eq!((receipt.rule, receipt.charged), (ChargeRule::Expired, Micros::ZERO));
    assert_eq!(db.end(&lost, ChargeRule::Answered).await, EndResult::AlreadyEnded);
    assert!(matches!(db.end(&hold, ChargeRule::Answered).await, EndResult::Ended(_)));
    assert_eq!(db.money(member).await, (995, 0));
    db.check().await;
}

pub(crate) async fn a_clock_set_back_does_not_prolong_leases(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let mut stranger = new_hold(&key, 6);
    stranger.request.owner = OWNER + 1;
    db.store.hold(stranger).await.unwrap().unwrap();
    db.advance_clock(-100 * LEASE);
    assert_eq!(db.store.renew_leases(OWNER, LEASE).await.unwrap(), 0);
    // The lease lasts long enough for a live process to renew it.
    assert_eq!(db.store.expire_holds().await.unwrap(), 0);
    db.advance_clock(LEASE + SECOND);
    assert_eq!(db.store.expire_holds().await.unwrap(), 1);
    assert_eq!(db.money(member).await, (1000, 0));
    db.check().await;
}

pub(crate) async fn at_most_a_thousand_leases_expire_at_once(db: TestDatabase) {
    let (member, key) = db.member("ann", 5000, Limits::default()).await;
    let mut opened = tokio::task::JoinSet::new();
    for _ in 0..1100 {
        let (store, hold) = (Arc::clone(&db.store), new_hold(&key, 1));
        opened.spawn(async move { store.hold(hold).await.unwrap().unwrap() });
    }
    opened.join_all().await;
    db.advance_clock(LEASE * 2);
    assert_eq!(db.store.expire_holds().await.unwrap(), 1000);
    assert_eq!(db.money(member).await, (5000, 100));
    assert_eq!(db.store.expire_holds().await.unwrap(), 100);
    assert_eq!(db.money(member).await, (5000, 0));
    db.check().await;
}

/// Like the service and the command line.
pub(crate) async fn two_handles_see_each_others_changes(db: TestDatabase) {
    let (member, key) = db.member("ann", 10, Limits::default()).await;
    let other = db.another().await;
    // Rows that the first handle has cached are changed through the second.
    let hold = db.hold(&key, 10).await.unwrap();
    assert!(db.hold(&key, 1).await.is_err());
    let (kind, amount, reason) = (PostingKind::TopUp, Micros::new(90), "cash".to_owned());
    let transfer = Transfer { member, kind, amount, reason, reference: None };
    let by = Actor { name: "cli:b".to_owned(), request: None };
    other.post(transfer, &by).await.unwrap().unwrap();
    let second = db.hold(&key, 90).await.unwrap();
    assert!(matches!(
        other.end(closing(&hold, ChargeRule::Answered)).await.unwrap(),
        EndResult::Ended(_)
    ));
    assert_eq!(db.end(&hold, ChargeRule::Cancelled).await, EndResult::AlreadyEnded);
    assert!(matches!(db.end(&second, ChargeRule::Answered).await, EndResult::Ended(_)));
    assert_eq!(db.money(member).await, (0, 0));

    let theirs = other.create_key(&new_key(member, "late", Limits::default()), &by).await.unwrap();
    assert_eq!(db.hold(&theirs, 0).await.map(|hold| hold.lineage), Ok(theirs.lineage));

    // Concurrent holds through both handles.
    db.top_up(member, 200).await.unwrap();
    let other = Arc::new(other);
    let mut racers = tokio::task::JoinSet::new();
    for number in 0..100 {
        let store = if number % 2 == 0 { &db.store } else { &other };
        let (store, key) = (Arc::clone(store), key.clone());
        racers.spawn(async move {
            let Ok(hold) = store.hold(new_hold(&key, 4)).await.unwrap() else { return 0 };
            store.end(closing(&hold, ChargeRule::Answered)).await.unwrap();
            1
        });
    }
    assert_eq!(racers.join_all().await.into_iter().sum::<i64>(), 50);
    assert_eq!(db.money(member).await, (0, 0));
    db.check().await;
}

pub(crate) async fn sub_requests_and_their_parent_find_each_other(db: TestDatabase) {
    let (_, key) = db.member("ann", 1000, Limits::default()).await;
    let parent = db.hold(&key, 300).await.unwrap();
    let of_parent = |amount| {
        let parent = Some(parent.id);
        db.store.hold(NewHold { parent, ..new_hold(&key, amount) })
    };
    let first = of_parent(20).await.unwrap().unwrap();
    let second = of_parent(30).await.unwrap().unwrap();
    of_parent(5000).await.unwrap().unwrap_err();
    db.end(&first, ChargeRule::Answered).await;
    let related = db.store.related_receipts(parent.id).await.unwrap();
    assert_eq!(related.children.len(), 1, "a live hold has no receipt");
    db.end(&second, ChargeRule::UpstreamFailed).await;
    db.end(&parent, ChargeRule::Answered).await;
    let related = db.store.related_receipts(parent.id).await.unwrap();
    let children: Vec<_> =
        related.children.iter().map(|child| (child.id, child.charged.get())).collect();
    assert_eq!((related.parent, children), (None, vec![(first.id, 20), (second.id, 0)]));
    for child in [first.id, second.id] {
        let related = db.store.related_receipts(child).await.unwrap();
        assert_eq!((related.parent, related.children), (Some(parent.id), Vec::new()));
    }
    db.check().await;
}
