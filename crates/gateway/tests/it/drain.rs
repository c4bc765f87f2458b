//! The drain of a service: running requests finish, new ones are refused.

use std::time::Duration;

use agent_test_support::upstream::Upstream;
use agent_test_support::wait::eventually;
use serde_json::{Value, json};

use crate::fixture::{chat, chat_stream, response, service, service_with};
use crate::raw::{Raw, request};
use crate::support::PRICE;

const CHAT: &str = "/v1/chat/completions";

#[test]
fn drain_finishes_running_requests_and_rejects_new_ones() {
    let upstream = Upstream::start();
    let (mut service, ada) = service(&upstream);
    let (address, key) = (service.address, ada.key.as_str().to_owned());
    let bearer = format!("Bearer {key}");
    let headers = [("authorization", bearer.as_str())];
    let mut stream = Raw::post(address, CHAT, &key, &chat_stream("[[gate-mid]] a b"));
    assert_eq!(stream.head().status, 200);
    let mut whole = Raw::post(address, CHAT, &key, &chat("[[gate]] a b"));
    let mut background = response("[[gate]] a b");
    background["background"] = true.into();
    let started = service.post("/v1/responses", &key, &background).good();
    eventually("all are asked", || upstream.in_flight() == 3);
    // A connection that was used before, and one in the middle of a request.
    let mut idle = Raw::open(address);
    idle.send(&request("GET", "/v1/models", &headers, ""));
    assert_eq!(idle.head().status, 200);
    idle.body();
    let late = request("POST", CHAT, &headers, &chat("x").to_string());
    let mut half = Raw::open(address);
    half.send(&late[..20]);
    for _ in 0..5 {
        // By then it has read that, too.
        assert_eq!(service.get("/healthz", "").status, 200);
    }

    service.begin_stop();
    assert!(idle.has_ended());
    half.send(&late[20..]);
    let head = half.head();
    let body: Value = serde_json::from_str(&half.body()).unwrap();
    let expected = json!({"error": {"message": "the service is shutting down", "param": null,
        "type": "server_error", "code": "draining", "request_id": head.header("x-request-id")}});
    assert_eq!((head.status, body, head.header("retry-after")), (503, expected, "1"));
    assert!(half.has_ended());
    let mut fresh = Raw::post(address, CHAT, &key, &chat("x"));
    assert_eq!(fresh.head().status, 503);
    let mut probe = Raw::open(address);
    probe.send(&request("GET", "/readyz", &[], ""));
    assert_eq!(probe.head().status, 503);

    upstream.open_gate();
    assert!(stream.body().ends_with("data: [DONE]\n\n"));
    assert_eq!(whole.head().status, 200);
    assert!(whole.body().contains("a b"));
    let folder = service.folder.clone();
    service.stop();
    assert!(std::net::TcpStream::connect(address).is_err());
    // What ran in the background is there after the restart, and paid for.
    let text = crate::fixture::with_one(&upstream, crate::fixture::PLAIN, "");
    let service = crate::support::Running::start_in(folder, &text);
    let path = format!("/v1/responses/{}", started["id"].as_str().unwrap());
    assert_eq!(service.get(&path, &key).good()["status"], "completed");
    assert_eq!(crate::fixture::paid(&service, &ada), 3 * PRICE);
}

#[test]
fn drain_aborts_requests_at_its_limit() {
    let upstream = Upstream::start();
    let (service, ada) = service_with(&upstream, "limits: {drain_seconds: 0.1}\n");
    let body = chat_stream("[[hang-mid]] a b");
    let mut stream = Raw::post(service.address, CHAT, ada.key.as_str(), &body);
    assert_eq!(stream.head().status, 200);
    service.stop();
    eventually("the upstream is let go", || upstream.cancelled().len() == 1);
}

#[test]
fn holds_do_not_expire_during_a_long_drain() {
    const LEASE: Duration = Duration::from_secs(1);
    let upstream = Upstream::start();
    let (mut service, ada) = service_with(&upstream, "hold_lease_seconds: 1\n");
    let body = chat_stream("[[gate-mid]] a b");
    let mut stream = Raw::post(service.address, CHAT, ada.key.as_str(), &body);
    assert_eq!(stream.head().status, 200);
    service.begin_stop();
    eventually("it drains", || service.get("/readyz", "").status == 503);
    // Three times as long as a lease lasts.
    std::thread::sleep(3 * LEASE); // sleep: a lease runs out by time alone
    // The reaper finds no expired lease.
    let store = service.store.clone();
    assert_eq!(service.wait(async move { store.expire_holds().await.unwrap() }), 0);
    assert_eq!(service.account(ada.member).held.get(), PRICE);
    upstream.open_gate();
    assert!(stream.body().ends_with("data: [DONE]\n\n"));
    let folder = service.folder.clone();
    service.stop();
    let text = crate::fixture::with_one(&upstream, crate::fixture::PLAIN, "");
    let service = crate::support::Running::start_in(folder, &text);
    assert_eq!(crate::fixture::paid(&service, &ada), PRICE);
}
