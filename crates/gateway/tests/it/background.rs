//! Responses that run without their client: followed, cancelled, deleted, and failed.

use agent_test_support::upstream::{ResponsesApi, Upstream};
use agent_test_support::wait::eventually;
use http::{Method, Request};
use serde_json::Value;

use crate::fixture::{paid, receipt, response, service, service_with};
use crate::raw::{Raw, events};
use crate::support::{Holder, PRICE, Running};

const RESPONSES: &str = "/v1/responses";

fn in_background(text: &str) -> Value {
    let mut body = response(text);
    body["background"] = true.into();
    body
}

fn followed(text: &str) -> Value {
    let mut body = in_background(text);
    body["stream"] = true.into();
    body
}

/// Starts a response and gives its id and the id of its receipt.
fn start(service: &Running, holder: &Holder, text: &str) -> (String, String) {
    let answer = service.post(RESPONSES, holder.key.as_str(), &in_background(text));
    let started = answer.good();
    assert_eq!((&started["status"], &started["background"]), (&"queued".into(), &true.into()));
    (started["id"].as_str().unwrap().to_owned(), answer.header("x-receipt-id").to_owned())
}

fn types(stream: &str) -> Vec<String> {
    events(stream).iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn followers_always_receive_the_last_event() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let (address, key) = (service.address, ada.key.as_str());
    std::thread::scope(|scope| {
        for number in 0..24 {
            scope.spawn(move || {
                // They end at all moments between two looks at the store.
                let body = followed(&format!("[[slow-{}]] a b", 20 * number));
                let mut raw = Raw::post(address, RESPONSES, key, &body);
                assert_eq!(raw.head().status, 200);
                let types = types(&raw.body());
                assert_eq!(types.last().unwrap(), "response.completed", "{types:?}");
                assert_eq!(types.len(), 11, "{types:?}");
            });
        }
    });
    assert_eq!(paid(&service, &ada), 24 * PRICE);
}

#[test]
fn cancelled_response_is_free_before_its_first_output() {
    let upstream = Upstream::start();
    // Whatever is done for clients that leave, this one asked for it.
    let (service, ada) = service_with(&upstream, "on_client_gone: finish\n");
    let key = ada.key.as_str();
    let mut cancelled = 0;
    for step in ["gate", "gate-mid"] {
        for method in [Method::POST, Method::DELETE] {
            let (id, hold) = start(&service, &ada, &format!("[[{step}]] a b"));
            eventually("the upstream is asked", || upstream.in_flight() == 1);
            let status = if step == "gate" { "queued" } else { "in_progress" };
            eventually("it begins", || {
                service.get(&format!("{RESPONSES}/{id}"), key).good()["status"] == status
            });
            let path = match method {
                Method::POST => format!("{RESPONSES}/{id}/cancel"),
                _ => format!("{RESPONSES}/{id}"),
            };
            let answer = service.send(method.clone(), &path, Some(key), None).good();
            cancelled += 1;
            eventually("the upstream is let go", || upstream.cancelled().len() == cancelled);
            let expected = match step {
                "gate" => ("cancelled".to_owned(), 0),
                _ => ("cancelled_late".to_owned(), PRICE),
            };
            assert_eq!(receipt(&service, &ada, &hold), expected);
            let found = service.get(&format!("{RESPONSES}/{id}"), key);
            if method == Method::POST {
                assert_eq!(answer["status"], "cancelled");
                assert_eq!(found.good()["status"], "cancelled");
                // Once more changes nothing.
                assert_eq!(
                    service.send(method, &path, Some(key), None).good()["status"],
                    "cancelled"
                );
            } else {
                assert_eq!(answer["deleted"], true);
                assert_eq!(found.status, 404);
            }
        }
    }
    assert_eq!(paid(&service, &ada), 2 * PRICE);
}

