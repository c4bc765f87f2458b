//! What a small model cannot do, and when it has too much to do.

use agent_test_support::upstream::Upstream;
use agent_test_support::wait::eventually;
use serde_json::json;

use super::{CHAT, MESSAGES, MODEL, begun, long_stream, provider, question, service, with};
use crate::fixture::{PLAIN, paid, provider as plain, with_providers};
use crate::raw::Raw;
use crate::support::{ADMIN_TOKEN, PRICE, Running};

#[test]
fn unsupported_features_are_rejected_by_name_and_free() {
    let (service, ada) = service("");
    let tools = json!([{"type": "function", "function": {"name": "f", "parameters": {}}}]);
    for (more, param, says) in [
        (json!({"tools": tools}), "tools", "this model does not support tools"),
        (json!({"n": 3}), "n", "must be 1"),
        (json!({"temperature": 3}), "temperature", "from 0 to 2"),
        (json!({"response_format": {"type": "json_object"}}), "response_format", "`text` only"),
        (
            json!({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}),
            "messages[0].content[0]",
            "text only",
        ),
    ] {
        for stream in [false, true] {
            let asked = with(with(question("hi"), &more), &json!({"stream": stream}));
            let answer = service.post(CHAT, ada.key.as_str(), &asked);
            assert_eq!(answer.failure(), (400, "invalid_request".to_owned()), "{more}");
            assert_eq!(answer.header("x-charge-micros"), "0");
            let error = &answer.json()["error"];
            assert_eq!(error["param"], param);
            assert!(error["message"].as_str().unwrap().contains(says), "{error}");
        }
    }
    let asked =
        json!({"model": MODEL, "input": "hi", "tools": [{"type": "function", "name": "f"}]});
    let answer = service.post("/v1/responses", ada.key.as_str(), &asked);
    assert_eq!(answer.failure(), (400, "invalid_request".to_owned()));
    assert_eq!(paid(&service, &ada), 0);
}

#[test]
fn unsupported_paths_are_rejected_by_name() {
    let (service, ada) = service("");
    for (path, field, says) in [
        ("/v1/embeddings", "input", "embeddings"),
        ("/v1/completions", "prompt", "POST /v1/chat/completions"),
    ] {
        let answer = service.post(path, ada.key.as_str(), &json!({"model": MODEL, field: "hi"}));
        assert_eq!(answer.failure(), (400, "model_not_for_capability".to_owned()), "{path}");
        let message = answer.json()["error"]["message"].to_string();
        assert!(message.contains(MODEL) && message.contains(says), "{message}");
    }
    let mut asked = with(question("hi"), &json!({"max_tokens": 9}));
    asked["tools"] = json!([{"name": "f", "input_schema": {"type": "object"}}]);
    let answer = service.post(MESSAGES, ada.key.as_str(), &asked);
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("does not support tools"), "{}", answer.text());
    assert_eq!(paid(&service, &ada), 0);
}

#[test]
fn a_too_long_conversation_is_rejected_with_both_sizes() {
    let (service, ada) = service(", window: 256");
    let long = "once upon a time ".repeat(200);
    let answer = service.post(CHAT, ada.key.as_str(), &question(&long));
    assert_eq!(answer.failure(), (400, "context_length_exceeded".to_owned()));
    let error = &answer.json()["error"];
    assert_eq!(error["param"], "messages");
    let message = error["message"].as_str().unwrap();
    let numbers = message.split(|letter: char| !letter.is_ascii_digit());
    let numbers: Vec<u32> = numbers.filter_map(|number| number.parse().ok()).collect();
    assert!(numbers.len() == 2 && numbers[0] > 800 && numbers[1] == 256, "{message}");
    assert_eq!(paid(&service, &ada), 0);
    // What the window has no room for is not answered either.
    let asked = with(question("Tell me a very long story."), &json!({"max_tokens": 4000}));
    let answer = service.post(CHAT, ada.key.as_str(), &asked).good();
    assert!(answer["usage"]["total_tokens"].as_u64().unwrap() <= 256, "{answer}");
}

#[test]
fn full_queue_returns_429_until_a_slot_is_free() {
    let (service, ada) = service(", max_concurrency: 1, max_waiting: 0");
    let mut first = Raw::post(service.address, CHAT, ada.key.as_str(), &long_stream());
    assert_eq!(first.head().status, 200);
    begun(&mut first);
    let answer = service.post(CHAT, ada.key.as_str(), &question("hi"));
    assert_eq!(answer.failure(), (429, "model_busy".to_owned()));
    assert!(answer.header("retry-after").parse::<u64>().unwrap() >= 1);
    assert_eq!(answer.header("x-charge-micros"), "0");
    drop(first);
    eventually("its place is free again", || {
        service.post(CHAT, ada.key.as_str(), &question("hi")).status == 200
    });
    assert_eq!(paid(&service, &ada), 2 * PRICE);
}

#[test]
fn unsupported_request_is_sent_to_another_provider() {
    let upstream = Upstream::start();
    let providers = [provider(", window: 256"), plain("up", &upstream, PLAIN)];
    let rest =
        "models: {any: [here/smol, up/echo], small: here/smol}\nadmin_token: ${ADMIN_TOKEN}\n";
    let service = Running::start(&with_providers(&providers, rest));
    let ada = service.holder("ada", 1000 * PRICE);
    let any = json!({"model": "any"});
    let tools = json!([{"type": "function", "function": {"name": "f", "parameters": {}}}]);
    let long = with(question(&"once upon a time ".repeat(200)), &any);
    for asked in [with(with(question("hi"), &any), &json!({"tools": tools})), long] {
        assert_eq!(service.post(CHAT, ada.key.as_str(), &asked).status, 200);
    }
    assert_eq!(upstream.completions().len(), 2);
    assert_eq!(service.post(CHAT, ada.key.as_str(), &with(question("hi"), &any)).status, 200);
    assert_eq!(upstream.completions().len(), 2);
    // Nothing of this speaks against its health.
    let known = service.get("/admin/v1/providers", ADMIN_TOKEN).good();
    assert_eq!(known["data"][0]["usable"], true, "{known}");
    let listed = service.get("/v1/models", ada.key.as_str()).good();
    let tools = |id: &str| {
        let all = listed["data"].as_array().unwrap();
        all.iter().find(|model| model["id"] == id).unwrap()["tools"].clone()
    };
    assert_eq!((tools("small"), tools("any")), (json!(false), json!(null)));
}
