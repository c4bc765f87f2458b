//! Stored responses and their events.

use gateway_store::{Error, ResponseEvent, StoredResponse};
use ledger::{ChargeRule, EndResult, Hold, HoldId, Limits};

use crate::world::{DAY, LEASE, World, answering, closing, opening, repeated};

/// A response of a hold, kept for ten days.
fn response(world: &World, hold: &Hold, id: &str, status: &str) -> StoredResponse {
    let now = world.options.clock.now();
    StoredResponse {
        id: id.to_owned(),
        member: hold.member,
        lineage: hold.lineage,
        hold: hold.id,
        status: status.to_owned(),
        body: format!("{{\"id\":\"{id}\",\"status\":\"{status}\",\"model\":\"m\"}}").into_bytes(),
        input: b"[]".to_vec(),
        previous: Some("resp_0".to_owned()),
        background: true,
        created_at: now,
        expires_at: now.plus_micros(10 * DAY),
    }
}

/// A response that is queued with its hold.
pub(crate) async fn queued(
    world: &World,
    key: &gateway_store::Key,
    id: &str,
) -> (Hold, StoredResponse) {
    let mut opening = opening(key, 5);
    let response = response(world, &hold_of(key, opening.request.id), id, "queued");
    opening.response = Some(response.clone());
    (world.store.hold(opening).await.unwrap().unwrap(), response)
}

/// A hold as far as a response knows it.
fn hold_of(key: &gateway_store::Key, id: HoldId) -> Hold {
    Hold {
        id,
        member: key.member,
        lineage: key.lineage,
        amount: ledger::Micros::ZERO,
        operation: "".into(),
        model: None,
        owner: 0,
        since: ledger::Time::default(),
        lease_until: ledger::Time::default(),
        idempotency: None,
        rate_limit: None,
    }
}

fn events(numbers: std::ops::Range<i64>) -> Vec<ResponseEvent> {
    let event = |sequence: i64| ResponseEvent { sequence, event: vec![b'x'; 3] };
    numbers.map(event).collect()
}

pub(crate) async fn a_stored_response_is_read_by_its_member_alone(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let (other, _) = world.member("bob", 1000, Limits::default()).await;
    let (_, stored) = queued(&world, &key, "resp_1").await;
    let store = &world.store;
    assert_eq!(store.response(member, "resp_1").await.unwrap(), Some(stored));
    assert_eq!(store.response(other, "resp_1").await.unwrap(), None);
    assert!(!store.delete_response(other, "resp_1").await.unwrap());
    assert_eq!(store.response(member, "resp_2").await.unwrap(), None);
    // A hold that is refused queues nothing.
    let (poor, key) = world.member("cid", 4, Limits::default()).await;
    let mut refused = opening(&key, 5);
    let hold = HoldId::new(1, 1);
    let stored = store.response(member, "resp_1").await.unwrap().unwrap();
    refused.response = Some(StoredResponse { id: "resp_3".into(), member: poor, hold, ..stored });
    assert!(store.hold(refused).await.unwrap().is_err());
    assert_eq!(store.response(poor, "resp_3").await.unwrap(), None);
}

pub(crate) async fn a_response_is_stored_with_the_end_of_its_hold(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let hold = world.hold(&key, 5).await.unwrap();
    let mut ending = closing(&hold, ChargeRule::Answered);
    let stored = response(&world, &hold, "resp_1", "completed");
    ending.response = Some(stored.clone());
    world.store.end(ending.clone()).await.unwrap();
    assert_eq!(world.store.response(member, "resp_1").await.unwrap(), Some(stored.clone()));
    // The second end of a hold writes nothing.
    ending.response = Some(response(&world, &hold, "resp_1", "failed"));
    assert_eq!(world.store.end(ending).await.unwrap(), EndResult::AlreadyEnded);
    assert_eq!(world.store.response(member, "resp_1").await.unwrap(), Some(stored));
}