#[test]
fn followers_see_a_response_that_failed_before_its_start() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let mut raw =
        Raw::post(service.address, RESPONSES, ada.key.as_str(), &followed("[[status-500]]"));
    assert_eq!(raw.head().status, 200);
    let stream = raw.body();
    assert_eq!(types(&stream), ["response.created", "response.in_progress", "response.failed"]);
    let last = events(&stream).pop().unwrap();
    assert_eq!(last["response"]["error"]["code"], "server_error");
    let id = last["response"]["id"].as_str().unwrap();
    let found = service.get(&format!("{RESPONSES}/{id}"), ada.key.as_str()).good();
    assert_eq!(found["status"], "failed");
    assert_eq!(paid(&service, &ada), 0);
}

#[test]
fn background_response_with_an_idempotency_key_runs_once() {
    let upstream = Upstream::start();
    upstream.set_responses(ResponsesApi::Absent);
    let (service, ada) = service(&upstream);
    let ask = || {
        let request = Request::post(RESPONSES)
            .header("authorization", format!("Bearer {}", ada.key.as_str()))
            .header("idempotency-key", "word");
        let body = in_background("[[gate]] a b").to_string().into_bytes();
        service.send_raw(request.body(body).unwrap())
    };
    let first = ask().good();
    eventually("the upstream is asked", || upstream.in_flight() == 1);
    assert_eq!(ask().failure(), (409, "idempotency_in_progress".to_owned()));
    upstream.open_gate();
    let mut again = Value::Null;
    eventually("it is over", || {
        let answer = ask();
        again = answer.json();
        answer.status == 200
    });
    assert_eq!((&again["id"], &again["status"]), (&first["id"], &"completed".into()));
    assert_eq!(paid(&service, &ada), PRICE);
}

#[test]
fn replayed_background_stream_starts_at_its_first_event() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let bearer = format!("Bearer {}", ada.key.as_str());
    let headers = [("authorization", bearer.as_str()), ("idempotency-key", "word")];
    let ask = || {
        let mut raw = Raw::post_with(service.address, RESPONSES, &headers, &followed("a b"));
        let head = raw.head();
        (head, raw.body())
    };
    let (first, stream) = ask();
    assert_eq!((first.status, first.header("idempotent-replayed")), (200, ""));
    let (again, same) = ask();
    assert_eq!((again.status, again.header("idempotent-replayed")), (200, "true"));
    assert_eq!(again.header("content-type"), "text/event-stream");
    assert_eq!(again.header("x-receipt-id"), first.header("x-receipt-id"));
    assert_eq!(again.header("x-charge-micros"), PRICE.to_string());
    assert_eq!(events(&same), events(&stream));
    assert_eq!(types(&same).last().unwrap(), "response.completed");
    assert_eq!(upstream.completions().len(), 1);
    // One that was deleted is not told of.
    let id = events(&same)[0]["response"]["id"].as_str().unwrap().to_owned();
    let path = format!("{RESPONSES}/{id}");
    service.send(Method::DELETE, &path, Some(ada.key.as_str()), None).good();
    let (gone, text) = ask();
    let error: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((gone.status, &error["error"]["code"]), (409, &"conflict".into()));
    assert_eq!(paid(&service, &ada), PRICE);
}

#[test]
fn only_background_responses_can_be_followed_or_cancelled() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let key = ada.key.as_str();
    let id = service.post(RESPONSES, key, &response("x")).good()["id"].as_str().unwrap().to_owned();
    let refused = service.get(&format!("{RESPONSES}/{id}?stream=true"), key);
    assert_eq!(refused.failure(), (400, "invalid_request".to_owned()));
    let path = format!("{RESPONSES}/{id}/cancel");
    let refused = service.send(Method::POST, &path, Some(key), None);
    assert_eq!(refused.failure(), (400, "invalid_request".to_owned()));
    for query in ["limit=0", "limit=101", "order=up", "after=none"] {
        let refused = service.get(&format!("{RESPONSES}/{id}/input_items?{query}"), key);
        assert_eq!(refused.failure(), (400, "invalid_request".to_owned()), "{query}");
    }
}
