//! Teams: the account that pays, budgets of team and member, joining, leaving and removal.

use std::sync::Arc;

use gateway_store::{Error, Key, Member, MemberChange, Role, UsageDimension as By, UsageQuery};
use ledger::{
    AccountKind, Budget, ChargeRule, EndResult, Hold, Limits, MemberId, Micros, Period,
    PostingKind, Refusal,
};
use tokio::task::JoinSet;

use crate::test_database::{DAY, TestDatabase, actor, closing, new_hold, with_key};

fn budget(amount: i64) -> Budget {
    Budget { amount: Micros::new(amount), period: Period::Day }
}

async fn change(db: &TestDatabase, id: MemberId, change: MemberChange) -> Result<Member, Error> {
    db.store.change_member(id, &change, &actor()).await
}

/// A team with a balance, and the members ann and bob of it, who each have 50.
async fn team(db: &TestDatabase, credit: i64) -> (MemberId, [Key; 2]) {
    let team = db.store.create_team("crew", &actor()).await.unwrap().id;
    db.top_up(team, credit).await.unwrap();
    let (ann, first) = db.member("ann", 50, Limits::default()).await;
    let (bob, second) = db.member("bob", 50, Limits::default()).await;
    for member in [ann, bob] {
        change(db, member, MemberChange::Team(Some(team))).await.unwrap();
    }
    (team, [first, second])
}

async fn answer(db: &TestDatabase, hold: &Hold) -> ledger::Receipt {
    match db.end(hold, ChargeRule::Answered).await {
        EndResult::Ended(receipt) => receipt,
        EndResult::AlreadyEnded => panic!("it had ended"),
    }
}

