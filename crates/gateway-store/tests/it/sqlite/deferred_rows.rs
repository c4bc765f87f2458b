//! Rows that are written later are invisible to callers and to other processes.

use std::time::Duration;

use futures_util::future::{join, join_all};
use gateway_store::{Error, Key, MemberChange, NewHold};
use ledger::{Budget, ChargeRule, EndResult, Hold, Limits, MemberId, Micros, Period};
use rusqlite::Connection;

use crate::test_database::{LEASE, TestDatabase, actor, closing, new_hold, with_key};

/// The number of postings that the rows in the file do not include.
pub(super) fn unapplied(db: &TestDatabase) -> i64 {
    let sql = "SELECT coalesce(max(id), 0) - (SELECT posting FROM followed) FROM postings";
    number(db, sql)
}

fn number(db: &TestDatabase, sql: &str) -> i64 {
    let file = Connection::open(db.path("gateway.db")).unwrap();
    file.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// The balance in the file.
fn stored_balance(db: &TestDatabase) -> i64 {
    number(db, "SELECT balance FROM members WHERE name = 'ann'")
}

/// Runs futures so that most of them share one transaction.
async fn together<T>(
    db: &TestDatabase,
    work: impl IntoIterator<Item = impl Future<Output = T>>,
) -> Vec<T> {
    let locker = Connection::open(db.path("gateway.db")).unwrap();
    locker.execute_batch("BEGIN IMMEDIATE").unwrap();
    // Polled after the futures, when all of them wait.
    let unlock = async { locker.execute_batch("ROLLBACK").unwrap() };
    join(join_all(work), unlock).await.0
}

async fn end_together(db: &TestDatabase, holds: &[Hold]) {
    together(db, holds.iter().map(|hold| db.end(hold, ChargeRule::Answered))).await;
}

/// Opens holds, most of them in one transaction.
async fn hold_together(db: &TestDatabase, new_holds: Vec<NewHold>) -> Vec<Hold> {
    let held = together(db, new_holds.into_iter().map(|hold| db.store.hold(hold))).await;
    held.into_iter().map(|held| held.unwrap().unwrap()).collect()
}

fn stored_holds(db: &TestDatabase) -> i64 {
    number(db, "SELECT count(*) FROM holds")
}

/// A member with a thousand, who was charged twenty times three, mostly in one transaction.
async fn charged() -> (TestDatabase, MemberId, Key) {
    let db = TestDatabase::sqlite().await;
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let mut holds = Vec::new();
    for _ in 0..20 {
        holds.push(db.hold(&key, 3).await.unwrap());
    }
    assert_eq!(unapplied(&db), 0, "a single operation writes all rows");
    end_together(&db, &holds).await;
    assert!(unapplied(&db) > 10, "{}", unapplied(&db));
    assert!(stored_balance(&db) > 940);
    (db, member, key)
}

#[tokio::test]
async fn deferred_rows_are_invisible_to_callers() {
    let (db, member, key) = charged().await;
    assert_eq!(db.money(member).await, (940, 0));
    let lineage = db.store.lineage(key.lineage).await.unwrap().unwrap();
    assert_eq!((lineage.spent, lineage.running), (Micros::new(60), 0));
    assert!(unapplied(&db) > 10, "a read writes nothing");
    db.check().await;

    let lines = db.store.statement(member, i64::MAX, 100).await.unwrap();
    let balances: Vec<i64> = lines.iter().map(|line| line.posting.balance.get()).collect();
    let expected: Vec<i64> = (0..=20).map(|count| 940 + 3 * count).collect();
    assert_eq!(balances, expected);
    assert_eq!((unapplied(&db), stored_balance(&db)), (0, 940), "a statement needs them written");
    let account = db.store.account(member).await.unwrap().unwrap();
    assert_eq!((account.usage.day.requests, account.usage.month.charged.get()), (20, 60));
    db.check().await;
}

#[tokio::test]
async fn deferred_usage_is_invisible_to_callers_and_survives_a_crash() {
    let stored = |db: &TestDatabase| number(db, "SELECT coalesce(sum(requests), 0) FROM usage");
    let today = gateway_store::Clock::system().now().day();
    let query = gateway_store::UsageQuery {
        member: None,
        team: None,
        from_day: today - 1,
        to_day: today + 1,
        by: Vec::new(),
        limit: 1,
    };
    let (db, ..) = charged().await;
    assert!(stored(&db) < 20, "{}", stored(&db));
    db.check().await;
    assert_eq!(db.store.usage(&query).await.unwrap()[0].counts.requests, 20);
    assert_eq!(stored(&db), 20);
    db.check().await;

    let (db, ..) = charged().await;
    assert!(stored(&db) < 20, "{}", stored(&db));
    // The other handle knows nothing of what the first one defers.
    let other = db.another().await;
    assert_eq!(other.usage(&query).await.unwrap()[0].counts.requests, 20);
    assert_eq!(db.store.usage(&query).await.unwrap()[0].counts.requests, 20);
    assert_eq!(stored(&db), 20);
    db.check().await;
    other.close().await;
}

#[tokio::test]
async fn deferred_rows_are_written_when_the_load_ends() {
    let (db, _, key) = charged().await;
    let (before, mut count) = (unapplied(&db), 0);
    while unapplied(&db) > 0 {
        assert!(unapplied(&db) >= before, "one after the other does not write them all each time");
        let hold = db.hold(&key, 1).await.unwrap();
        db.end(&hold, ChargeRule::Answered).await;
        count += 1;
    }
    assert!((2..=16).contains(&count), "{count}");
    assert_eq!(stored_balance(&db), 940 - count);
    db.check().await;
}

#[tokio::test]
async fn another_process_applies_unapplied_postings() {
    let (db, member, key) = charged().await;
    let other = db.another().await;
    let account = other.account(member).await.unwrap().unwrap();
    assert_eq!((account.balance.get(), account.usage.day.requests), (940, 20));
    let lineage = other.lineage(key.lineage).await.unwrap().unwrap();
    assert_eq!(lineage.spent, Micros::new(60));
    assert_eq!((unapplied(&db), stored_balance(&db)), (0, 940));
    assert_eq!(other.statement(member, i64::MAX, 100).await.unwrap().len(), 21);

    // Again, but the other process writes without a read before.
    let mut holds = Vec::new();
    for _ in 0..20 {
        holds.push(db.hold(&key, 2).await.unwrap());
    }
    end_together(&db, &holds).await;
    assert!(unapplied(&db) > 10);
    let (reason, amount) = ("because".to_owned(), Micros::new(500));
    let kind = ledger::PostingKind::TopUp;
    let transfer = ledger::Transfer { member, kind, amount, reason, reference: None };
    other.post(transfer, &actor()).await.unwrap().unwrap();
    assert_eq!(db.money(member).await, (1400, 0));
    db.check().await;

    // The cache was cleared: exactly the remaining balance can be held.
    let all: Vec<_> = (0..15).map(|_| db.store.hold(new_hold(&key, 100))).collect();
    let held = join_all(all).await.into_iter().filter(|held| held.as_ref().unwrap().is_ok());
    assert_eq!(held.count(), 14);
    assert_eq!(db.money(member).await, (1400, 1400));
    db.store.close().await;
    assert_eq!(other.account(member).await.unwrap().unwrap().held.get(), 1400);
    assert_eq!(other.check_ledger().await.unwrap().findings, []);
}

#[tokio::test]
async fn another_process_applies_unapplied_postings_of_a_team() {
    let db = TestDatabase::sqlite().await;
    let (member, key) = db.member("ann", 50, Limits::default()).await;
    let team = db.store.create_team("crew", &actor()).await.unwrap().id;
    db.top_up(team, 1000).await.unwrap();
    let budget = |amount| Budget { amount: Micros::new(amount), period: Period::Month };
    for (id, change) in [
        (member, MemberChange::Team(Some(team))),
        (member, MemberChange::Budget(Some(budget(400)))),
        (team, MemberChange::Budget(Some(budget(700)))),
    ] {
        db.store.change_member(id, &change, &actor()).await.unwrap();
    }
    let mut holds = Vec::new();
    for _ in 0..20 {
        holds.push(db.hold(&key, 3).await.unwrap());
    }
    end_together(&db, &holds).await;
    assert!(unapplied(&db) > 10);
    db.check().await;
    let other = db.another().await;
    let windows = db.options.calendar.windows(db.options.clock.now());
    for (id, balance, used) in [(team, 940, 60), (member, 50, 60)] {
        let account = other.account(id).await.unwrap().unwrap();
        let budget = account.budget_status(&windows).unwrap();
        assert_eq!((account.balance.get(), budget.used.get()), (balance, used));
    }
    assert_eq!(unapplied(&db), 0);
    db.check().await;
}

#[tokio::test]
async fn changed_limits_apply_despite_deferred_rows() {
    let (db, member, key) = charged().await;
    let limits =
        gateway_store::LimitsChange { spend: Some(Some(Micros::new(62))), ..Default::default() };
    let change = gateway_store::KeyChange { limits, ..Default::default() };
    db.store.change_key(&key.id, &change, &actor()).await.unwrap();
    assert_eq!(
        (unapplied(&db), stored_balance(&db)),
        (0, 940),
        "a change writes the deferred rows first"
    );
    let refused = db.hold(&key, 3).await.unwrap_err();
    let available = Micros::new(2);
    assert_eq!(refused, ledger::Refusal::KeyLimitReached { needed: Micros::new(3), available });
    db.hold(&key, 2).await.unwrap();
    assert_eq!(db.money(member).await, (940, 2));
}

const MAX_UNAPPLIED: i64 = 16_384;

#[tokio::test]
async fn unapplied_postings_are_limited() {
    const ROUNDS: i64 = MAX_UNAPPLIED / 64 + 10;
    let db = TestDatabase::sqlite().await;
    let (member, key) = db.member("ann", 1_000_000, Limits::default()).await;
    let charge = async || {
        let hold = db.hold(&key, 1).await.unwrap();
        db.store.end(closing(&hold, ChargeRule::Answered)).await.unwrap();
    };
    let (mut most, mut least_after) = (0, i64::MAX);
    for _ in 0..ROUNDS {
        join_all((0..64).map(|_| charge())).await;
        let now = unapplied(&db);
        if now < most {
            least_after = least_after.min(now);
        }
        most = most.max(now);
    }
    assert!(most < MAX_UNAPPLIED + 64, "{most}");
    assert!(least_after < most, "deferred rows were never written: {most}");
    assert_eq!(db.money(member).await, (1_000_000 - ROUNDS * 64, 0));
    db.store.close().await;
    assert_eq!((unapplied(&db), stored_balance(&db)), (0, 1_000_000 - ROUNDS * 64));
}

#[tokio::test]
async fn reads_are_correct_while_writes_are_blocked() {
    let (db, member, key) = charged().await;
    let other = db.impatient(Duration::from_millis(200)).await;
    let locker = Connection::open(db.path("gateway.db")).unwrap();
    locker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let account = other.account(member).await.unwrap().unwrap();
    assert_eq!((account.balance.get(), account.usage.day.requests), (940, 20));
    let lineage = other.lineage(key.lineage).await.unwrap().unwrap();
    assert_eq!(lineage.spent, Micros::new(60));
    assert!(unapplied(&db) > 10);
    locker.execute_batch("ROLLBACK").unwrap();
    assert_eq!(other.account(member).await.unwrap().unwrap().balance.get(), 940);
    assert_eq!(unapplied(&db), 0);
}

/// A member with a thousand and twenty holds of three, opened together, of which five have ended.
async fn held() -> (TestDatabase, MemberId, Key, Vec<Hold>) {
    let db = TestDatabase::sqlite().await;
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let mut holds = hold_together(&db, (0..20).map(|_| new_hold(&key, 3)).collect()).await;
    let ended = holds.split_off(15);
    end_together(&db, &ended).await;
    assert_eq!(stored_holds(&db), 15);
    (db, member, key, holds)
}

#[tokio::test]
async fn holds_opened_together_are_visible_to_other_processes() {
    let (db, member, key, holds) = held().await;
    assert_eq!(db.money(member).await, (985, 45));
    assert_eq!(db.store.check_ledger().await.unwrap().holds, 15);
    db.check().await;
    let running = db.store.lineage(key.lineage).await.unwrap().unwrap().running;
    assert_eq!(running, 15);

    let other = db.another().await;
    let account = other.account(member).await.unwrap().unwrap();
    assert_eq!((account.balance.get(), account.held.get()), (985, 45));
    assert_eq!(stored_holds(&db), 15);
    // Ended by the other process, by this one, and by both.
    assert!(matches!(
        other.end(closing(&holds[0], ChargeRule::Answered)).await,
        Ok(EndResult::Ended(_))
    ));
    db.end(&holds[1], ChargeRule::Answered).await;
    let again = db.store.end(closing(&holds[0], ChargeRule::Answered)).await.unwrap();
    assert_eq!(again, EndResult::AlreadyEnded);
    end_together(&db, &holds[2..]).await;
    assert_eq!(db.money(member).await, (940, 0));
    db.store.close().await;
    assert_eq!(stored_holds(&db), 0);
    assert_eq!(other.check_ledger().await.unwrap().findings, []);
}

#[tokio::test]
async fn holds_are_readable_while_writes_are_blocked() {
    let (db, member, key, _) = held().await;
    let other = db.impatient(Duration::from_millis(200)).await;
    let locker = Connection::open(db.path("gateway.db")).unwrap();
    locker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let account = other.account(member).await.unwrap().unwrap();
    assert_eq!((account.balance.get(), account.held.get()), (985, 45));
    let lineage = other.lineage(key.lineage).await.unwrap().unwrap();
    assert_eq!((lineage.held.get(), lineage.running), (45, 15));
    assert!(matches!(other.hold(new_hold(&key, 1)).await, Err(Error::Unavailable(_))));
}

#[tokio::test]
async fn holds_opened_together_are_renewed_and_expire() {
    let (db, member, _, _) = held().await;
    db.advance_clock(LEASE / 2);
    assert_eq!(db.store.renew_leases(crate::test_database::OWNER, LEASE).await.unwrap(), 15);
    db.advance_clock(LEASE * 3 / 4);
    assert_eq!(db.store.expire_holds().await.unwrap(), 0);
    db.advance_clock(LEASE);
    assert_eq!(db.store.expire_holds().await.unwrap(), 15);
    assert_eq!(db.money(member).await, (985, 0));
    db.check().await;
}

#[tokio::test]
async fn holds_are_stored_unchanged() {
    let db = TestDatabase::sqlite().await;
    let (member, key) = db.member("ann", 1 << 40, Limits::default()).await;
    let models =
        [None, Some(""), Some("a/b"), Some("\"quoted\", \\ and \n ends"), Some("ünï🙂/\u{1}")];
    let new_holds = models.iter().cycle().take(20).enumerate().map(|(number, model)| {
        let mut hold = with_key(&key, 1 << 34, &format!("w'{number}"), 1);
        hold.request.model = model.map(Into::into);
        hold
    });
    let holds = hold_together(&db, new_holds.collect()).await;
    let other = db.another().await;
    assert_eq!(other.account(member).await.unwrap().unwrap().held.get(), 20 << 34);
    let file = Connection::open(db.path("gateway.db")).unwrap();
    for hold in &holds {
        let sql = "SELECT member, lineage, amount, operation, model, owner, since, lease_until, \
                   idempotency FROM holds WHERE id = ?1";
        let row = file.query_row(sql, [hold.id.to_bytes()], |row| {
            Ok((
                (row.get(0)?, row.get(1)?, row.get(2)?),
                (row.get::<_, String>(3)?, row.get::<_, Option<String>>(4)?, row.get(5)?),
                (row.get(6)?, row.get(7)?, row.get::<_, Option<String>>(8)?),
            ))
        });
        let numbers = (hold.member.0, hold.lineage.0, hold.amount.get());
        let words = (hold.operation.to_string(), hold.model.as_deref().map(str::to_owned));
        let times = (hold.since.micros(), hold.lease_until.micros(), hold.idempotency.clone());
        assert_eq!(row.unwrap(), (numbers, (words.0, words.1, hold.owner), times));
    }
    assert_eq!(stored_holds(&db), 20);
}
