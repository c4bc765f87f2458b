//! The log beside the file, which grows with what is written and is moved into the file.

use std::sync::Arc;

use gateway_store::{ResponseEvent, SavedAnswer};
use ledger::{ChargeRule, Limits};

use crate::suite::responses::queued;
use crate::world::{World, closing};

const MIB: usize = 1024 * 1024;

/// At 64 MiB the writer waits until the log was moved; a transaction of 8 MiB, and what one
/// operation brings, come on top of it.
const BOUND: u64 = 80 * 1024 * 1024;

/// How large the log is on the disk: as large as it ever was.
fn log_size(world: &World) -> u64 {
    std::fs::metadata(world.path("gateway.db-wal")).unwrap().len()
}

/// More than half a gigabyte in a few thousand rows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_responses_do_not_make_a_large_log() {
    let world = Arc::new(World::sqlite().await);
    let (member, key) = world.member("ann", 1_000_000, Limits::default()).await;
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..32 {
        let (world, key) = (Arc::clone(&world), key.clone());
        tasks.spawn(async move {
            for round in 0..5 {
                let (hold, mut response) =
                    queued(&world, &key, &format!("resp_{task}_{round}")).await;
                "in_progress".clone_into(&mut response.status);
                response.body = vec![b'x'; MIB];
                assert!(world.store.update_response(&response).await.unwrap());
                let event = ResponseEvent { sequence: round, event: vec![b'y'; MIB] };
                world.store.append_events(&response.id, &[event]).await.unwrap();
                "completed".clone_into(&mut response.status);
                let mut done = closing(&hold, ChargeRule::Answered);
                let (content_type, body) = ("text/plain".to_owned(), vec![b'z'; MIB]);
                done.answer = Some(SavedAnswer { status: 200, content_type, body });
                done.response = Some(response);
                world.store.end(done).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(world.money(member).await, (1_000_000 - 32 * 5 * 5, 0));
    let size = log_size(&world);
    assert!(size < BOUND, "the log has {} MiB", size / MIB as u64);
    world.check().await;
}
