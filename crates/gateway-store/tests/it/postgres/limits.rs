//! Limits that are reached: operations that wait.

use std::sync::Arc;
use std::time::Duration;

use gateway_store::Error;
use ledger::Limits;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::client;
use crate::world::{LONG, World, opening};

/// 16384 operations wait, 512 are under way.
const TOO_MANY: i64 = 16_384 + 512 + 300;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_that_is_full_is_told_and_nothing_hangs() {
    let world = World::postgres().await;
    let (member, key) = world.member("ann", 1_000_000, Limits::default()).await;
    let locker = client(&world).await;
    locker.batch_execute("BEGIN; LOCK TABLE members").await.unwrap();
    let mut tasks = JoinSet::new();
    for _ in 0..TOO_MANY {
        let (store, opening) = (Arc::clone(&world.store), opening(&key, 1));
        tasks.spawn(async move { store.hold(opening).await });
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
    assert_eq!((held + busy, world.money(member).await), (TOO_MANY, (1_000_000, held)));
    world.hold(&key, 1).await.unwrap();
    timeout(Duration::from_mins(1), world.store.close()).await.unwrap();
}
