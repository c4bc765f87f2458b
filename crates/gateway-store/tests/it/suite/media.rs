//! Media runs, artifacts and objects.

use std::sync::Arc;

use gateway_store::{Artifact, MediaRun};
use ledger::{ChargeRule, EndResult, Hold, Limits, Micros};

use crate::test_database::{DAY, SECOND, TestDatabase, closing};

const HOUR: i64 = 3600 * SECOND;

/// A run with these artifacts that is kept for ten days.
fn run(db: &TestDatabase, hold: &Hold, id: &str, objects: &[&str]) -> MediaRun {
    let now = db.options.clock.now();
    let artifact = |(number, object): (usize, &&str)| Artifact {
        id: format!("art_{id}_{number}"),
        object: (*object).to_owned(),
        media_type: "image/png".to_owned(),
        bytes: 7,
        sha256: [1; 32],
    };
    MediaRun {
        id: id.to_owned(),
        member: hold.member,
        hold: hold.id,
        model: "a/b".to_owned(),
        capability: "image".to_owned(),
        charge: Micros::new(5),
        created_at: now,
        expires_at: now.plus_micros(10 * DAY),
        artifacts: objects.iter().enumerate().map(artifact).collect(),
    }
}

async fn settle(db: &TestDatabase, hold: &Hold, run: &MediaRun) -> EndResult {
    let mut ending = closing(hold, ChargeRule::Answered);
    ending.media = Some(run.clone());
    db.store.end(ending).await.unwrap()
}

async fn doomed(db: &TestDatabase) -> Vec<String> {
    db.store.delete_expired().await.unwrap();
    db.store.deletable_objects(10).await.unwrap()
}

pub(crate) async fn media_runs_are_stored_with_their_hold_and_readable_only_by_their_member(
    db: TestDatabase,
) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let (other, _) = db.member("bob", 1000, Limits::default()).await;
    let hold = db.hold(&key, 5).await.unwrap();
    let store = &db.store;
    let made = run(&db, &hold, "run_1", &["x-1", "x-2", "x-1"]);
    assert_eq!(store.media_run(member, "run_1").await.unwrap(), None);
    settle(&db, &hold, &made).await;
    assert_eq!(store.media_run(member, "run_1").await.unwrap(), Some(made.clone()));
    assert_eq!(store.media_run(other, "run_1").await.unwrap(), None);
    let second = store.artifact(member, "art_run_1_1").await.unwrap();
    assert_eq!(second.as_ref(), Some(&made.artifacts[1]));
    assert_eq!(store.artifact(other, "art_run_1_1").await.unwrap(), None);
    // Neither a second end nor a release writes a run.
    let late = run(&db, &hold, "run_2", &["x-1"]);
    assert_eq!(settle(&db, &hold, &late).await, EndResult::AlreadyEnded);
    assert_eq!(store.media_run(member, "run_2").await.unwrap(), None);
    db.check().await;
}

pub(crate) async fn objects_are_reused_until_they_become_deletable(db: TestDatabase) {
    let store = &db.store;
    assert_eq!(store.claim_object([1; 32], "one").await.unwrap(), "one");
    assert_eq!(store.claim_object([1; 32], "two").await.unwrap(), "one");
    assert_eq!(store.claim_object([2; 32], "three").await.unwrap(), "three");
    db.advance_clock(2 * HOUR);
    // A claim renews the object.
    assert_eq!(store.claim_object([2; 32], "four").await.unwrap(), "three");
    assert_eq!(doomed(&db).await, ["one"]);
    // Its bytes may be deleted at any time, so the next claim gets a new object.
    assert_eq!(store.claim_object([1; 32], "five").await.unwrap(), "five");
    assert_eq!(store.claim_object([1; 32], "six").await.unwrap(), "five");
    store.delete_objects(&["one".to_owned(), "five".to_owned()]).await.unwrap();
    assert!(store.deletable_objects(10).await.unwrap().is_empty());
    assert_eq!(store.claim_object([1; 32], "seven").await.unwrap(), "five", "not doomed: kept");
}

pub(crate) async fn objects_become_deletable_after_their_last_run(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let store = &db.store;
    store.claim_object([1; 32], "shared").await.unwrap();
    store.claim_object([2; 32], "single").await.unwrap();
    let first = db.hold(&key, 5).await.unwrap();
    settle(&db, &first, &run(&db, &first, "run_1", &["shared", "single"])).await;
    db.advance_clock(5 * DAY);
    assert!(doomed(&db).await.is_empty(), "both are referred to");
    assert_eq!(store.claim_object([1; 32], "other").await.unwrap(), "shared");
    let second = db.hold(&key, 5).await.unwrap();
    settle(&db, &second, &run(&db, &second, "run_2", &["shared"])).await;
    db.advance_clock(6 * DAY);
    assert_eq!(store.media_run(member, "run_1").await.unwrap(), None, "over before it is swept");
    assert_eq!(store.artifact(member, "art_run_1_0").await.unwrap(), None);
    assert_eq!(store.delete_expired().await.unwrap(), 1);
    assert_eq!(store.deletable_objects(10).await.unwrap(), ["single"]);
    assert!(store.artifact(member, "art_run_2_0").await.unwrap().is_some());
    db.advance_clock(5 * DAY);
    let mut names = doomed(&db).await;
    names.sort();
    assert_eq!(names, ["shared", "single"]);
    store.delete_objects(&names).await.unwrap();
    assert!(doomed(&db).await.is_empty());
    db.check().await;
}

pub(crate) async fn unreferenced_objects_become_deletable_after_an_hour(db: TestDatabase) {
    db.store.claim_object([1; 32], "lost").await.unwrap();
    assert!(doomed(&db).await.is_empty());
    db.advance_clock(HOUR - 60 * SECOND);
    assert!(doomed(&db).await.is_empty());
    db.advance_clock(120 * SECOND);
    assert_eq!(doomed(&db).await, ["lost"]);
}

pub(crate) async fn concurrent_claims_of_one_digest_share_an_object(db: TestDatabase) {
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..100 {
        let store = Arc::clone(&db.store);
        tasks.spawn(async move {
            store.claim_object([9; 32], &format!("name-{number}")).await.unwrap()
        });
    }
    let names = tasks.join_all().await;
    assert!(names.iter().all(|name| *name == names[0]), "{names:?}");
}
