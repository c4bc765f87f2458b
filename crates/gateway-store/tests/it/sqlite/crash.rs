//! Acknowledged operations survive when the process is killed.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use agent_test_support::mcp::example;
use gateway_store::{DatabaseLocation, Key, MemberChange, Store};
use ledger::{Budget, HoldId, HoldOutcome, Limits, MemberId, Micros, Period};

use super::deferred_rows;
use crate::test_database::{TestDatabase, actor};

const KILLS: i64 = 20;
const CREDIT: i64 = 1_000_000_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_operations_survive_a_kill() {
    let db = TestDatabase::sqlite().await;
    let (member, key) = db.member("ann", CREDIT, Limits::default()).await;
    survives_kills(&db, &key, member).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_operations_of_a_team_survive_a_kill() {
    let db = TestDatabase::sqlite().await;
    let (member, key) = db.member("ann", 0, Limits::default()).await;
    let team = db.store.create_team("crew", &actor()).await.unwrap().id;
    db.top_up(team, CREDIT).await.unwrap();
    let budget = Budget { amount: Micros::new(CREDIT), period: Period::Month };
    for (id, change) in [
        (member, MemberChange::Team(Some(team))),
        (member, MemberChange::Budget(Some(budget))),
        (team, MemberChange::Budget(Some(budget))),
    ] {
        db.store.change_member(id, &change, &actor()).await.unwrap();
    }
    survives_kills(&db, &key, team).await;
    assert_eq!(db.another().await.account(member).await.unwrap().unwrap().balance, Micros::ZERO);
}

/// Kills a process that opens and settles holds, again and again. The payer has [`CREDIT`].
async fn survives_kills(db: &TestDatabase, key: &Key, payer: MemberId) {
    let member = key.member;
    db.store.close().await;
    let DatabaseLocation::Sqlite(path) = &db.location else { panic!() };
    let program = example("store_writer");
    let (mut settled, mut unapplied) = (0, 0);
    for round in 0..KILLS {
        let lines_read = 40 + usize::try_from(round).unwrap() * 13;
        let mut child = Command::new(&program)
            .arg(path)
            .args([member.0.to_string(), key.lineage.0.to_string(), round.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Killed after some lines, in the middle of a transaction.
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged = Vec::new();
        for (count, line) in lines.enumerate() {
            acknowledged.push(line.unwrap());
            if count == lines_read {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(acknowledged.len() > lines_read);
        unapplied += deferred_rows::unapplied(db);

        let store = db.another().await;
        for line in &acknowledged {
            // The kill may have cut the last line.
            let Some((what, id)) = line.split_once(' ') else { continue };
            let Some(id) = HoldId::parse(id) else { continue };
            if what == "settled" {
                let receipt = store.receipt(Some(member), id).await.unwrap();
                assert_eq!(receipt.map(|receipt| receipt.charged.get()), Some(3), "{line}");
                settled += 1;
            }
        }
        let check = store.check_ledger().await.unwrap();
        assert_eq!(check.findings, [], "after kill {round}");
        store.acquire_serving_lock().await.unwrap();
        store.end_holds_except(-1).await.unwrap();
        let account = store.account(payer).await.unwrap().unwrap();
        assert_eq!(account.held.get(), 0);
        let charged = CREDIT - account.balance.get();
        // At most one batch was written but not acknowledged.
        assert!((3 * settled..3 * settled + 3 * 64 * (round + 1)).contains(&charged));
        assert_eq!(store.check_ledger().await.unwrap().findings, []);
        store.close().await;
    }
    assert!(unapplied > 0, "no kill ever hit deferred rows");
    let expired = expired_holds(db);
    assert!(expired > 0, "no kill ever hit a live hold");
}

/// The number of holds that ended because their process was gone.
fn expired_holds(db: &TestDatabase) -> i64 {
    let DatabaseLocation::Sqlite(path) = &db.location else { panic!() };
    let connection = rusqlite::Connection::open(path).unwrap();
    let sql = "SELECT count(*) FROM receipts WHERE rule = ?1";
    connection.query_row(sql, [HoldOutcome::Expired.as_str()], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn the_serving_lock_ends_with_the_process() {
    let db = TestDatabase::sqlite().await;
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let DatabaseLocation::Sqlite(path) = &db.location else { panic!() };
    let mut child = Command::new(example("store_writer"))
        .arg(path)
        .args([member.0.to_string(), key.lineage.0.to_string(), "0".to_owned()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    let refused = db.store.acquire_serving_lock().await;
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(matches!(refused, Err(gateway_store::Error::InUse)));
    db.store.acquire_serving_lock().await.unwrap();
    Store::schema(&db.location, &db.options).await.unwrap();
}
