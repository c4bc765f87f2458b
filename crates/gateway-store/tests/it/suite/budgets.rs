//! Budgets of members and keys.

use std::sync::Arc;

use gateway_store::{KeyChange, LimitsChange, MemberChange};
use ledger::{Budget, ChargeRule, Hold, Limits, MemberId, Micros, Period, Refusal, Time};
use tokio::task::JoinSet;

use crate::test_database::{DAY, TestDatabase, actor, closing, new_hold};

fn budget(amount: i64, period: Period) -> Budget {
    Budget { amount: Micros::new(amount), period }
}

fn limited(amount: i64, period: Period) -> Limits {
    Limits { budget: Some(budget(amount, period)), ..Limits::default() }
}

async fn set(db: &TestDatabase, member: MemberId, budget: Option<Budget>) {
    db.store.change_member(member, &MemberChange::Budget(budget), &actor()).await.unwrap();
}

/// What is left of the budgets of a refused hold.
#[track_caller]
fn left(refused: Result<Hold, Refusal>) -> i64 {
    match refused {
        Err(Refusal::BudgetReached { status, .. }) => status.left().get(),
        other => panic!("not refused by a budget: {other:?}"),
    }
}

pub(crate) async fn a_key_budget_is_exact_and_resets(db: TestDatabase) {
    let db = db.at_noon().await;
    let (_, key) = db.member("ann", 1000, limited(100, Period::Day)).await;
    let first = db.hold(&key, 60).await.unwrap();
    assert_eq!(first.limits.budget.map(|status| status.left()), Some(Micros::new(40)));
    assert_eq!(left(db.hold(&key, 41).await), 40);
    let second = db.hold(&key, 40).await.unwrap();
    // A release gives the amount back, a charge does not.
    db.end(&second, ChargeRule::UpstreamFailed).await;
    db.end(&first, ChargeRule::Answered).await;
    assert_eq!(left(db.hold(&key, 41).await), 40);
    db.check().await;
    let reopened = db.another().await;
    assert_eq!(left(reopened.hold(new_hold(&key, 41)).await.unwrap()), 40);
    db.advance_clock(DAY);
    let third = db.hold(&key, 100).await.unwrap();
    db.end(&third, ChargeRule::Answered).await;
    assert_eq!(left(db.hold(&key, 1).await), 0);
    db.check().await;
}

pub(crate) async fn a_charge_counts_in_the_window_of_its_hold(db: TestDatabase) {
    let db = db.at_noon().await;
    let (member, key) = db.member("ann", 1000, limited(100, Period::Day)).await;
    set(&db, member, Some(budget(90, Period::Day))).await;
    let late = db.hold(&key, 80).await.unwrap();
    let later = db.hold(&key, 5).await.unwrap();
    db.advance_clock(DAY);
    let hold = db.hold(&key, 60).await.unwrap();
    db.end(&late, ChargeRule::Answered).await;
    db.end(&later, ChargeRule::Cancelled).await;
    db.end(&hold, ChargeRule::Answered).await;
    let refused = db.hold(&key, 31).await;
    let Err(Refusal::BudgetReached { needed, status }) = refused else { panic!("{refused:?}") };
    assert_eq!((needed.get(), status.left().get(), status.scope.as_str()), (31, 30, "member"));
    assert!(db.hold(&key, 30).await.is_ok());
    db.check().await;
}

pub(crate) async fn a_member_budget_covers_all_keys(db: TestDatabase) {
    let db = db.at_noon().await;
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let other = db.key(member, "other", limited(1000, Period::Week)).await;
    let before = db.hold(&key, 500).await.unwrap();
    set(&db, member, Some(budget(100, Period::Week))).await;
    // What began before the budget was set does not count.
    db.end(&before, ChargeRule::Answered).await;
    let hold = db.hold(&key, 70).await.unwrap();
    assert_eq!(left(db.hold(&other, 31).await), 30);
    db.end(&hold, ChargeRule::Answered).await;
    // A change of the amount keeps the count.
    set(&db, member, Some(budget(120, Period::Week))).await;
    assert_eq!(left(db.hold(&other, 51).await), 50);
    set(&db, member, Some(budget(20, Period::Week))).await;
    assert_eq!(left(db.hold(&other, 1).await), 0);
    set(&db, member, None).await;
    let hold = db.hold(&other, 400).await.unwrap();
    db.end(&hold, ChargeRule::Answered).await;
    let found = db.store.member(member).await.unwrap().unwrap();
    assert_eq!(found.budget, None);
    db.check().await;
}

