//! What each ending costs: a member that has received content pays, whatever ends the request; an
//! upstream that fails is never paid.

use std::time::{Duration, Instant};

use agent_test_support::upstream::Upstream;
use agent_test_support::wait::eventually;
use http::Method;
use serde_json::Value;

use crate::fixture::{
    chat_stream, message_stream, paid, receipt, response, service, service_with, with_one,
};
use crate::raw::Raw;
use crate::support::{PRICE, Running};

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const MESSAGES: &str = "/v1/messages";

fn background(text: &str) -> Value {
    let mut body = response(text);
    body["background"] = true.into();
    body["stream"] = true.into();
    body
}

/// Reads a stream until it has this text.
fn read_until(raw: &mut Raw, wanted: &str) -> String {
    let mut text = String::new();
    while !text.contains(wanted) {
        text += std::str::from_utf8(&raw.piece().unwrap()).unwrap();
    }
    text
}

fn id_in(stream: &str) -> String {
    let (_, after) = stream.split_once("\"id\":\"resp_").unwrap();
    format!("resp_{}", after.split_once('"').unwrap().0)
}

#[test]
fn background_response_is_charged_once_content_was_delivered() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let key = ada.key.as_str();
    for (count, method) in [Method::POST, Method::DELETE].into_iter().enumerate() {
        let mut raw = Raw::post(service.address, RESPONSES, key, &background("[[hang-mid]] a b c"));
        let head = raw.head();
        let read = read_until(&mut raw, "response.output_text.delta");
        let path = format!("{RESPONSES}/{}", id_in(&read));
        let path = if method == Method::POST { path + "/cancel" } else { path };
        service.send(method, &path, Some(key), None).good();
        let found = receipt(&service, &ada, head.header("x-receipt-id"));
        assert_eq!(found, ("cancelled_late".to_owned(), PRICE));
        assert_eq!(paid(&service, &ada), (1 + i64::try_from(count).unwrap()) * PRICE);
    }
}

#[test]
fn cancelled_background_response_is_replayed_if_it_was_charged() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let bearer = format!("Bearer {}", ada.key.as_str());
    let headers = [("authorization", bearer.as_str()), ("idempotency-key", "word")];
    let mut body = background("[[hang-mid]] a b c");
    let mut raw = Raw::post_with(service.address, RESPONSES, &headers, &body);
    raw.head();
    let id = id_in(&read_until(&mut raw, "response.output_text.delta"));
    let path = format!("{RESPONSES}/{id}/cancel");
    service.send(Method::POST, &path, Some(ada.key.as_str()), None).good();
    let mut again = Raw::post_with(service.address, RESPONSES, &headers, &body);
    assert_eq!(again.head().header("idempotent-replayed"), "true");
    assert!(again.body().contains("response.output_text.delta"));
    body["stream"] = false.into();
    assert_eq!(Raw::post_with(service.address, RESPONSES, &headers, &body).head().status, 422);
    assert_eq!((paid(&service, &ada), upstream.completions().len()), (PRICE, 1));
}

/// Reads nothing until the upstream is held back and this time has passed.
fn pause(upstream: &Upstream, time: Duration) {
    let begun = Instant::now();
    let (mut last, mut unchanged) = (0, 0);
    eventually("the upstream is held back", || {
        let now = upstream.completions()[0].sent_bytes;
        unchanged = if now > 0 && now == last { unchanged + 1 } else { 0 };
        last = now;
        unchanged >= 20 && begun.elapsed() > time
    });
}

#[test]
fn stream_limit_does_not_count_the_time_of_a_slow_client() {
    const LIMIT: Duration = Duration::from_secs(4);
    let upstream = Upstream::start();
    let limits = format!("limits: {{max_stream_seconds: {}}}\n", LIMIT.as_secs());
    // Passed on: what is translated has a limit.
    let provider = "kind: anthropic, models: [echo], health: false";
    let service = Running::start(&with_one(&upstream, provider, &limits));
    let ada = service.holder("ada", 1000 * PRICE);
    let body = message_stream(&format!("[[endless]]{} a", "x".repeat(8000)));
    let mut raw = Raw::post(service.address, MESSAGES, ada.key.as_str(), &body);
    let id = raw.head().header("x-receipt-id").to_owned();
    pause(&upstream, LIMIT + Duration::from_secs(1));
    // More than was under way goes through, so that the stream has not ended.
    let stalled = upstream.completions()[0].sent_bytes;
    let mut read = 0;
    while read < stalled + 1024 * 1024 {
        let piece = raw.piece().unwrap();
        assert!(!piece.windows(7).any(|text| text == b"\"error\""), "the stream broke off");
        read += piece.len();
    }
    drop(raw);
    assert_eq!(receipt(&service, &ada, &id), ("client_left_late".to_owned(), PRICE));
}

