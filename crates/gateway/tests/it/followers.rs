//! Streams of background responses: how many there may be, from another process, and while the
//! books are away.

use std::sync::Arc;

use agent_test_support::postgres::{Cluster, StopMode};
use agent_test_support::upstream::Upstream;
use agent_test_support::wait::eventually;
use http::Method;
use serde_json::Value;

use crate::fixture::{in_postgres, paid, response, service};
use crate::raw::{Raw, events, request};
use crate::support::{Holder, PRICE, Running};

const RESPONSES: &str = "/v1/responses";
/// As many as one key may follow at once.
const MAX_FOLLOWED: usize = 64;

fn in_background(text: &str) -> Value {
    let mut body = response(text);
    body["background"] = true.into();
    body
}

fn start(service: &Running, holder: &Holder, text: &str) -> String {
    let started = service.post(RESPONSES, holder.key.as_str(), &in_background(text)).good();
    started["id"].as_str().unwrap().to_owned()
}

fn follow(service: &Running, key: &str, id: &str) -> Raw {
    let bearer = format!("Bearer {key}");
    let path = format!("{RESPONSES}/{id}?stream=true");
    let mut raw = Raw::open(service.address);
    raw.send(&request("GET", &path, &[("authorization", &bearer)], ""));
    raw
}

fn followed(service: &Running, holder: &Holder, id: &str) -> Raw {
    let mut raw = follow(service, holder.key.as_str(), id);
    assert_eq!(raw.head().status, 200);
    raw
}

/// The types of all events that are left.
fn rest(raw: &mut Raw) -> Vec<String> {
    let stream = raw.body();
    events(&stream).iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
}

/// Two services with the same books, a member, and the cluster that the books are in.
fn pair(upstream: &Upstream) -> (Arc<Cluster>, [Running; 2], Holder) {
    let cluster = Arc::new(Cluster::start_new());
    let text = in_postgres(upstream, &cluster.database(), "");
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let services = [(); 2].map(|()| Running::start_in(folder.clone(), &text));
    let ada = services[0].holder("ada", 1000 * PRICE);
    (cluster, services, ada)
}

#[test]
fn followed_responses_per_key_are_limited() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let id = start(&service, &ada, "[[gate]] a b");
    let mut running: Vec<Raw> = (0..MAX_FOLLOWED).map(|_| followed(&service, &ada, &id)).collect();
    let mut refused = follow(&service, ada.key.as_str(), &id);
    let head = refused.head();
    let error: Value = serde_json::from_str(&refused.body()).unwrap();
    assert_eq!((head.status, head.header("retry-after")), (429, "1"));
    assert_eq!(error["error"]["code"], "rate_limited");
    assert_eq!(error["error"]["request_id"], head.header("x-request-id"));
    // Nothing is begun that could not be told of.
    let mut body = in_background("a b");
    body["stream"] = true.into();
    assert_eq!(service.post(RESPONSES, ada.key.as_str(), &body).status, 429);
    assert_eq!(upstream.completions().len(), 1);
    assert_eq!(service.account(ada.member).held.get(), PRICE);
    // Another key has its own.
    let other = service.key(ada.member, ledger::Limits::default());
    assert_eq!(follow(&service, other.as_str(), &id).head().status, 200);
    // A disconnect makes room.
    drop(running.pop());
    eventually("there is room", || follow(&service, ada.key.as_str(), &id).head().status == 200);
    upstream.open_gate();
    for raw in &mut running {
        assert_eq!(rest(raw).last().unwrap(), "response.completed");
    }
    assert_eq!(paid(&service, &ada), PRICE);
    assert_eq!(rest(&mut followed(&service, &ada, &id)).len(), 11);
}

#[test]
fn follower_in_the_same_process_is_notified() {
    let upstream = Upstream::start();
    let (_cluster, [here, there], ada) = pair(&upstream);
    // A word takes less time than there is between two looks.
    let id = start(&here, &ada, "[[drip-16-120]]");
    let followers = [&here, &there].map(|service| followed(service, &ada, &id));
    let pieces = followers
        .map(|mut raw| std::thread::spawn(move || std::iter::from_fn(|| raw.piece()).count()));
    let [told, looked] = pieces.map(|pieces| pieces.join().unwrap());
    assert!(looked >= 2 && told > looked, "{told} pieces here, {looked} there");
    assert_eq!(paid(&here, &ada), PRICE);
}

#[test]
fn a_response_is_followed_and_cancelled_on_another_process() {
    let upstream = Upstream::start();
    let (_cluster, [here, there], ada) = pair(&upstream);
    let id = start(&here, &ada, "[[gate-mid]] a b");
    let mut followers = [&here, &there].map(|service| followed(service, &ada, &id));
    let first: Vec<Vec<u8>> = followers.iter_mut().map(|raw| raw.piece().unwrap()).collect();
    assert!(first.iter().all(|piece| piece.starts_with(b"event: response.created")));
    upstream.open_gate();
    for raw in &mut followers {
        assert_eq!(rest(raw).last().unwrap(), "response.completed");
    }
    // From the middle, when all is over.
    let path = format!("{RESPONSES}/{id}?stream=true&starting_after=8");
    let tail = there.get(&path, ada.key.as_str());
    assert_eq!(events(tail.text()).len(), 2);

    upstream.close_gate();
    let id = start(&here, &ada, "[[gate-mid]] a b");
    let mut followers = [&here, &there].map(|service| followed(service, &ada, &id));
    for raw in &mut followers {
        assert!(raw.piece().unwrap().starts_with(b"event: response.created"));
    }
    let path = format!("{RESPONSES}/{id}/cancel");
    there.send(Method::POST, &path, Some(ada.key.as_str()), None).good();
    eventually("the upstream is let go", || upstream.cancelled().len() == 1);
    for raw in &mut followers {
        assert!(!rest(raw).iter().any(|kind| kind == "response.completed"));
    }
    // Its answer had begun, which any process can tell.
    assert_eq!(paid(&here, &ada), 2 * PRICE);
}

#[test]
fn followers_survive_an_unavailable_store() {
    let upstream = Upstream::start();
    let (cluster, [here, there], ada) = pair(&upstream);
    let id = start(&here, &ada, "[[gate-mid]] a b");
    let mut followers = [&here, &there].map(|service| followed(service, &ada, &id));
    for raw in &mut followers {
        assert!(raw.piece().unwrap().starts_with(b"event: response.created"));
    }
    cluster.stop(StopMode::Immediate);
    // Neither the rest of the answer nor a follower reaches the store.
    upstream.open_gate();
    eventually("the answer is over", || upstream.in_flight() == 0);
    for service in [&here, &there] {
        eventually("the books are missed", || {
            service.get("/readyz", "").status == 503
                && service.get("/v1/me", ada.key.as_str()).status == 503
        });
    }
    cluster.start();
    for raw in &mut followers {
        assert_eq!(rest(raw).last().unwrap(), "response.completed");
    }
    assert_eq!(paid(&here, &ada), PRICE);
}
