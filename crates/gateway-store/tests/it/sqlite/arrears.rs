//! Rows that are written later: nobody who asks can tell, whoever asks and whoever writes meanwhile.

use std::time::Duration;

use futures_util::future::{join, join_all};
use gateway_store::{Error, Key, NewHold};
use ledger::{ChargeRule, EndResult, Hold, Limits, MemberId, Micros};
use rusqlite::Connection;

use crate::world::{LEASE, World, actor, closing, opening, repeated};

/// How many postings the rows in the file do not tell of.
pub(super) fn behind(world: &World) -> i64 {
    let sql = "SELECT coalesce(max(id), 0) - (SELECT posting FROM followed) FROM postings";
    number(world, sql)
}

fn number(world: &World, sql: &str) -> i64 {
    let file = Connection::open(world.path("gateway.db")).unwrap();
    file.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// The balance as it stands in the file.
fn written(world: &World) -> i64 {
    number(world, "SELECT balance FROM members WHERE name = 'ann'")
}

/// Does all of it so that most is one transaction.
async fn together<T>(
    world: &World,
    work: impl IntoIterator<Item = impl Future<Output = T>>,
) -> Vec<T> {
    let locker = Connection::open(world.path("gateway.db")).unwrap();
    locker.execute_batch("BEGIN IMMEDIATE").unwrap();
    // Polled after the work: by then all of it waits.
    let unlock = async { locker.execute_batch("ROLLBACK").unwrap() };
    join(join_all(work), unlock).await.0
}

async fn end_together(world: &World, holds: &[Hold]) {
    together(world, holds.iter().map(|hold| world.end(hold, ChargeRule::Answered))).await;
}

/// Holds of one transaction, most of them.
async fn hold_together(world: &World, openings: Vec<NewHold>) -> Vec<Hold> {
    let held = together(world, openings.into_iter().map(|opening| world.store.hold(opening))).await;
    held.into_iter().map(|held| held.unwrap().unwrap()).collect()
}

/// How many holds have a row, and how many transactions have holds without one.
fn rows_of_holds(world: &World) -> (i64, i64) {
    (number(world, "SELECT count(*) FROM holds"), number(world, "SELECT count(*) FROM opened"))
}

/// A member who was charged twenty times three of a thousand, most of it at once.
async fn charged() -> (World, MemberId, Key) {
    let world = World::sqlite().await;
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let mut holds = Vec::new();
    for _ in 0..20 {
        holds.push(world.hold(&key, 3).await.unwrap());
    }
    assert_eq!(behind(&world), 0, "whoever is alone writes everything");
    end_together(&world, &holds).await;
    assert!(behind(&world) > 10, "{}", behind(&world));
    assert!(written(&world) > 940);
    (world, member, key)
}

#[tokio::test]
async fn rows_that_are_behind_are_seen_by_nobody_who_asks() {
    let (world, member, key) = charged().await;
    assert_eq!(world.money(member).await, (940, 0));
    let lineage = world.store.lineage(key.lineage).await.unwrap().unwrap();
    assert_eq!((lineage.spent, lineage.running), (Micros::new(60), 0));
    assert!(behind(&world) > 10, "to look writes nothing");
    world.check().await;

    let lines = world.store.statement(member, i64::MAX, 100).await.unwrap();
    let balances: Vec<i64> = lines.iter().map(|line| line.posting.balance.get()).collect();
    let expected: Vec<i64> = (0..=20).map(|count| 940 + 3 * count).collect();
    assert_eq!(balances, expected);
    assert_eq!((behind(&world), written(&world)), (0, 940), "a statement needs them written");
    let account = world.store.account(member).await.unwrap().unwrap();
    assert_eq!((account.usage.day.requests, account.usage.month.charged.get()), (20, 60));
    world.check().await;
}

#[tokio::test]
async fn rows_are_written_when_it_is_quiet_again() {
    let (world, _, key) = charged().await;
    let (before, mut count) = (behind(&world), 0);
    while behind(&world) > 0 {
        assert!(behind(&world) >= before, "one after the other does not write them all each time");
        let hold = world.hold(&key, 1).await.unwrap();
        world.end(&hold, ChargeRule::Answered).await;
        count += 1;
    }
    assert!((2..=16).contains(&count), "{count}");
    assert_eq!(written(&world), 940 - count);
    world.check().await;
}

#[tokio::test]
async fn another_process_sees_and_writes_what_it_should() {
    let (world, member, key) = charged().await;
    let other = world.another().await;
    let account = other.account(member).await.unwrap().unwrap();
    assert_eq!((account.balance.get(), account.usage.day.requests), (940, 20));
    let lineage = other.lineage(key.lineage).await.unwrap().unwrap();
    assert_eq!(lineage.spent, Micros::new(60));
    assert_eq!((behind(&world), written(&world)), (0, 940));
    assert_eq!(other.statement(member, i64::MAX, 100).await.unwrap().len(), 21);

    // Again, and this time it pays in without having looked.
    let mut holds = Vec::new();
    for _ in 0..20 {
        holds.push(world.hold(&key, 2).await.unwrap());
    }
    end_together(&world, &holds).await;
    assert!(behind(&world) > 10);
    let (reason, amount) = ("because".to_owned(), Micros::new(500));
    let kind = ledger::PostingKind::TopUp;
    let transfer = ledger::Transfer { member, kind, amount, reason, reference: None };
    other.post(transfer, &actor()).await.unwrap().unwrap();
    assert_eq!(world.money(member).await, (1400, 0));
    world.check().await;

    // What was kept in memory was forgotten: all that is left can be spent, and nothing more.
    let all: Vec<_> = (0..15).map(|_| world.store.hold(opening(&key, 100))).collect();
    let held = join_all(all).await.into_iter().filter(|held| held.as_ref().unwrap().is_ok());
    assert_eq!(held.count(), 14);
    assert_eq!(world.money(member).await, (1400, 1400));
    world.store.close().await;
    assert_eq!(other.account(member).await.unwrap().unwrap().held.get(), 1400);
    assert_eq!(other.check_ledger().await.unwrap().findings, []);
}

#[tokio::test]
async fn what_is_blocked_or_limited_meanwhile_is_so_at_once() {
    let (world, member, key) = charged().await;
    let limits =
        gateway_store::LimitsChange { spend: Some(Some(Micros::new(62))), ..Default::default() };
    let change = gateway_store::KeyChange { limits, ..Default::default() };
    world.store.change_key(&key.id, &change, &actor()).await.unwrap();
    assert_eq!((behind(&world), written(&world)), (0, 940), "others write the rows before theirs");
    let refused = world.hold(&key, 3).await.unwrap_err();
    let available = Micros::new(2);
    assert_eq!(refused, ledger::Refusal::KeyLimitReached { needed: Micros::new(3), available });
    world.hold(&key, 2).await.unwrap();
    assert_eq!(world.money(member).await, (940, 2));
}

const MAX_BEHIND: i64 = 16_384;

#[tokio::test]
async fn rows_are_never_behind_by_more_than_so_many_postings() {
    const ROUNDS: i64 = MAX_BEHIND / 64 + 10;
    let world = World::sqlite().await;
    let (member, key) = world.member("ann", 1_000_000, Limits::default()).await;
    let charge = async || {
        let hold = world.hold(&key, 1).await.unwrap();
        world.store.end(closing(&hold, ChargeRule::Answered)).await.unwrap();
    };
    let (mut most, mut least_after) = (0, i64::MAX);
    for _ in 0..ROUNDS {
        join_all((0..64).map(|_| charge())).await;
        let now = behind(&world);
        if now < most {
            least_after = least_after.min(now);
        }
        most = most.max(now);
    }
    assert!(most < MAX_BEHIND + 64, "{most}");
    assert!(least_after < most, "they were never written: {most}");
    assert_eq!(world.money(member).await, (1_000_000 - ROUNDS * 64, 0));
    world.store.close().await;
    assert_eq!((behind(&world), written(&world)), (0, 1_000_000 - ROUNDS * 64));
}

#[tokio::test]
async fn whoever_looks_sees_what_is_true_though_nothing_can_be_written() {
    let (world, member, key) = charged().await;
    let other = world.impatient(Duration::from_millis(200)).await;
    let locker = Connection::open(world.path("gateway.db")).unwrap();
    locker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let account = other.account(member).await.unwrap().unwrap();
    assert_eq!((account.balance.get(), account.usage.day.requests), (940, 20));
    let lineage = other.lineage(key.lineage).await.unwrap().unwrap();
    assert_eq!(lineage.spent, Micros::new(60));
    assert!(behind(&world) > 10);
    locker.execute_batch("ROLLBACK").unwrap();
    assert_eq!(other.account(member).await.unwrap().unwrap().balance.get(), 940);
    assert_eq!(behind(&world), 0);
}

/// A member with a thousand, twenty holds of three each, most of them begun at once; then five ended.
async fn held() -> (World, MemberId, Key, Vec<Hold>) {
    let world = World::sqlite().await;
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let mut holds = hold_together(&world, (0..20).map(|_| opening(&key, 3)).collect()).await;
    let ended = holds.split_off(15);
    end_together(&world, &ended).await;
    let (rows, opened) = rows_of_holds(&world);
    assert!(rows < 5 && opened > 0, "{rows} {opened}");
    (world, member, key, holds)
}

#[tokio::test]
async fn holds_without_a_row_are_held_for_everybody() {
    let (world, member, key, holds) = held().await;
    assert_eq!(world.money(member).await, (985, 45));
    assert_eq!(world.store.check_ledger().await.unwrap().holds, 15);
    world.check().await;
    assert!(rows_of_holds(&world).1 > 0, "to look writes nothing");
    let running = world.store.lineage(key.lineage).await.unwrap().unwrap().running;
    assert_eq!(running, 15);

    let other = world.another().await;
    let account = other.account(member).await.unwrap().unwrap();
    assert_eq!((account.balance.get(), account.held.get()), (985, 45));
    assert_eq!(rows_of_holds(&world), (15, 0), "another process lets the rows follow");
    // EndResult by the other one, by the first one, and by both.
    assert!(matches!(
        other.end(closing(&holds[0], ChargeRule::Answered)).await,
        Ok(EndResult::Ended(_))
    ));
    world.end(&holds[1], ChargeRule::Answered).await;
    let again = world.store.end(closing(&holds[0], ChargeRule::Answered)).await.unwrap();
    assert_eq!(again, EndResult::AlreadyEnded);
    end_together(&world, &holds[2..]).await;
    assert_eq!(world.money(member).await, (940, 0));
    world.store.close().await;
    assert_eq!(rows_of_holds(&world), (0, 0));
    assert_eq!(other.check_ledger().await.unwrap().findings, []);
}

#[tokio::test]
async fn holds_without_a_row_are_known_though_nothing_can_be_written() {
    let (world, member, key, _) = held().await;
    let other = world.impatient(Duration::from_millis(200)).await;
    let locker = Connection::open(world.path("gateway.db")).unwrap();
    locker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let account = other.account(member).await.unwrap().unwrap();
    assert_eq!((account.balance.get(), account.held.get()), (985, 45));
    let lineage = other.lineage(key.lineage).await.unwrap().unwrap();
    assert_eq!((lineage.held.get(), lineage.running), (45, 15));
    assert!(matches!(other.hold(opening(&key, 1)).await, Err(Error::Unavailable(_))));
    assert!(rows_of_holds(&world).1 > 0);
}

#[tokio::test]
async fn holds_without_a_row_are_renewed_and_expire() {
    let (world, member, _, _) = held().await;
    world.pass(LEASE / 2);
    assert_eq!(world.store.renew_leases(crate::world::OWNER, LEASE).await.unwrap(), 15);
    assert_eq!(rows_of_holds(&world), (15, 0));
    world.pass(LEASE * 3 / 4);
    assert_eq!(world.store.expire_holds().await.unwrap(), 0);
    world.pass(LEASE);
    assert_eq!(world.store.expire_holds().await.unwrap(), 15);
    assert_eq!(world.money(member).await, (985, 0));
    world.check().await;
}

/// Whatever stands in a hold comes back as it was.
#[tokio::test]
async fn holds_that_another_process_takes_over_are_as_they_were() {
    let world = World::sqlite().await;
    let (member, key) = world.member("ann", 1 << 40, Limits::default()).await;
    let models =
        [None, Some(""), Some("a/b"), Some("\"quoted\", \\ and \n ends"), Some("ünï🙂/\u{1}")];
    let openings = models.iter().cycle().take(20).enumerate().map(|(number, model)| {
        let mut opening = repeated(&key, 1 << 34, &format!("w'{number}"), 1);
        opening.request.model = model.map(Into::into);
        opening
    });
    let holds = hold_together(&world, openings.collect()).await;
    let (rows, opened) = rows_of_holds(&world);
    assert!(rows < 5 && opened > 0, "{rows} {opened}");
    let other = world.another().await;
    assert_eq!(other.account(member).await.unwrap().unwrap().held.get(), 20 << 34);
    let file = Connection::open(world.path("gateway.db")).unwrap();
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
    assert_eq!(rows_of_holds(&world), (20, 0));
}

/// Nothing is charged, and so no posting has the rows written.
#[tokio::test]
async fn so_many_holds_and_no_more_stand_without_a_row() {
    let world = World::sqlite().await;
    let (member, key) = world.member("ann", 1_000_000, Limits::default()).await;
    let (mut most, mut least_after) = (0, i64::MAX);
    for _ in 0..MAX_BEHIND / 64 + 10 {
        let holds = hold_together(&world, (0..64).map(|_| opening(&key, 1)).collect()).await;
        together(&world, holds.iter().map(|hold| world.end(hold, ChargeRule::ClientLeftEarly)))
            .await;
        let sql = "SELECT coalesce(sum(json_array_length(holds)), 0) FROM opened";
        let opened = number(&world, sql);
        if opened < most {
            least_after = least_after.min(opened);
        }
        most = most.max(opened);
    }
    assert!((MAX_BEHIND / 2..MAX_BEHIND + 64).contains(&most), "{most}");
    assert!(least_after < most, "they were never written: {most}");
    assert_eq!(world.money(member).await, (1_000_000, 0));
    world.check().await;
}
