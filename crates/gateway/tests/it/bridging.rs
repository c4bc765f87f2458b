//! Whether an upstream speaks the responses interface, as it shows by what it answers.

use agent_test_support::upstream::{Step, Upstream};
use serde_json::json;

use crate::fixture::{paid, response, service};
use crate::support::PRICE;

const RESPONSES: &str = "/v1/responses";
const CHAT: &str = "/v1/chat/completions";

fn paths(upstream: &Upstream) -> Vec<String> {
    upstream.completions().into_iter().map(|seen| seen.path.clone()).collect()
}

fn not_there(media_type: &str, body: &str) -> Step {
    Step::Raw { status: 404, media_type: media_type.to_owned(), body: body.as_bytes().to_vec() }
}

#[test]
fn an_unknown_model_does_not_disable_the_responses_api() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    upstream.script("echo", vec![Step::Status(404); 2]);
    for _ in 0..2 {
        let answer = service.post(RESPONSES, ada.key.as_str(), &response("hi"));
        assert_eq!(answer.failure(), (503, "upstream_unavailable".to_owned()));
    }
    // It gets no chat request, and keeps getting responses requests.
    assert_eq!(service.post(RESPONSES, ada.key.as_str(), &response("hi")).status, 200);
    assert_eq!(paths(&upstream), [RESPONSES; 3]);
    assert_eq!(paid(&service, &ada), PRICE);
}

#[test]
fn an_upstream_without_the_responses_api_gets_chat_requests() {
    let pages = [
        not_there("application/json", r#"{"detail":"Not Found"}"#),
        not_there("application/json", r#"{"error":{"message":"Invalid URL","code":null}}"#),
        not_there("text/html", "<html>404</html>"),
        not_there("text/plain", ""),
    ];
    for page in pages {
        let upstream = Upstream::start();
        let (service, ada) = service(&upstream);
        upstream.script("echo", vec![page.clone()]);
        for _ in 0..2 {
            let answer = service.post(RESPONSES, ada.key.as_str(), &response("hi"));
            assert_eq!(answer.status, 200, "{page:?} {}", answer.text());
        }
        // The second time this is known.
        assert_eq!(paths(&upstream), [RESPONSES, CHAT, CHAT], "{page:?}");
        assert_eq!(paid(&service, &ada), 2 * PRICE);
    }
}

#[test]
fn an_upstream_with_neither_api_is_tried_again() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let page = not_there("application/json", r#"{"detail":"Not Found"}"#);
    upstream.script("echo", vec![page, Step::Status(404)]);
    let answer = service.post(RESPONSES, ada.key.as_str(), &response("hi"));
    assert_eq!(answer.failure(), (503, "upstream_unavailable".to_owned()));
    assert_eq!(service.post(RESPONSES, ada.key.as_str(), &response("hi")).status, 200);
    assert_eq!(paths(&upstream), [RESPONSES, CHAT, RESPONSES]);
}

/// A request as Codex sends it.
fn codex(tools: &serde_json::Value) -> serde_json::Value {
    json!({
        "model": "up/echo",
        "instructions": "You are a coding agent.",
        "input": [{"type": "message", "role": "user",
                   "content": [{"type": "input_text", "text": "hi"}]}],
        "tools": tools,
        "tool_choice": "auto",
        "parallel_tool_calls": false,
        "reasoning": {"effort": "medium", "summary": "auto"},
        "store": false,
        "stream": true,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "0198c5a4",
        "client_metadata": {"x-codex-installation-id": "a"},
    })
}

fn shell() -> serde_json::Value {
    json!({"type": "function", "name": "shell", "description": "Runs a command", "strict": false,
           "parameters": {"type": "object", "properties": {"command": {"type": "string"}}}})
}

#[test]
fn a_codex_request_is_bridged_to_chat_completions() {
    for status in [404, 405] {
        let upstream = Upstream::start();
        let (service, ada) = service(&upstream);
        let page = Step::Raw { status, media_type: "text/plain".to_owned(), body: Vec::new() };
        upstream.script("echo", vec![page]);
        for _ in 0..2 {
            let answer = service.post(RESPONSES, ada.key.as_str(), &codex(&json!([shell()])));
            assert_eq!(answer.status, 200, "{}", answer.text());
            assert!(answer.text().contains("event: response.completed"), "{}", answer.text());
        }
        assert_eq!(paths(&upstream), [RESPONSES, CHAT, CHAT], "{status}");
        let asked = upstream.completions().pop().unwrap().body.clone();
        let asked: serde_json::Value = serde_json::from_slice(&asked).unwrap();
        assert!(asked.get("client_metadata").is_none(), "{asked}");
        assert_eq!(asked["tools"][0]["function"]["name"], "shell");
        assert_eq!(paid(&service, &ada), 2 * PRICE);
    }
}

#[test]
fn unbridgeable_requests_are_rejected_and_free() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    upstream.script("echo", vec![not_there("text/plain", "404 page not found")]);
    let tools = json!([shell(), {"type": "some_future_tool", "name": "x"}]);
    // A tool that cannot run here is left out, unless the request insists on it.
    let mut sent = codex(&tools);
    sent["tool_choice"] = json!({"type": "some_future_tool"});
    let answer = service.post(RESPONSES, ada.key.as_str(), &sent);
    assert_eq!(answer.failure(), (400, "invalid_request".to_owned()), "{}", answer.text());
    assert!(answer.text().contains("some_future_tool"), "{}", answer.text());
    assert_eq!(answer.json()["error"]["param"], "tool_choice.type");
    assert_eq!(paid(&service, &ada), 0);
}
