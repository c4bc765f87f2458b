//! Limits of the queue and of the counts in memory.

use std::sync::Arc;
use std::time::Duration;

use gateway_store::{DatabaseLocation, Error};
use ledger::{Limits, LineageId, Time};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::test_database::{LONG, TestDatabase, new_hold};

/// 4096 operations in the queue, 512 in the running batch, and 512 more that enter when those fail.
const TOO_MANY: usize = 4096 + 512 + 512 + 1000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_is_reported_and_nothing_hangs() {
    let db = TestDatabase::sqlite().await;
    let (member, key) = db.member("ann", 1_000_000, Limits::default()).await;
    let store = Arc::new(db.impatient(Duration::from_secs(2)).await);
    let DatabaseLocation::Sqlite(path) = &db.location else { panic!("this is not SQLite") };
    let locker = rusqlite::Connection::open(path).unwrap();
    locker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut tasks = JoinSet::new();
    for _ in 0..TOO_MANY {
        let (store, hold) = (Arc::clone(&store), new_hold(&key, 1));
        tasks.spawn(async move { store.hold(hold).await });
    }
    let (mut held, mut refused, mut busy) = (0, 0, 0);
    while let Some(done) = timeout(LONG, tasks.join_next()).await.unwrap() {
        match done.unwrap() {
            Ok(result) => {
                result.unwrap();
                held += 1;
            }
            Err(Error::Unavailable(_)) => refused += 1,
            Err(Error::Busy) => busy += 1,
            Err(error) => panic!("{error:?}"),
        }
        if refused > 0 && busy > 0 && !locker.is_autocommit() {
            locker.execute_batch("ROLLBACK").unwrap();
        }
    }
    assert!(held > 0 && refused > 0 && busy > 0, "{held} {refused} {busy}");
    assert_eq!(db.money(member).await, (1_000_000, held));
    store.hold(new_hold(&key, 1)).await.unwrap().unwrap();
    timeout(LONG, store.close()).await.unwrap();
    db.check().await;
}

/// Counts of ten thousand keys are kept in memory; one more writes all of them.
#[tokio::test]
async fn counts_of_free_requests_are_written_at_their_limit() {
    const MAX_ARRIVALS: i64 = 10_000;
    let db = TestDatabase::sqlite().await;
    let (member, key) = db.member("ann", 0, Limits::default()).await;
    db.execute(&format!(
        "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {MAX_ARRIVALS}) \
         INSERT INTO lineages (member, requests_per_minute) SELECT {}, 1 FROM n",
        member.0
    ));
    let (first, last) = (key.lineage.0 + 1, key.lineage.0 + 1 + MAX_ARRIVALS);
    for id in first..last {
        db.store.admit(member, LineageId(id)).await.unwrap().unwrap();
    }
    let written = async |id: i64| {
        // The reply comes after earlier writes.
        let lineage = db.store.lineage(LineageId(id)).await.unwrap().unwrap();
        assert!(
            lineage.next_arrival > Time::default(),
            "what is not written is known all the same"
        );
        let file = rusqlite::Connection::open(db.path("gateway.db")).unwrap();
        let sql = "SELECT next_arrival > 0 FROM lineages WHERE id = ?1";
        file.query_row(sql, [id], |row| row.get::<_, bool>(0)).unwrap()
    };
    assert!(!written(first).await && !written(last - 1).await);
    db.store.admit(member, LineageId(last)).await.unwrap().unwrap();
    for id in [first, last - 1, last] {
        assert!(written(id).await, "{id}");
        assert!(db.store.admit(member, LineageId(id)).await.unwrap().is_err());
    }
}
