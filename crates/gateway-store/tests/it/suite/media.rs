//! Runs, artifacts and the objects that hold their bytes.

use std::sync::Arc;

use gateway_store::{Artifact, MediaRun};
use ledger::{ChargeRule, EndResult, Hold, Limits, Micros};

use crate::world::{DAY, SECOND, World, closing};

const HOUR: i64 = 3600 * SECOND;

/// A run of a hold with these artifacts, kept for ten days.
fn run(world: &World, hold: &Hold, id: &str, objects: &[&str]) -> MediaRun {
    let now = world.options.clock.now();
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

/// Charges a hold for a run.
async fn settle(world: &World, hold: &Hold, run: &MediaRun) -> EndResult {
    let mut ending = closing(hold, ChargeRule::Answered);
    ending.media = Some(run.clone());
    world.store.end(ending).await.unwrap()
}

async fn doomed(world: &World) -> Vec<String> {
    world.store.delete_expired().await.unwrap();
    world.store.deletable_objects(10).await.unwrap()
}

pub(crate) async fn a_run_is_written_with_the_end_of_its_hold_and_read_by_its_member_alone(
    world: World,
) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let (other, _) = world.member("bob", 1000, Limits::default()).await;
    let hold = world.hold(&key, 5).await.unwrap();
    let store = &world.store;
    let made = run(&world, &hold, "run_1", &["x-1", "x-2", "x-1"]);
    assert_eq!(store.media_run(member, "run_1").await.unwrap(), None);
    settle(&world, &hold, &made).await;
    assert_eq!(store.media_run(member, "run_1").await.unwrap(), Some(made.clone()));
    assert_eq!(store.media_run(other, "run_1").await.unwrap(), None);
    let second = store.artifact(member, "art_run_1_1").await.unwrap();
    assert_eq!(second.as_ref(), Some(&made.artifacts[1]));
    assert_eq!(store.artifact(other, "art_run_1_1").await.unwrap(), None);
    // The second end of a hold writes nothing, nor does one that is given back.
    let late = run(&world, &hold, "run_2", &["x-1"]);
    assert_eq!(settle(&world, &hold, &late).await, EndResult::AlreadyEnded);
    assert_eq!(store.media_run(member, "run_2").await.unwrap(), None);
    world.check().await;
}

pub(crate) async fn an_object_is_claimed_again_until_it_is_doomed(world: World) {
    let store = &world.store;
    assert_eq!(store.claim_object([1; 32], "one").await.unwrap(), "one");
    assert_eq!(store.claim_object([1; 32], "two").await.unwrap(), "one");
    assert_eq!(store.claim_object([2; 32], "three").await.unwrap(), "three");
    world.pass(2 * HOUR);
    // A claim makes it young again.
    assert_eq!(store.claim_object([2; 32], "four").await.unwrap(), "three");
    assert_eq!(doomed(&world).await, ["one"]);
    // Its bytes may be gone any moment: the next has a name of its own.
    assert_eq!(store.claim_object([1; 32], "five").await.unwrap(), "five");
    assert_eq!(store.claim_object([1; 32], "six").await.unwrap(), "five");
    store.delete_objects(&["one".to_owned(), "five".to_owned()]).await.unwrap();
    assert!(store.deletable_objects(10).await.unwrap().is_empty());
    assert_eq!(store.claim_object([1; 32], "seven").await.unwrap(), "five", "not doomed: kept");
}

pub(crate) async fn objects_go_when_their_last_run_is_over(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let store = &world.store;
    store.claim_object([1; 32], "shared").await.unwrap();
    store.claim_object([2; 32], "single").await.unwrap();
    let first = world.hold(&key, 5).await.unwrap();
    settle(&world, &first, &run(&world, &first, "run_1", &["shared", "single"])).await;
    world.pass(5 * DAY);
    assert!(doomed(&world).await.is_empty(), "both are referred to");
    assert_eq!(store.claim_object([1; 32], "other").await.unwrap(), "shared");
    let second = world.hold(&key, 5).await.unwrap();
    settle(&world, &second, &run(&world, &second, "run_2", &["shared"])).await;
    world.pass(6 * DAY);
    assert_eq!(store.media_run(member, "run_1").await.unwrap(), None, "over before it is swept");
    assert_eq!(store.artifact(member, "art_run_1_0").await.unwrap(), None);
    assert_eq!(store.delete_expired().await.unwrap(), 1);
    assert_eq!(store.deletable_objects(10).await.unwrap(), ["single"]);
    assert!(store.artifact(member, "art_run_2_0").await.unwrap().is_some());
    world.pass(5 * DAY);
    let mut names = doomed(&world).await;
    names.sort();
    assert_eq!(names, ["shared", "single"]);
    store.delete_objects(&names).await.unwrap();
    assert!(doomed(&world).await.is_empty());
    world.check().await;
}

pub(crate) async fn an_object_nobody_came_for_goes_after_an_hour(world: World) {
    world.store.claim_object([1; 32], "lost").await.unwrap();
    assert!(doomed(&world).await.is_empty());
    world.pass(HOUR - 60 * SECOND);
    assert!(doomed(&world).await.is_empty());
    world.pass(120 * SECOND);
    assert_eq!(doomed(&world).await, ["lost"]);
}

pub(crate) async fn a_hundred_claims_of_one_digest_give_one_object(world: World) {
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..100 {
        let store = Arc::clone(&world.store);
        tasks.spawn(async move {
            store.claim_object([9; 32], &format!("name-{number}")).await.unwrap()
        });
    }
    let names = tasks.join_all().await;
    assert!(names.iter().all(|name| *name == names[0]), "{names:?}");
}