pub(crate) async fn a_changed_key_budget_applies_immediately(db: TestDatabase) {
    let db = db.at_noon().await;
    let (_, key) = db.member("ann", 1000, Limits::default()).await;
    for (wanted, is_accepted) in [(Some(budget(0, Period::Day)), false), (None, true)] {
        let limits = LimitsChange { budget: Some(wanted), ..LimitsChange::default() };
        let change = KeyChange { limits, ..KeyChange::default() };
        let record = db.store.change_key(&key.id, &change, &actor()).await.unwrap();
        assert_eq!(record.limits.budget, wanted);
        assert_eq!(db.store.key(&key.id).await.unwrap(), Some(record));
        assert_eq!(db.hold(&key, 1).await.is_ok(), is_accepted);
    }
    db.check().await;
}

pub(crate) async fn a_clock_set_back_does_not_reset_a_budget(db: TestDatabase) {
    let db = db.at_noon().await;
    let (_, key) = db.member("ann", 1000, limited(100, Period::Day)).await;
    let first = db.hold(&key, 60).await.unwrap();
    db.advance_clock(-DAY);
    assert_eq!(left(db.hold(&key, 41).await), 40);
    let second = db.hold(&key, 40).await.unwrap();
    assert!(second.since > Time::default());
    db.end(&first, ChargeRule::Answered).await;
    db.end(&second, ChargeRule::Answered).await;
    db.check().await;
    db.advance_clock(DAY);
    assert_eq!(left(db.hold(&key, 1).await), 0);
}

pub(crate) async fn concurrent_requests_never_exceed_a_budget(db: TestDatabase) {
    let db = db.at_noon().await;
    let (member, key) = db.member("ann", 100_000, Limits::default()).await;
    let narrow = db.key(member, "narrow", limited(250, Period::Month)).await;
    set(&db, member, Some(budget(605, Period::Day))).await;
    let stores = [Arc::clone(&db.store), Arc::new(db.another().await)];
    let mut racers = JoinSet::new();
    for number in 0..400 {
        let key = if number % 2 == 0 { &key } else { &narrow };
        let (store, hold) = (Arc::clone(&stores[number / 2 % 2]), new_hold(key, 10));
        let rule = if number % 3 == 0 { ChargeRule::UpstreamFailed } else { ChargeRule::Answered };
        racers.spawn(async move {
            let Ok(hold) = store.hold(hold).await.unwrap() else { return (0, 0) };
            store.end(closing(&hold, rule)).await.unwrap();
            let is_charged = rule == ChargeRule::Answered;
            (i64::from(is_charged) * 10, hold.lineage.0)
        });
    }
    let results = racers.join_all().await;
    let charged: i64 = results.iter().map(|(charged, _)| charged).sum();
    let of_narrow = results.iter().filter(|(_, lineage)| *lineage == narrow.lineage.0);
    let of_narrow: i64 = of_narrow.map(|(charged, _)| charged).sum();
    assert!(of_narrow <= 250 && charged <= 605, "{of_narrow} of {charged}");
    // Nothing is lost: exactly the rest can be spent.
    let rest = 605 - charged;
    assert_eq!(left(db.hold(&key, rest + 1).await), rest);
    assert!(db.hold(&key, rest).await.is_ok());
    db.check().await;
}

pub(crate) async fn a_wrong_budget_is_found(db: TestDatabase) {
    let db = db.at_noon().await;
    let (member, key) = db.member("ann", 1000, limited(100, Period::Day)).await;
    set(&db, member, Some(budget(100, Period::Day))).await;
    let hold = db.hold(&key, 60).await.unwrap();
    db.end(&hold, ChargeRule::Answered).await;
    db.check().await;
    for table in ["members", "lineages"] {
        db.execute(&format!("UPDATE {table} SET budget_charged = budget_charged - 1"));
        let check = db.store.check_ledger().await.unwrap();
        let found: Vec<_> = check.findings.iter().map(|it| (&*it.figure, it.added_up)).collect();
        assert_eq!(found, [("budget", 60)], "{table}");
        db.execute(&format!("UPDATE {table} SET budget_charged = budget_charged + 1"));
    }
}
