//! One `Idempotency-Key`: one call, one charge, one answer for everybody.

use std::net::SocketAddr;

use agent_test_support::upstream::Upstream;
use agent_test_support::wait::eventually;
use serde_json::{Value, json};

use crate::fixture::{PLAIN, chat, chat_stream, paid, service, with_one};
use crate::raw::{Head, Raw};
use crate::support::{Holder, PRICE, Running};

const CLIENTS: usize = 100;
const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";

fn ask(address: SocketAddr, key: &str, word: &str, body: &Value) -> (Head, String) {
    let bearer = format!("Bearer {key}");
    let headers = [("authorization", bearer.as_str()), ("idempotency-key", word)];
    let mut raw = Raw::post_with(address, CHAT, &headers, body);
    let head = raw.head();
    let text = raw.body();
    (head, text)
}

/// Asks until the answer is there.
fn insist(address: SocketAddr, key: &str, word: &str, body: &Value) -> String {
    let mut found = None;
    eventually("the answer is there", || {
        let (head, text) = ask(address, key, word, body);
        if head.status == 200 {
            found = Some(text);
        } else {
            assert_eq!((head.status, head.header("retry-after")), (409, "1"), "{text}");
        }
        found.is_some()
    });
    found.unwrap()
}

fn race(body: &Value) -> Vec<String> {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let (address, key) = (service.address, ada.key.as_str());
    let answers = std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..CLIENTS).map(|_| scope.spawn(|| insist(address, key, "the word", body))).collect();
        eventually("the upstream is asked", || upstream.completions().len() == 1);
        // All but one have been told to wait by now, or will be.
        let (head, text) = ask(address, key, "the word", body);
        assert_eq!(head.status, 409, "{text}");
        let error: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(error["error"]["code"], "idempotency_in_progress");
        upstream.open_gate();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert_eq!(upstream.completions().len(), 1);
    assert_eq!(paid(&service, &ada), PRICE);
    answers
}

#[test]
fn a_hundred_clients_with_one_idempotency_key_get_one_answer() {
    let answers = race(&chat("[[gate]] a b c"));
    assert_eq!(answers.len(), CLIENTS);
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    assert!(answers[0].contains("a b c"));
}

#[test]
fn a_hundred_clients_with_one_idempotency_key_get_one_stream() {
    let answers = race(&chat_stream("[[gate]] a b c"));
    assert_eq!(answers.len(), CLIENTS);
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    assert!(answers[0].ends_with("data: [DONE]\n\n"));
}

#[test]
fn idempotency_key_is_for_one_request_of_one_member() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let bob = service.holder("bob", 10 * PRICE);
    let address = service.address;
    let (first, text) = ask(address, ada.key.as_str(), "word", &chat("hello"));
    let (again, same) = ask(address, ada.key.as_str(), "word", &chat("hello"));
    assert_eq!((first.status, again.status, &text), (200, 200, &same));
    assert_eq!(first.header("idempotent-replayed"), "");
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(first.header("x-receipt-id"), again.header("x-receipt-id"));
    assert_ne!(first.header("x-request-id"), again.header("x-request-id"));
    let (other, _) = ask(address, ada.key.as_str(), "word", &chat("another"));
    assert_eq!((other.status, other.header("x-should-retry")), (422, "false"));
    let (theirs, _) = ask(address, bob.key.as_str(), "word", &chat("another"));
    assert_eq!(theirs.status, 200);
    let long = "x".repeat(256);
    let (long, text) = ask(address, ada.key.as_str(), &long, &chat("hello"));
    let error: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((long.status, &error["error"]["param"]), (400, &json!("Idempotency-Key")));
    assert_eq!(upstream.completions().len(), 2);
    assert_eq!(paid(&service, &ada), PRICE);
}

#[test]
fn failed_request_may_be_retried_with_its_idempotency_key() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let bodies = [chat("hello"), chat_stream("hello")];
    for (word, body) in ["one", "two"].into_iter().zip(&bodies) {
        use agent_test_support::upstream::Step;
        upstream.script("echo", vec![Step::Status(500), Step::Empty]);
        assert_eq!(ask(service.address, ada.key.as_str(), word, body).0.status, 503);
        // An empty answer is free, and so is not kept either.
        assert_eq!(ask(service.address, ada.key.as_str(), word, body).0.status, 200);
        let (head, text) = ask(service.address, ada.key.as_str(), word, body);
        assert_eq!((head.status, head.header("idempotent-replayed")), (200, ""), "{text}");
        let (head, _) = ask(service.address, ada.key.as_str(), word, body);
        assert_eq!(head.header("idempotent-replayed"), "true");
    }
    assert_eq!(paid(&service, &ada), 2 * PRICE);
}

#[test]
fn answer_too_long_to_store_is_charged_once_and_not_replayed() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let body = chat("[[huge-9]]");
    assert_eq!(ask(service.address, ada.key.as_str(), "word", &body).0.status, 200);
    let (head, text) = ask(service.address, ada.key.as_str(), "word", &body);
    let error: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((head.status, &error["error"]["code"]), (409, &json!("conflict")));
    assert_eq!(head.header("x-should-retry"), "false");
    assert_eq!(upstream.completions().len(), 1);
    assert_eq!(paid(&service, &ada), PRICE);
}

#[test]
fn replayed_answer_has_its_original_charge() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let mut background = crate::fixture::response("hello");
    background["background"] = true.into();
    let asked = [(CHAT, chat("hello")), (CHAT, chat_stream("hello")), (RESPONSES, background)];
    let ask = |address, place: usize| {
        let (path, body) = &asked[place];
        let bearer = format!("Bearer {}", ada.key.as_str());
        let word = format!("word-{place}");
        let headers = [("authorization", bearer.as_str()), ("idempotency-key", word.as_str())];
        let mut raw = Raw::post_with(address, path, &headers, body);
        let head = raw.head();
        raw.body();
        head
    };
    let firsts: Vec<Head> = (0..asked.len()).map(|place| ask(service.address, place)).collect();
    assert_eq!(paid(&service, &ada), 3 * PRICE);
    let folder = service.folder.clone();
    service.stop();
    let (old, new) = (format!(": {PRICE}"), format!(": {}", 7 * PRICE));
    let text = with_one(&upstream, PLAIN, "").replace(&old, &new);
    let service = Running::start_in(folder, &text);
    for (place, first) in firsts.iter().enumerate() {
        let again = ask(service.address, place);
        assert_eq!((again.status, again.header("idempotent-replayed")), (200, "true"));
        assert_eq!(again.header("x-receipt-id"), first.header("x-receipt-id"));
        assert_eq!(again.header("x-charge-micros"), PRICE.to_string());
    }
    assert_eq!(paid(&service, &ada), 3 * PRICE);
    // A new request pays the new price.
    let (head, _) = ask_with_a_new_key(&service, &ada);
    assert_eq!(head.header("x-charge-micros"), (7 * PRICE).to_string());
    assert_eq!(paid(&service, &ada), 10 * PRICE);
}

fn ask_with_a_new_key(service: &Running, ada: &Holder) -> (Head, String) {
    ask(service.address, ada.key.as_str(), "another word", &chat("hello"))
}