#[test]
fn answer_at_the_stream_limit_is_charged_if_it_had_content() {
    let upstream = Upstream::start();
    let limits = "limits: {max_stream_seconds: 1, keepalive_comment: 0.2}\n";
    let (service, ada) = service_with(&upstream, limits);
    for (path, body) in [(CHAT, chat_stream as fn(&str) -> Value), (MESSAGES, message_stream)] {
        let ask = |step: &str| {
            let body = body(&format!("[[{step}]] a b c"));
            let mut raw = Raw::post(service.address, path, ada.key.as_str(), &body);
            let head = raw.head();
            (receipt(&service, &ada, head.header("x-receipt-id")), raw.body())
        };
        let (found, text) = ask("drip-1000-20");
        assert_eq!(found, ("stream_limit".to_owned(), PRICE));
        assert!(text.contains("it exceeded the time limit; the request is charged"), "{text}");
        // An upstream that stalls has failed.
        let (found, text) = ask("hang-mid");
        assert_eq!(found, ("upstream_failed".to_owned(), 0), "{text}");
    }
    assert_eq!(paid(&service, &ada), 2 * PRICE);
}

#[test]
fn charged_stream_that_reached_its_limit_is_replayed() {
    let upstream = Upstream::start();
    let (service, ada) = service_with(&upstream, "limits: {max_stream_seconds: 1}\n");
    let bearer = format!("Bearer {}", ada.key.as_str());
    let headers = [("authorization", bearer.as_str()), ("idempotency-key", "word")];
    let ask = || {
        let body = chat_stream("[[drip-1000-20]] a b c");
        let mut raw = Raw::post_with(service.address, CHAT, &headers, &body);
        (raw.head(), raw.body())
    };
    let (_, first) = ask();
    let (head, again) = ask();
    assert_eq!(head.header("idempotent-replayed"), "true");
    assert_eq!(again, first);
    assert_eq!((paid(&service, &ada), upstream.completions().len()), (PRICE, 1));
}

#[test]
fn broken_upstream_stream_is_free_even_after_content() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    for step in ["cut-after-2", "reset-mid", "error-event", "no-done"] {
        let body = chat_stream(&format!("[[{step}]] a b c"));
        let mut raw = Raw::post(service.address, CHAT, ada.key.as_str(), &body);
        let head = raw.head();
        assert!(raw.body().contains("nothing was charged"), "{step}");
        let found = receipt(&service, &ada, head.header("x-receipt-id"));
        assert_eq!(found, ("upstream_failed".to_owned(), 0), "{step}");
    }
    assert_eq!(paid(&service, &ada), 0);
}

#[test]
fn stream_headers_contain_the_price_instead_of_a_charge() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let key = ada.key.as_str();
    let head = |path: &str, body: &Value| {
        let mut raw = Raw::post(service.address, path, key, body);
        let head = raw.head();
        raw.body();
        (head.header("x-price-micros").to_owned(), head.header("x-charge-micros").to_owned())
    };
    let set_aside = (PRICE.to_string(), String::new());
    assert_eq!(head(CHAT, &chat_stream("[[cut-after-2]] a b c")), set_aside);
    assert_eq!(head(CHAT, &chat_stream("a b c")), set_aside);
    assert_eq!(head(RESPONSES, &background("a b c")), set_aside);
    let whole = head(CHAT, &crate::fixture::chat("a b c"));
    assert_eq!(whole, (String::new(), PRICE.to_string()));
}

#[test]
fn answers_name_the_requested_model() {
    let upstream = Upstream::start();
    let more = "kind: openai, models: [echo], health: false";
    let aliases = "models: {best: up/echo}\n";
    let text = crate::fixture::with_one(&upstream, more, aliases);
    let service = Running::start(&text);
    let ada = service.holder("ada", 1000 * PRICE);
    for model in ["up/echo", "best"] {
        for path in [CHAT, RESPONSES] {
            for is_streamed in [false, true] {
                let mut body = crate::fixture::chat("a b");
                body["input"] = "a b".into();
                body["model"] = model.into();
                body["stream"] = is_streamed.into();
                let answer = service.post(path, ada.key.as_str(), &body);
                let text = answer.text();
                let names: Vec<&str> = text
                    .split("\"model\":\"")
                    .skip(1)
                    .map(|after| after.split('"').next().unwrap())
                    .collect();
                assert!(!names.is_empty(), "{text}");
                assert!(names.iter().all(|name| *name == model), "{path} {names:?}");
            }
        }
    }
}
