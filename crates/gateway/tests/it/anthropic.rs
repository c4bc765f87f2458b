//! What an upstream of the messages interface is asked, and what becomes of its answers.

use agent_test_support::upstream::Upstream;
use serde_json::{Value, json};

use crate::fixture::with_one;
use crate::raw::events;
use crate::support::{Holder, PRICE, Running};

fn setup() -> (Upstream, Running, Holder) {
    let upstream = Upstream::start();
    let provider = "kind: anthropic, health: false, models: {echo: {name: echo-20991231}}";
    let service = Running::start(&with_one(&upstream, provider, ""));
    let ada = service.holder("ada", 10 * PRICE);
    (upstream, service, ada)
}

fn asked(upstream: &Upstream) -> Value {
    let seen = upstream.completions().pop().unwrap();
    assert_eq!(seen.path, "/v1/messages");
    assert_eq!(seen.header("x-api-key"), Some(upstream.key()));
    assert_eq!(seen.header("authorization"), None);
    assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
    seen.json()
}

#[test]
fn a_chat_is_translated_to_the_messages_api() {
    let (upstream, service, ada) = setup();
    let pixel = "data:image/png;base64,iVBORw0KGgo=";
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let body = json!({
        "model": "up/echo",
        "max_completion_tokens": 77,
        "temperature": 0.5,
        "stop": ["END"],
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": [
                {"type": "text", "text": "the weather here?"},
                {"type": "image_url", "image_url": {"url": pixel}},
            ]},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function",
                "function": {"name": "weather", "arguments": "{\"city\":\"Bern\"}"}}]},
            {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
        ],
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": schema}}],
    });
    let answer = service.post("/v1/chat/completions", ada.key.as_str(), &body).good();
    assert_eq!(answer["choices"][0]["message"]["content"], "tool said: rain");
    assert_eq!(answer["object"], "chat.completion");
    assert!(answer["id"].as_str().unwrap().starts_with("chatcmpl-"));
    assert_eq!(answer["usage"]["total_tokens"], 106);
    let asked = asked(&upstream);
    assert_eq!((&asked["model"], &asked["max_tokens"]), (&json!("echo-20991231"), &json!(77)));
    assert_eq!((&asked["temperature"], &asked["stop_sequences"]), (&json!(0.5), &json!(["END"])));
    assert_eq!(
        asked["messages"][0]["content"][1]["source"],
        json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="})
    );
    assert_eq!(asked["messages"][1]["content"][0]["input"], json!({"city": "Bern"}));
    assert_eq!(asked["messages"][2]["content"][0]["tool_use_id"], "call_1");
    assert_eq!(asked["tools"][0]["input_schema"], schema);
}

#[test]
fn a_stream_is_translated_to_chunks_and_response_events() {
    let (_upstream, service, ada) = setup();
    let chat = json!({"model": "up/echo", "stream": true, "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": "one two"}]});
    let answer = service.post("/v1/chat/completions", ada.key.as_str(), &chat);
    let mut chunks = events(answer.text());
    assert_eq!(chunks.pop().unwrap(), "[DONE]");
    let usage = chunks.pop().unwrap();
    assert_eq!((&usage["choices"], &usage["usage"]["total_tokens"]), (&json!([]), &json!(4)));
    assert_eq!(chunks.pop().unwrap()["choices"][0]["finish_reason"], "stop");
    let said: String = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(said, "one two");
    let body = json!({"model": "up/echo", "stream": true, "input": "one two"});
    let answer = service.post("/v1/responses", ada.key.as_str(), &body);
    let last = events(answer.text()).pop().unwrap();
    assert_eq!(last["type"], "response.completed");
    assert_eq!(last["response"]["usage"]["total_tokens"], 4);
    assert_eq!(service.account(ada.member).balance.get(), 8 * PRICE);
}

#[test]
fn untranslatable_request_is_rejected_and_free() {
    let (upstream, service, ada) = setup();
    let body = json!({"model": "up/echo", "n": 2, "messages": [{"role": "user", "content": "x"}]});
    let answer = service.post("/v1/chat/completions", ada.key.as_str(), &body);
    assert_eq!(answer.failure(), (400, "invalid_request".to_owned()));
    assert_eq!(answer.json()["error"]["param"], "n");
    assert_eq!(answer.header("x-charge-micros"), "0");
    assert_eq!(upstream.completions().len(), 0);
    assert_eq!(service.account(ada.member).balance.get(), 10 * PRICE);
}
