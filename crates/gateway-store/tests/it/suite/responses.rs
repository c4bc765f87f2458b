//! Stored responses and their events.

use gateway_store::{Error, ResponseEvent, StoredResponse};
use ledger::{ChargeRule, EndResult, Hold, HoldId, Limits};

use crate::test_database::{DAY, LEASE, TestDatabase, answering, closing, new_hold, with_key};

/// A response that is kept for ten days.
fn response(db: &TestDatabase, hold: &Hold, id: &str, status: &str) -> StoredResponse {
    let now = db.options.clock.now();
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

/// Queues a response together with its hold.
pub(crate) async fn queued(
    db: &TestDatabase,
    key: &gateway_store::Key,
    id: &str,
) -> (Hold, StoredResponse) {
    let mut hold = new_hold(key, 5);
    let response = response(db, &hold_of(key, hold.request.id), id, "queued");
    hold.response = Some(response.clone());
    (db.store.hold(hold).await.unwrap().unwrap(), response)
}

fn hold_of(key: &gateway_store::Key, id: HoldId) -> Hold {
    Hold {
        id,
        member: key.member,
        payer: key.member,
        lineage: key.lineage,
        amount: ledger::Micros::ZERO,
        operation: "".into(),
        model: None,
        owner: 0,
        since: ledger::Time::default(),
        lease_until: ledger::Time::default(),
        idempotency: None,
        limits: ledger::LimitStatus::default(),
    }
}

fn events(numbers: std::ops::Range<i64>) -> Vec<ResponseEvent> {
    let event = |sequence: i64| ResponseEvent { sequence, event: vec![b'x'; 3] };
    numbers.map(event).collect()
}

pub(crate) async fn responses_are_readable_only_by_their_member(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let (other, _) = db.member("bob", 1000, Limits::default()).await;
    let (_, stored) = queued(&db, &key, "resp_1").await;
    let store = &db.store;
    assert_eq!(store.response(member, "resp_1").await.unwrap(), Some(stored));
    assert_eq!(store.response(other, "resp_1").await.unwrap(), None);
    assert!(!store.delete_response(other, "resp_1").await.unwrap());
    assert_eq!(store.response(member, "resp_2").await.unwrap(), None);
    // A refused hold queues no response.
    let (poor, key) = db.member("cid", 4, Limits::default()).await;
    let mut refused = new_hold(&key, 5);
    let hold = HoldId::new(1, 1);
    let stored = store.response(member, "resp_1").await.unwrap().unwrap();
    refused.response = Some(StoredResponse { id: "resp_3".into(), member: poor, hold, ..stored });
    assert!(store.hold(refused).await.unwrap().is_err());
    assert_eq!(store.response(poor, "resp_3").await.unwrap(), None);
}

pub(crate) async fn a_response_is_stored_with_the_end_of_its_hold(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let hold = db.hold(&key, 5).await.unwrap();
    let mut ending = closing(&hold, ChargeRule::Answered);
    let stored = response(&db, &hold, "resp_1", "completed");
    ending.response = Some(stored.clone());
    db.store.end(ending.clone()).await.unwrap();
    assert_eq!(db.store.response(member, "resp_1").await.unwrap(), Some(stored.clone()));
    // A second end writes nothing.
    ending.response = Some(response(&db, &hold, "resp_1", "failed"));
    assert_eq!(db.store.end(ending).await.unwrap(), EndResult::AlreadyEnded);
    assert_eq!(db.store.response(member, "resp_1").await.unwrap(), Some(stored));
}

pub(crate) async fn ended_responses_are_not_updated(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let (hold, _) = queued(&db, &key, "resp_1").await;
    let store = &db.store;
    let running = response(&db, &hold, "resp_1", "in_progress");
    assert!(store.update_response(&running).await.unwrap());
    let found = store.response(member, "resp_1").await.unwrap().unwrap();
    assert_eq!((&found.status, &found.body), (&running.status, &running.body));
    let status = async |member| store.response_status(member, "resp_1").await.unwrap();
    assert_eq!(status(member).await.as_deref(), Some("in_progress"));
    let (other, _) = db.member("bob", 1000, Limits::default()).await;
    assert_eq!(status(other).await, None);
    let cancelled = response(&db, &hold, "resp_1", "cancelled");
    assert!(store.update_response(&cancelled).await.unwrap());
    assert!(!store.update_response(&running).await.unwrap());
    assert_eq!(status(member).await.as_deref(), Some("cancelled"));
    assert_eq!(store.response(member, "resp_1").await.unwrap().unwrap().status, "cancelled");
    assert!(!store.update_response(&response(&db, &hold, "resp_2", "queued")).await.unwrap());
}

pub(crate) async fn only_queued_responses_are_cancelled(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let store = &db.store;
    let (hold, _) = queued(&db, &key, "resp_1").await;
    let cancelled = response(&db, &hold, "resp_1", "cancelled");
    assert!(store.cancel_queued_response(&cancelled).await.unwrap());
    assert_eq!(store.response(member, "resp_1").await.unwrap().unwrap().body, cancelled.body);
    // It cannot start any more, and is not cancelled twice.
    let running = response(&db, &hold, "resp_1", "in_progress");
    assert!(!store.update_response(&running).await.unwrap());
    assert!(!store.cancel_queued_response(&cancelled).await.unwrap());
    let (hold, _) = queued(&db, &key, "resp_2").await;
    let running = response(&db, &hold, "resp_2", "in_progress");
    assert!(store.update_response(&running).await.unwrap());
    let cancelled = response(&db, &hold, "resp_2", "cancelled");
    assert!(!store.cancel_queued_response(&cancelled).await.unwrap());
    let status = store.response_status(member, "resp_2").await.unwrap();
    assert_eq!(status.as_deref(), Some("in_progress"));
}

pub(crate) async fn response_events_are_paged_in_order(db: TestDatabase) {
    let (_, key) = db.member("ann", 1000, Limits::default()).await;
    queued(&db, &key, "resp_1").await;
    let store = &db.store;
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

pub(crate) async fn deleting_a_response_deletes_its_events(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    queued(&db, &key, "resp_1").await;
    let store = &db.store;
    store.append_events("resp_1", &events(0..7)).await.unwrap();
    assert!(store.delete_response(member, "resp_1").await.unwrap());
    assert!(!store.delete_response(member, "resp_1").await.unwrap());
    assert_eq!(store.response(member, "resp_1").await.unwrap(), None);
    assert!(store.events("resp_1", -1, 2).await.unwrap().is_empty());
}

pub(crate) async fn background_responses_fail_when_their_lease_expires(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let (hold, _) = queued(&db, &key, "resp_1").await;
    let (other, _) = queued(&db, &key, "resp_2").await;
    let mut done = closing(&other, ChargeRule::Answered);
    done.response = Some(response(&db, &other, "resp_2", "completed"));
    db.store.end(done).await.unwrap();
    db.advance_clock(LEASE * 2);
    assert_eq!(db.store.expire_holds().await.unwrap(), 1);
    let failed = db.store.response(member, "resp_1").await.unwrap().unwrap();
    let body: serde_json::Value = serde_json::from_slice(&failed.body).unwrap();
    assert_eq!((failed.status.as_str(), &body["status"]), ("failed", &"failed".into()));
    assert_eq!((&body["model"], &body["error"]["code"]), (&"m".into(), &"server_error".into()));
    assert_eq!(db.store.response(member, "resp_2").await.unwrap().unwrap().status, "completed");
    // The end comes too late, after the lease expired.
    let mut late = closing(&hold, ChargeRule::Answered);
    late.response = Some(response(&db, &hold, "resp_1", "completed"));
    assert_eq!(db.store.end(late).await.unwrap(), EndResult::AlreadyEnded);
    assert_eq!(db.store.response(member, "resp_1").await.unwrap().unwrap().status, "failed");
    db.check().await;
}

pub(crate) async fn expired_responses_are_deleted(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let (hold, _) = queued(&db, &key, "resp_1").await;
    db.store.append_events("resp_1", &events(0..7)).await.unwrap();
    db.advance_clock(11 * DAY);
    assert_eq!(db.store.response(member, "resp_1").await.unwrap(), None);
    // Not while its hold is live.
    assert_eq!(db.store.delete_expired().await.unwrap(), 0);
    db.end(&hold, ChargeRule::Cancelled).await;
    assert_eq!(db.store.delete_expired().await.unwrap(), 1);
    assert!(db.store.events("resp_1", -1, 2).await.unwrap().is_empty());
}

/// As if a process crashed after it ended the hold and before it updated the response.
pub(crate) async fn running_responses_without_a_hold_fail(db: TestDatabase) {
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let (queued_hold, _) = queued(&db, &key, "resp_1").await;
    let (running_hold, _) = queued(&db, &key, "resp_2").await;
    let running = response(&db, &running_hold, "resp_2", "in_progress");
    assert!(db.store.update_response(&running).await.unwrap());
    let (live_hold, live) = queued(&db, &key, "resp_3").await;
    let (done_hold, _) = queued(&db, &key, "resp_4").await;
    let mut done = closing(&done_hold, ChargeRule::Answered);
    done.response = Some(response(&db, &done_hold, "resp_4", "completed"));
    db.store.end(done).await.unwrap();
    db.end(&queued_hold, ChargeRule::OurFault).await;
    db.end(&running_hold, ChargeRule::Answered).await;

    let status = async |id: &str| {
        let found = db.store.response(member, id).await.unwrap().unwrap();
        let body: serde_json::Value = serde_json::from_slice(&found.body).unwrap();
        assert_eq!(body["status"], found.status);
        (found.status, body["error"]["code"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(db.store.delete_expired().await.unwrap(), 0, "nothing was removed");
    let failed = ("failed".to_owned(), "server_error".to_owned());
    assert_eq!((status("resp_1").await, status("resp_2").await), (failed.clone(), failed));
    assert_eq!(db.store.response(member, "resp_3").await.unwrap(), Some(live));
    assert_eq!(status("resp_4").await.0, "completed");
    // The running response can still end.
    let mut done = closing(&live_hold, ChargeRule::Answered);
    done.response = Some(response(&db, &live_hold, "resp_3", "completed"));
    db.store.end(done).await.unwrap();
    assert_eq!(status("resp_3").await.0, "completed");
    db.check().await;
}

pub(crate) async fn at_most_a_thousand_of_each_kind_are_deleted_at_once(db: TestDatabase) {
    let (member, key) = db.member("ann", 5000, Limits::default()).await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..1003 {
        let store = std::sync::Arc::clone(&db.store);
        let new_hold = with_key(&key, 1, &format!("key {number}"), 1);
        let id = new_hold.request.id;
        tasks.spawn(async move {
            let hold = store.hold(new_hold).await.unwrap().unwrap();
            store.end(answering(&hold, "{}")).await.unwrap();
            id
        });
    }
    let holds = tasks.join_all().await;
    let mut tasks = tokio::task::JoinSet::new();
    for hold in &holds {
        let stray = response(&db, &hold_of(&key, *hold), &format!("resp_{hold}"), "queued");
        let (store, mut hold) = (std::sync::Arc::clone(&db.store), new_hold(&key, 1));
        hold.response = Some(stray);
        tasks.spawn(async move {
            let begun = store.hold(hold).await.unwrap().unwrap();
            store.end(closing(&begun, ChargeRule::Cancelled)).await.unwrap();
        });
    }
    tasks.join_all().await;
    let running = async || {
        let mut running = 0;
        for hold in &holds {
            let found = db.store.response(member, &format!("resp_{hold}")).await.unwrap();
            running += usize::from(found.is_some_and(|found| found.status == "queued"));
        }
        running
    };
    for left in [3, 0] {
        assert_eq!(db.store.delete_expired().await.unwrap(), 0);
        assert_eq!(running().await, left);
    }
    db.advance_clock(11 * DAY);
    for swept in [2000, 6, 0] {
        assert_eq!(db.store.delete_expired().await.unwrap(), swept);
    }
    db.check().await;
}
