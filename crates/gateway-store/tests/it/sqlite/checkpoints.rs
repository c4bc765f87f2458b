//! The write-ahead log stays below its limit.

use std::sync::Arc;

use gateway_store::{ResponseEvent, SavedAnswer};
use ledger::{ChargeRule, Limits};

use crate::suite::responses::queued;
use crate::test_database::{TestDatabase, closing};

const MIB: usize = 1024 * 1024;

/// The writer waits for a checkpoint at 64 MiB; a transaction of 8 MiB and one large operation come
/// on top.
const BOUND: u64 = 80 * 1024 * 1024;

/// The size of the log file, which never shrinks.
fn log_size(db: &TestDatabase) -> u64 {
    std::fs::metadata(db.path("gateway.db-wal")).unwrap().len()
}

/// Writes more than half a gigabyte in a few thousand rows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_responses_do_not_grow_the_log_beyond_its_limit() {
    let db = Arc::new(TestDatabase::sqlite().await);
    let (member, key) = db.member("ann", 1_000_000, Limits::default()).await;
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..32 {
        let (db, key) = (Arc::clone(&db), key.clone());
        tasks.spawn(async move {
            for round in 0..5 {
                let (hold, mut response) = queued(&db, &key, &format!("resp_{task}_{round}")).await;
                "in_progress".clone_into(&mut response.status);
                response.body = vec![b'x'; MIB];
                assert!(db.store.update_response(&response).await.unwrap());
                let event = ResponseEvent { sequence: round, event: vec![b'y'; MIB] };
                db.store.append_events(&response.id, &[event]).await.unwrap();
                "completed".clone_into(&mut response.status);
                let mut done = closing(&hold, ChargeRule::Answered);
                let (content_type, body) = ("text/plain".to_owned(), vec![b'z'; MIB]);
                done.answer = Some(SavedAnswer { status: 200, content_type, body });
                done.response = Some(response);
                db.store.end(done).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(db.money(member).await, (1_000_000 - 32 * 5 * 5, 0));
    let size = log_size(&db);
    assert!(size < BOUND, "the log has {} MiB", size / MIB as u64);
    db.check().await;
}