pub(crate) async fn a_response_that_ended_is_not_overwritten(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let (hold, _) = queued(&world, &key, "resp_1").await;
    let store = &world.store;
    let running = response(&world, &hold, "resp_1", "in_progress");
    assert!(store.update_response(&running).await.unwrap());
    let found = store.response(member, "resp_1").await.unwrap().unwrap();
    assert_eq!((&found.status, &found.body), (&running.status, &running.body));
    let status = async |member| store.response_status(member, "resp_1").await.unwrap();
    assert_eq!(status(member).await.as_deref(), Some("in_progress"));
    let (other, _) = world.member("bob", 1000, Limits::default()).await;
    assert_eq!(status(other).await, None);
    let cancelled = response(&world, &hold, "resp_1", "cancelled");
    assert!(store.update_response(&cancelled).await.unwrap());
    assert!(!store.update_response(&running).await.unwrap());
    assert_eq!(status(member).await.as_deref(), Some("cancelled"));
    assert_eq!(store.response(member, "resp_1").await.unwrap().unwrap().status, "cancelled");
    assert!(!store.update_response(&response(&world, &hold, "resp_2", "queued")).await.unwrap());
}

pub(crate) async fn only_a_queued_response_is_cancelled_in_the_queue(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let store = &world.store;
    let (hold, _) = queued(&world, &key, "resp_1").await;
    let cancelled = response(&world, &hold, "resp_1", "cancelled");
    assert!(store.cancel_queued_response(&cancelled).await.unwrap());
    assert_eq!(store.response(member, "resp_1").await.unwrap().unwrap().body, cancelled.body);
    // It cannot begin any more, and is not cancelled twice.
    let running = response(&world, &hold, "resp_1", "in_progress");
    assert!(!store.update_response(&running).await.unwrap());
    assert!(!store.cancel_queued_response(&cancelled).await.unwrap());
    let (hold, _) = queued(&world, &key, "resp_2").await;
    let running = response(&world, &hold, "resp_2", "in_progress");
    assert!(store.update_response(&running).await.unwrap());
    let cancelled = response(&world, &hold, "resp_2", "cancelled");
    assert!(!store.cancel_queued_response(&cancelled).await.unwrap());
    let status = store.response_status(member, "resp_2").await.unwrap();
    assert_eq!(status.as_deref(), Some("in_progress"));
}

pub(crate) async fn events_are_read_in_order_and_in_pages(world: World) {
    let (_, key) = world.member("ann", 1000, Limits::default()).await;
    queued(&world, &key, "resp_1").await;
    let store = &world.store;
    store.append_events("resp_1", &events(3..7)).await.unwrap();
    store.append_events("resp_1", &events(0..4)).await.unwrap();
    store.append_events("resp_1", &[]).await.unwrap();
    assert_eq!(store.events("resp_1", -1, 100).await.unwrap(), events(0..7));
    assert_eq!(store.events("resp_1", 2, 2).await.unwrap(), events(3..5));
    assert!(store.events("resp_1", 6, 2).await.unwrap().is_empty());
    assert!(store.events("resp_2", -1, 2).await.unwrap().is_empty());
    let missing = store.append_events("resp_2", &events(0..1)).await;
    assert!(matches!(missing, Err(Error::Missing("response"))));
}

pub(crate) async fn a_deleted_response_takes_its_events_along(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    queued(&world, &key, "resp_1").await;
    let store = &world.store;
    store.append_events("resp_1", &events(0..7)).await.unwrap();
    assert!(store.delete_response(member, "resp_1").await.unwrap());
    assert!(!store.delete_response(member, "resp_1").await.unwrap());
    assert_eq!(store.response(member, "resp_1").await.unwrap(), None);
    assert!(store.events("resp_1", -1, 2).await.unwrap().is_empty());
}

pub(crate) async fn background_responses_fail_with_their_lease(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let (hold, _) = queued(&world, &key, "resp_1").await;
    let (other, _) = queued(&world, &key, "resp_2").await;
    let mut done = closing(&other, ChargeRule::Answered);
    done.response = Some(response(&world, &other, "resp_2", "completed"));
    world.store.end(done).await.unwrap();
    world.pass(LEASE * 2);
    assert_eq!(world.store.expire_holds().await.unwrap(), 1);
    let failed = world.store.response(member, "resp_1").await.unwrap().unwrap();
    let body: serde_json::Value = serde_json::from_slice(&failed.body).unwrap();
    assert_eq!((failed.status.as_str(), &body["status"]), ("failed", &"failed".into()));
    assert_eq!((&body["model"], &body["error"]["code"]), (&"m".into(), &"server_error".into()));
    assert_eq!(world.store.response(member, "resp_2").await.unwrap().unwrap().status, "completed");
    // Its process was only slow: too late.
    let mut late = closing(&hold, ChargeRule::Answered);
    late.response = Some(response(&world, &hold, "resp_1", "completed"));
    assert_eq!(world.store.end(late).await.unwrap(), EndResult::AlreadyEnded);
    assert_eq!(world.store.response(member, "resp_1").await.unwrap().unwrap().status, "failed");
    world.check().await;
}

