//! The limit of the queue.

use std::sync::Arc;
use std::time::Duration;

use gateway_store::Error;
use ledger::Limits;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::client;
use crate::test_database::{LONG, TestDatabase, new_hold};

/// 16384 operations in the queue and 512 in the running batch.
const TOO_MANY: i64 = 16_384 + 512 + 300;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_is_reported_and_nothing_hangs() {
    let db = TestDatabase::postgres().await;
    let (member, key) = db.member("ann", 1_000_000, Limits::default()).await;
    let locker = client(&db).await;
    locker.batch_execute("BEGIN; LOCK TABLE members").await.unwrap();
    let mut tasks = JoinSet::new();
    for _ in 0..TOO_MANY {
        let (store, hold) = (Arc::clone(&db.store), new_hold(&key, 1));
        tasks.spawn(async move { store.hold(hold).await });
    }
    let (mut held, mut busy) = (0, 0);
    while let Some(done) = timeout(LONG, tasks.join_next()).await.unwrap() {
        match done.unwrap() {
            Ok(result) => {
                result.unwrap();
                held += 1;
            }
            Err(Error::Busy) => {
                busy += 1;
                if busy == 1 {
                    locker.batch_execute("ROLLBACK").await.unwrap();
                }
            }
            Err(error) => panic!("{error:?}"),
        }
    }
    assert!(busy > 0 && held >= 16_384, "{held} {busy}");
    assert_eq!((held + busy, db.money(member).await), (TOO_MANY, (1_000_000, held)));
    db.hold(&key, 1).await.unwrap();
    timeout(Duration::from_mins(1), db.store.close()).await.unwrap();
}