/// What is refused, and whose limit it is.
fn refused(result: Result<Hold, Refusal>) -> (&'static str, i64) {
    match result {
        Err(Refusal::BudgetReached { status, .. }) => (status.scope.as_str(), status.left().get()),
        Err(Refusal::InsufficientBalance { account, available, .. }) => {
            (account.as_str(), available.get())
        }
        Err(Refusal::KeyLimitReached { available, .. }) => ("key", available.get()),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn a_team_pays_for_its_members(db: TestDatabase) {
    let (team, [ann, bob]) = team(&db, 100).await;
    let first = db.hold(&ann, 30).await.unwrap();
    assert_eq!((first.member, first.payer), (ann.member, team));
    assert_eq!((db.money(team).await, db.money(ann.member).await), ((100, 30), (50, 0)));
    assert_eq!(refused(db.hold(&bob, 71).await), ("team", 70));
    let second = db.hold(&bob, 70).await.unwrap();
    let receipt = answer(&db, &first).await;
    assert_eq!((receipt.member, receipt.payer), (ann.member, team));
    assert_eq!(db.store.receipt(Some(ann.member), first.id).await.unwrap(), Some(receipt.clone()));
    assert_eq!(db.store.receipt(Some(bob.member), first.id).await.unwrap(), None);
    db.end(&second, ChargeRule::UpstreamFailed).await;
    assert_eq!((db.money(team).await, db.money(bob.member).await), ((70, 0), (50, 0)));
    let lines = db.store.statement(team, i64::MAX, 10).await.unwrap();
    let charge = (lines[0].posting.amount.get(), lines[0].asked_by);
    assert_eq!((charge, lines.len()), ((-30, Some(ann.member)), 2));
    assert_eq!(db.store.statement(ann.member, i64::MAX, 10).await.unwrap().len(), 1);
    let third = db.hold(&ann, 1).await.unwrap();
    let newest = answer(&db, &third).await;
    let paid = |before| db.store.team_receipts(ann.member, before, 10);
    assert_eq!(paid(None).await.unwrap(), [newest, receipt.clone()]);
    assert_eq!(paid(Some(third.id)).await.unwrap(), [receipt]);
    assert_eq!(paid(Some(first.id)).await.unwrap(), []);
    assert_eq!(db.store.team_receipts(bob.member, None, 10).await.unwrap().len(), 1);
    db.check().await;
}

pub(crate) async fn budgets_of_team_member_and_key_all_apply(db: TestDatabase) {
    let db = db.at_noon().await;
    let (team, [ann, bob]) = team(&db, 1000).await;
    let limits = Limits { budget: Some(budget(10)), ..Limits::default() };
    let narrow = db.key(ann.member, "narrow", limits).await;
    change(&db, team, MemberChange::Budget(Some(budget(100)))).await.unwrap();
    change(&db, ann.member, MemberChange::Budget(Some(budget(60)))).await.unwrap();
    assert_eq!(refused(db.hold(&narrow, 11).await), ("key", 10));
    let first = db.hold(&narrow, 10).await.unwrap();
    assert_eq!(refused(db.hold(&ann, 51).await), ("member", 50));
    let second = db.hold(&ann, 50).await.unwrap();
    assert_eq!(refused(db.hold(&bob, 41).await), ("team", 40));
    let third = db.hold(&bob, 40).await.unwrap();
    let tightest = third.limits.budget.unwrap();
    assert_eq!((tightest.scope.as_str(), tightest.left().get()), ("team", 0));
    db.check().await;
    for hold in [&first, &second] {
        answer(&db, hold).await;
    }
    db.end(&third, ChargeRule::Cancelled).await;
    db.check().await;
    // Every process counts the same.
    let reopened = db.another().await;
    assert_eq!(refused(reopened.hold(new_hold(&bob, 41)).await.unwrap()), ("team", 40));
    assert_eq!(refused(reopened.hold(new_hold(&ann, 1)).await.unwrap()), ("member", 0));
    // The budget of a member also covers what the member pays for.
    change(&db, ann.member, MemberChange::Team(None)).await.unwrap();
    assert_eq!(refused(db.hold(&ann, 1).await), ("member", 0));
    db.advance_clock(DAY);
    answer(&db, &db.hold(&ann, 40).await.unwrap()).await;
    answer(&db, &db.hold(&bob, 100).await.unwrap()).await;
    assert_eq!(refused(db.hold(&bob, 1).await), ("team", 0));
    db.check().await;
}

pub(crate) async fn running_holds_keep_the_account_that_pays(db: TestDatabase) {
    let (team, [ann, _]) = team(&db, 100).await;
    let other = db.store.create_team("other", &actor()).await.unwrap().id;
    let of_team = db.hold(&ann, 10).await.unwrap();
    change(&db, ann.member, MemberChange::Team(None)).await.unwrap();
    let of_member = db.hold(&ann, 20).await.unwrap();
    change(&db, ann.member, MemberChange::Team(Some(other))).await.unwrap();
    assert_eq!(refused(db.hold(&ann, 1).await), ("team", 0));
    assert_eq!((of_team.payer, of_member.payer), (team, ann.member));
    assert_eq!((db.money(team).await, db.money(ann.member).await), ((100, 10), (50, 20)));
    db.check().await;
    answer(&db, &of_team).await;
    answer(&db, &of_member).await;
    assert_eq!((db.money(team).await, db.money(ann.member).await), ((90, 0), (30, 0)));
    // A lease that is over gives the amount back to the account that it was taken from.
    db.top_up(other, 5).await.unwrap();
    let lost = db.hold(&ann, 5).await.unwrap();
    change(&db, ann.member, MemberChange::Team(Some(team))).await.unwrap();
    db.advance_clock(DAY);
    assert_eq!(db.store.expire_holds().await.unwrap(), 1);
    assert_eq!((lost.payer, db.money(other).await), (other, (5, 0)));
    db.check().await;
}

pub(crate) async fn a_blocked_team_or_member_gets_no_hold(db: TestDatabase) {
    let (team, [ann, bob]) = team(&db, 100).await;
    change(&db, ann.member, MemberChange::Block).await.unwrap();
    assert_eq!(db.hold(&ann, 1).await, Err(Refusal::Blocked));
    assert!(db.hold(&bob, 1).await.is_ok());
    change(&db, team, MemberChange::Block).await.unwrap();
    assert_eq!(db.hold(&bob, 1).await, Err(Refusal::Blocked));
    change(&db, team, MemberChange::Unblock).await.unwrap();
    assert!(db.hold(&bob, 1).await.is_ok());
}

pub(crate) async fn teams_are_created_joined_and_removed(db: TestDatabase) {
    let (team, [ann, bob]) = team(&db, 100).await;
    let store = &db.store;
    let taken = store.create_team("ann", &actor()).await;
    assert!(matches!(taken, Err(Error::Exists(_))), "{taken:?}");
    let names = |list: Vec<Member>| list.into_iter().map(|it| it.name).collect::<Vec<_>>();
    assert_eq!(names(store.teams(MemberId(0), 10).await.unwrap()), ["crew"]);
    assert_eq!(names(store.members(MemberId(0), 10).await.unwrap()), ["ann", "bob"]);
    assert_eq!(names(store.team_members(team, MemberId(0), 10).await.unwrap()), ["ann", "bob"]);
    assert_eq!(names(store.team_members(team, ann.member, 10).await.unwrap()), ["bob"]);
    let found = store.member_by_name("crew").await.unwrap().unwrap();
    assert_eq!((found.id, found.kind), (team, AccountKind::Team));

    // A team has no keys, no role and no team; a member is no team.
    let missing = |result: Result<Member, Error>| matches!(result, Err(Error::Missing(_)));
    let key = crate::test_database::new_key(team, "kteam", Limits::default());
    assert!(matches!(store.create_key(&key, &actor()).await, Err(Error::Missing("member"))));
    assert!(missing(change(&db, team, MemberChange::Role(Role::Operator)).await));
    assert!(missing(change(&db, team, MemberChange::Team(Some(team))).await));
    assert!(missing(change(&db, bob.member, MemberChange::Team(Some(ann.member))).await));
    assert!(missing(change(&db, bob.member, MemberChange::Team(Some(MemberId(404)))).await));
    assert!(missing(change(&db, bob.member, MemberChange::Remove).await));

    // A manager manages only the team in which it became one.
    let manager = change(&db, ann.member, MemberChange::Role(Role::Manager)).await.unwrap();
    assert_eq!((manager.role, manager.team), (Role::Manager, Some(team)));
    let record = store.key(&ann.id).await.unwrap().unwrap();
    assert_eq!((record.role, record.team), (Role::Manager, Some(team)));
    let left = change(&db, ann.member, MemberChange::Team(None)).await.unwrap();
    assert_eq!((left.role, left.team), (Role::Member, None));
    let lonely = change(&db, ann.member, MemberChange::Role(Role::Manager)).await;
    assert!(matches!(lonely, Err(Error::Conflict(_))), "{lonely:?}");

    // Removal waits for members, running requests and money.
    let conflict = |result: Result<Member, Error>| match result {
        Err(Error::Conflict(message)) => message,
        other => panic!("{other:?}"),
    };
    assert!(conflict(change(&db, team, MemberChange::Remove).await).contains("members"));
    let hold = db.hold(&bob, 10).await.unwrap();
    change(&db, bob.member, MemberChange::Team(None)).await.unwrap();
    assert!(conflict(change(&db, team, MemberChange::Remove).await).contains("still run"));
    answer(&db, &hold).await;
    assert!(conflict(change(&db, team, MemberChange::Remove).await).contains("balance"));
    db.move_money(team, PostingKind::Adjustment, -90).await.unwrap();
    let removed = change(&db, team, MemberChange::Remove).await.unwrap();
    assert_eq!(removed.kind, AccountKind::RemovedTeam);
    assert!(missing(change(&db, bob.member, MemberChange::Team(Some(team))).await));
    assert!(missing(change(&db, team, MemberChange::Unblock).await));
    assert_eq!(db.top_up(team, 1).await, Err(Refusal::UnknownMember));
    assert_eq!(names(store.teams(MemberId(0), 10).await.unwrap()), [""; 0]);
    // Its name is free, its statement remains.
    assert!(store.create_team("crew", &actor()).await.is_ok());
    assert_eq!(store.statement(team, i64::MAX, 10).await.unwrap().len(), 3);
    let log = store.audit(i64::MAX, 100).await.unwrap();
    let actions: Vec<&str> = log.iter().map(|entry| entry.action.as_str()).collect();
    for action in ["team.create", "member.team", "member.role", "team.remove"] {
        assert!(actions.contains(&action), "{action}");
    }
    db.check().await;
}

pub(crate) async fn usage_is_counted_for_the_team_that_paid(db: TestDatabase) {
    let (team, [ann, bob]) = team(&db, 1000).await;
    for (key, price) in [(&ann, 10), (&bob, 5)] {
        answer(&db, &db.hold(key, price).await.unwrap()).await;
    }
    change(&db, ann.member, MemberChange::Team(None)).await.unwrap();
    answer(&db, &db.hold(&ann, 3).await.unwrap()).await;
    let day = gateway_store::Clock::system().now().day();
    let all = UsageQuery {
        member: None,
        team: None,
        from_day: day - 1,
        to_day: day + 1,
        by: vec![By::Team],
        limit: 10,
    };
    let summed = async |query: UsageQuery| {
        let lines = db.store.usage(&query).await.unwrap();
        let line = |line: gateway_store::UsageLine| {
            (line.team.or(line.member).map(|id| id.0), line.counts.charged.get())
        };
        lines.into_iter().map(line).collect::<Vec<_>>()
    };
    let expected = [(Some(team.0), 15), (Some(0), 3)];
    assert_eq!(summed(all.clone()).await, expected);
    let of_team = UsageQuery { team: Some(team), by: vec![By::Member], ..all.clone() };
    let members = [(Some(ann.member.0), 10), (Some(bob.member.0), 5)];
    assert_eq!(summed(of_team.clone()).await, members);
    assert_eq!(summed(UsageQuery { by: Vec::new(), ..of_team.clone() }).await, [(None, 15)]);
    let of_ann = UsageQuery { member: Some(ann.member), ..of_team };
    assert_eq!(summed(of_ann.clone()).await, [(Some(ann.member.0), 10)]);
    assert_eq!(summed(UsageQuery { team: None, ..of_ann }).await, [(Some(ann.member.0), 13)]);
    db.check().await;
    db.execute("UPDATE usage SET team = 9 WHERE team <> 0");
    assert!(db.store.check_ledger().await.unwrap().wrong > 0);
    db.store.rebuild_usage().await.unwrap();
    assert_eq!(summed(all).await, expected);
    db.check().await;
}

pub(crate) async fn a_wrong_payer_is_found(db: TestDatabase) {
    let (team, [ann, bob]) = team(&db, 100).await;
    change(&db, team, MemberChange::Budget(Some(budget(90)))).await.unwrap();
    answer(&db, &db.hold(&ann, 10).await.unwrap()).await;
    // More than Bob's own balance covers.
    let live = db.hold(&bob, 60).await.unwrap();
    db.check().await;
    for (table, right) in [("receipts", team.0), ("holds", team.0)] {
        db.execute(&format!("UPDATE {table} SET payer = {}", bob.member.0));
        let check = db.store.check_ledger().await.unwrap();
        assert!(check.wrong > 0, "{table}");
        db.execute(&format!("UPDATE {table} SET payer = {right}"));
    }
    answer(&db, &live).await;
    db.check().await;
}

pub(crate) async fn concurrent_members_never_exceed_a_team(db: TestDatabase) {
    let db = db.at_noon().await;
    let (team, [ann, bob]) = team(&db, 655).await;
    change(&db, team, MemberChange::Budget(Some(budget(605)))).await.unwrap();
    change(&db, bob.member, MemberChange::Budget(Some(budget(250)))).await.unwrap();
    let stores = [Arc::clone(&db.store), Arc::new(db.another().await)];
    let mut racers = JoinSet::new();
    for number in 0..400 {
        let key = if number % 2 == 0 { &ann } else { &bob };
        let (store, hold) = (Arc::clone(&stores[number / 2 % 2]), new_hold(key, 10));
        let rule = if number % 3 == 0 { ChargeRule::UpstreamFailed } else { ChargeRule::Answered };
        racers.spawn(async move {
            let Ok(hold) = store.hold(hold).await.unwrap() else { return (0, MemberId(0)) };
            store.end(closing(&hold, rule)).await.unwrap();
            (i64::from(rule == ChargeRule::Answered) * 10, hold.member)
        });
    }
    let results = racers.join_all().await;
    let charged: i64 = results.iter().map(|(charged, _)| charged).sum();
    let of_bob = results.iter().filter(|(_, member)| *member == bob.member);
    let of_bob: i64 = of_bob.map(|(charged, _)| charged).sum();
    assert!(of_bob <= 250 && charged <= 605, "{of_bob} of {charged}");
    assert_eq!(db.money(team).await, (655 - charged, 0));
    assert_eq!((db.money(ann.member).await, db.money(bob.member).await), ((50, 0), (50, 0)));
    // Nothing is lost: exactly the rest can be spent.
    let rest = 605 - charged;
    assert_eq!(refused(db.hold(&ann, rest + 1).await), ("team", rest));
    assert!(db.hold(&ann, rest).await.is_ok());
    db.check().await;
}

pub(crate) async fn members_may_move_while_requests_run(db: TestDatabase) {
    let (team, [ann, bob]) = team(&db, 10_000).await;
    db.top_up(ann.member, 9_950).await.unwrap();
    let stores = [Arc::clone(&db.store), Arc::new(db.another().await)];
    let mut racers = JoinSet::new();
    for number in 0..300_usize {
        let (store, key) = (Arc::clone(&stores[number % 2]), ann.clone());
        if number % 10 == 0 {
            let to = (number % 20 == 0).then_some(team);
            racers.spawn(async move {
                let change = MemberChange::Team(to);
                store.change_member(key.member, &change, &actor()).await.unwrap();
                (MemberId(0), 0)
            });
            continue;
        }
        // Some requests repeat an idempotency key. They are charged once, to the member or the team.
        let word = format!("{}", number / 4);
        racers.spawn(async move {
            let Ok(hold) = store.hold(with_key(&key, 10, &word, 1)).await.unwrap() else {
                return (MemberId(0), 0);
            };
            let mut closing = closing(&hold, ChargeRule::Answered);
            closing.end.answered = true;
            store.end(closing).await.unwrap();
            (hold.payer, 10)
        });
    }
    let results = racers.join_all().await;
    let paid = |id| results.iter().filter(|(payer, _)| *payer == id).map(|it| it.1).sum::<i64>();
    assert_eq!(db.money(team).await, (10_000 - paid(team), 0));
    assert_eq!(db.money(ann.member).await, (10_000 - paid(ann.member), 0));
    assert_eq!(db.money(bob.member).await, (50, 0));
    assert_eq!(paid(team) + paid(ann.member), 750);
    db.check().await;
}