pub(crate) async fn old_responses_are_swept(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let (hold, _) = queued(&world, &key, "resp_1").await;
    world.store.append_events("resp_1", &events(0..7)).await.unwrap();
    world.pass(11 * DAY);
    assert_eq!(world.store.response(member, "resp_1").await.unwrap(), None);
    // Not while it runs.
    assert_eq!(world.store.delete_expired().await.unwrap(), 0);
    world.end(&hold, ChargeRule::Cancelled).await;
    assert_eq!(world.store.delete_expired().await.unwrap(), 1);
    assert!(world.store.events("resp_1", -1, 2).await.unwrap().is_empty());
}

/// As when a process ended the hold and died before it said what became of the response.
pub(crate) async fn responses_that_run_without_a_hold_are_failed_by_a_sweep(world: World) {
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let (queued_hold, _) = queued(&world, &key, "resp_1").await;
    let (running_hold, _) = queued(&world, &key, "resp_2").await;
    let running = response(&world, &running_hold, "resp_2", "in_progress");
    assert!(world.store.update_response(&running).await.unwrap());
    let (live_hold, live) = queued(&world, &key, "resp_3").await;
    let (done_hold, _) = queued(&world, &key, "resp_4").await;
    let mut done = closing(&done_hold, ChargeRule::Answered);
    done.response = Some(response(&world, &done_hold, "resp_4", "completed"));
    world.store.end(done).await.unwrap();
    world.end(&queued_hold, ChargeRule::OurFault).await;
    world.end(&running_hold, ChargeRule::Answered).await;

    let status = async |id: &str| {
        let found = world.store.response(member, id).await.unwrap().unwrap();
        let body: serde_json::Value = serde_json::from_slice(&found.body).unwrap();
        assert_eq!(body["status"], found.status);
        (found.status, body["error"]["code"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(world.store.delete_expired().await.unwrap(), 0, "nothing was removed");
    let failed = ("failed".to_owned(), "server_error".to_owned());
    assert_eq!((status("resp_1").await, status("resp_2").await), (failed.clone(), failed));
    assert_eq!(world.store.response(member, "resp_3").await.unwrap(), Some(live));
    assert_eq!(status("resp_4").await.0, "completed");
    // The one that runs ends as it likes.
    let mut done = closing(&live_hold, ChargeRule::Answered);
    done.response = Some(response(&world, &live_hold, "resp_3", "completed"));
    world.store.end(done).await.unwrap();
    assert_eq!(status("resp_3").await.0, "completed");
    world.check().await;
}

pub(crate) async fn a_sweep_takes_a_thousand_of_each_kind(world: World) {
    let (member, key) = world.member("ann", 5000, Limits::default()).await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..1003 {
        let store = std::sync::Arc::clone(&world.store);
        let opening = repeated(&key, 1, &format!("word {number}"), 1);
        let hold = opening.request.id;
        tasks.spawn(async move {
            let begun = store.hold(opening).await.unwrap().unwrap();
            store.end(answering(&begun, "{}")).await.unwrap();
            hold
        });
    }
    let holds = tasks.join_all().await;
    let mut tasks = tokio::task::JoinSet::new();
    for hold in &holds {
        let stray = response(&world, &hold_of(&key, *hold), &format!("resp_{hold}"), "queued");
        let (store, mut opening) = (std::sync::Arc::clone(&world.store), opening(&key, 1));
        opening.response = Some(stray);
        tasks.spawn(async move {
            let begun = store.hold(opening).await.unwrap().unwrap();
            store.end(closing(&begun, ChargeRule::Cancelled)).await.unwrap();
        });
    }
    tasks.join_all().await;
    let running = async || {
        let mut running = 0;
        for hold in &holds {
            let found = world.store.response(member, &format!("resp_{hold}")).await.unwrap();
            running += usize::from(found.is_some_and(|found| found.status == "queued"));
        }
        running
    };
    for left in [3, 0] {
        assert_eq!(world.store.delete_expired().await.unwrap(), 0);
        assert_eq!(running().await, left);
    }
    world.pass(11 * DAY);
    for swept in [2000, 6, 0] {
        assert_eq!(world.store.delete_expired().await.unwrap(), swept);
    }
    world.check().await;
}
