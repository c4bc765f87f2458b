//! `POST /v1/messages`: passed on to upstreams of the kind `anthropic`, translated for others.

use agent_test_support::sdk;
use agent_test_support::upstream::{Step, Upstream};
use serde_json::{Value, json};

use crate::fixture::{provider, receipt, with_providers};
use crate::raw::events;
use crate::support::{Answer, Holder, PRICE, Running};

const PATH: &str = "/v1/messages";

struct Setup {
    claude: Upstream,
    open: Upstream,
    service: Running,
    ada: Holder,
}

fn setup() -> Setup {
    let [claude, open] = std::array::from_fn(|_| Upstream::start());
    let providers = [
        provider(
            "claude",
            &claude,
            "kind: anthropic, models: {echo: {name: echo-20991231}}, health: false",
        ),
        provider("open", &open, "kind: openai, models: [echo], health: false"),
    ];
    let service = Running::start(&with_providers(&providers, ""));
    let ada = service.holder("ada", 100 * PRICE);
    Setup { claude, open, service, ada }
}

fn body(model: &str, text: &str) -> Value {
    json!({"model": model, "max_tokens": 100, "messages": [{"role": "user", "content": text}]})
}

fn streamed(model: &str, text: &str) -> Value {
    let mut body = body(model, text);
    body["stream"] = true.into();
    body
}

impl Setup {
    fn post(&self, body: &Value) -> Answer {
        self.service.post(PATH, self.ada.key.as_str(), body)
    }

    /// Sends a request as Anthropic's clients do.
    fn with_headers(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        let mut request = http::Request::builder().method("POST").uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.header("content-type", "application/json");
        self.service.send_raw(request.body(body.to_string().into_bytes()).unwrap())
    }

    fn rule(&self, answer: &Answer) -> (String, i64) {
        receipt(&self.service, &self.ada, answer.header("x-receipt-id"))
    }
}

fn kinds(answer: &Answer) -> Vec<String> {
    events(answer.text()).iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
}

fn text_of(answer: &Answer) -> String {
    let events = events(answer.text());
    events.iter().filter_map(|event| event["delta"]["text"].as_str()).collect()
}

#[test]
fn anthropic_upstream_receives_the_body_unchanged() {
    let setup = setup();
    let mut sent = body("claude/echo", "hello there");
    sent["system"] =
        json!([{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}]);
    sent["context_management"] = json!({"edits": [{"type": "some", "keep": 1.0}]});
    let headers = [
        ("x-api-key", setup.ada.key.as_str()),
        ("anthropic-version", "2023-06-01"),
        ("anthropic-beta", "a,b"),
    ];
    let answer = setup.with_headers(PATH, &headers, &sent);
    let message = answer.good();
    assert_eq!((&message["type"], &message["model"]), (&json!("message"), &json!("claude/echo")));
    assert_eq!(message["content"][0]["text"], "hello there");
    assert_eq!(answer.header("request-id"), answer.header("x-request-id"));
    assert_eq!(setup.rule(&answer).1, PRICE);

    let seen = setup.claude.completions().pop().unwrap();
    assert_eq!((seen.path.as_str(), seen.header("anthropic-beta")), ("/v1/messages", Some("a,b")));
    assert_eq!(seen.header("x-api-key"), Some(setup.claude.key()));
    sent["model"] = "echo-20991231".into();
    sent["stream"] = false.into();
    assert_eq!(seen.json(), sent);
}

#[test]
fn streams_of_an_anthropic_upstream_are_passed_through() {
    let setup = setup();
    let answer = setup.post(&streamed("claude/echo", "one two"));
    let all = events(answer.text());
    assert_eq!(all[0]["message"]["model"], "claude/echo");
    assert_eq!(text_of(&answer), "one two");
    assert_eq!(kinds(&answer).last().unwrap(), "message_stop");
    let (_, charged) = setup.rule(&answer);
    assert_eq!(charged, PRICE);
}

#[test]
fn chat_answer_is_translated_to_a_message() {
    let setup = setup();
    let mut sent = body("open/echo", "use the tool now");
    sent["tools"] = json!([{"name": "weather", "description": "d", "input_schema":
        {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}]);
    let message = setup.post(&sent).good();
    assert_eq!(
        (&message["model"], &message["stop_reason"]),
        (&json!("open/echo"), &json!("tool_use"))
    );
    let call = message["content"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&call["type"], &call["name"]), (&json!("tool_use"), &json!("weather")));
    assert!(call["input"]["city"].is_string(), "{call}");

    let turns = sent["messages"].as_array_mut().unwrap();
    turns.push(json!({"role": "assistant", "content": message["content"]}));
    turns.push(json!({"role": "user", "content":
        [{"type": "tool_result", "tool_use_id": call["id"], "content": "rain"}]}));
    let message = setup.post(&sent).good();
    assert_eq!(message["content"][0]["text"], "tool said: rain");
    assert!(message["usage"]["input_tokens"].as_u64().unwrap() > 0, "{message}");
    let seen = setup.open.completions().pop().unwrap();
    assert_eq!(seen.path, "/v1/chat/completions");
}

#[test]
fn chat_stream_is_translated_to_message_events() {
    let setup = setup();
    let answer = setup.post(&streamed("open/echo", "one two"));
    assert_eq!(text_of(&answer), "one two");
    let kinds = kinds(&answer);
    assert_eq!(kinds[..3], ["message_start", "ping", "content_block_start"]);
    assert_eq!(kinds[kinds.len() - 3..], ["content_block_stop", "message_delta", "message_stop"]);
    assert_eq!(setup.rule(&answer).1, PRICE);
    setup.service.check_ledger();
}

#[test]
fn errors_have_the_anthropic_format() {
    let setup = setup();
    let key = setup.ada.key.as_str();
    let failure = |answer: &Answer| {
        let body = answer.json();
        assert_eq!(
            (&body["type"], &body["request_id"]),
            (&json!("error"), &json!(answer.header("request-id")))
        );
        (
            answer.status,
            body["error"]["type"].as_str().unwrap().to_owned(),
            body["error"]["message"].to_string(),
        )
    };
    let (status, kind, _) =
        failure(&setup.service.post(PATH, "agk_wrong", &body("open/echo", "x")));
    assert_eq!((status, &*kind), (401, "authentication_error"));
    let (status, kind, message) = failure(&setup.post(&body("open/other", "x")));
    assert_eq!((status, &*kind), (404, "not_found_error"));
    assert!(message.contains("open/other"), "{message}");
    let (status, kind, message) = failure(
        &setup.post(&json!({"model": "open/echo", "messages": [{"role": "user", "content": "x"}]})),
    );
    assert_eq!((status, &*kind), (400, "invalid_request_error"));
    assert!(message.contains("max_tokens"), "{message}");
    let mut sent = body("open/echo", "x");
    sent["mcp_servers"] = json!([{"type": "url", "url": "https://x.example", "name": "x"}]);
    let (status, _, message) = failure(&setup.post(&sent));
    assert!(status == 400 && message.contains("mcp_servers"), "{message}");
    sent = body("open/echo", "x");
    sent["messages"][0]["content"] =
        json!([{"type": "image", "source": {"type": "url", "url": "http://10.0.0.1/x.png"}}]);
    let (status, _, message) = failure(&setup.post(&sent));
    assert!(status == 400 && message.contains("source.url"), "{message}");
    let poor = setup.service.holder("poor", PRICE - 1);
    let (status, kind, _) =
        failure(&setup.service.post(PATH, poor.key.as_str(), &body("open/echo", "x")));
    assert_eq!((status, &*kind), (402, "billing_error"));
    let (status, kind, _) = failure(&setup.post(&body("open/echo", "[[status-500]]")));
    assert_eq!((status, &*kind), (503, "overloaded_error"));
    assert_eq!(setup.service.account(setup.ada.member).balance.get(), 100 * PRICE);
    let wrong = setup.with_headers(PATH, &[("x-api-key", key)], &json!(["not an object"]));
    assert_eq!(failure(&wrong).0, 400);
}

#[test]
fn broken_stream_ends_with_an_error_event() {
    let setup = setup();
    for model in ["claude/echo", "open/echo"] {
        let upstream = if model.starts_with("claude") { &setup.claude } else { &setup.open };
        let name = if model.starts_with("claude") { "echo-20991231" } else { "echo" };
        upstream.script(name, vec![Step::CutAfter(4)]);
        let answer = setup.post(&streamed(model, "one two three four five"));
        let last = events(answer.text()).pop().unwrap();
        assert_eq!(last["type"], "error", "{}", answer.text());
        assert_eq!(last["error"]["type"], "overloaded_error");
        assert!(answer.text().contains("event: error\n"), "{}", answer.text());
    }
    setup.service.check_ledger();
}

#[test]
fn idempotency_key_of_a_message_is_charged_once() {
    let setup = setup();
    for model in ["claude/echo", "open/echo"] {
        let headers = [("x-api-key", setup.ada.key.as_str()), ("idempotency-key", model)];
        let first = setup.with_headers(PATH, &headers, &streamed(model, "hello"));
        let again = setup.with_headers(PATH, &headers, &streamed(model, "hello"));
        assert_eq!(first.text(), again.text());
        assert_eq!(again.header("idempotent-replayed"), "true");
    }
    assert_eq!(setup.service.account(setup.ada.member).balance.get(), 98 * PRICE);
}

#[test]
fn tokens_are_counted_by_the_upstream_or_estimated() {
    let setup = setup();
    let path = "/v1/messages/count_tokens";
    let mut sent = body("open/echo", &"word ".repeat(400));
    sent.as_object_mut().unwrap().remove("max_tokens");
    let key = setup.ada.key.as_str();
    let estimate = setup.service.post(path, key, &sent).good()["input_tokens"].as_u64().unwrap();
    assert!((300..800).contains(&estimate), "{estimate}");
    sent["model"] = "claude/echo".into();
    let answer = setup.service.post(path, key, &sent);
    assert_eq!(answer.good(), json!({"input_tokens": 401}));
    let seen = setup.claude.completions().pop().unwrap();
    assert_eq!(seen.path, path);
    assert_eq!(setup.service.account(setup.ada.member).balance.get(), 100 * PRICE);
}

#[test]
fn models_have_the_anthropic_format_if_its_version_is_sent() {
    let setup = setup();
    let get = |path: &str| {
        let request =
            http::Request::builder().uri(path).header("x-api-key", setup.ada.key.as_str());
        let request = request.header("anthropic-version", "2023-06-01");
        setup.service.send_raw(request.body(Vec::new()).unwrap())
    };
    let all = get("/v1/models").good();
    assert_eq!((&all["first_id"], &all["last_id"]), (&json!("claude/echo"), &json!("open/echo")));
    assert_eq!(all["has_more"], false);
    assert_eq!(all["data"][0]["type"], "model");
    let page = get("/v1/models?limit=1").good();
    assert_eq!((&page["has_more"], &page["last_id"]), (&json!(true), &json!("claude/echo")));
    let rest = get("/v1/models?limit=1&after_id=claude/echo").good();
    assert_eq!((&rest["has_more"], &rest["last_id"]), (&json!(false), &json!("open/echo")));
    let one = get("/v1/models/open/echo").good();
    assert_eq!((&one["id"], &one["type"]), (&json!("open/echo"), &json!("model")));
    let none = get("/v1/models/open/none");
    assert_eq!((none.status, &none.json()["error"]["type"]), (404, &json!("not_found_error")));
    // Without the header it is the list of OpenAI.
    assert_eq!(setup.service.get("/v1/models", setup.ada.key.as_str()).good()["object"], "list");
}

/// Runs a script of one of Anthropic's clients.
fn run(setup: &Setup, client: sdk::Client, script: &str) -> Value {
    let (origin, poor) = (setup.service.origin(), setup.service.holder("poor", PRICE - 1));
    let environment = [
        ("ANTHROPIC_BASE_URL", origin.as_str()),
        ("ANTHROPIC_API_KEY", setup.ada.key.as_str()),
        ("POOR_KEY", poor.key.as_str()),
    ];
    client.run(script, &environment)
}

/// An answer of Anthropic's interface with a signed thought.
fn thought_and_signed() -> Step {
    let delta = |index: u8, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let start = |index: u8, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let stop = |index: u8| json!({"type": "content_block_stop", "index": index});
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [], "stop_reason": null, "usage": {"input_tokens": 1, "output_tokens": 1}});
    let events = [
        json!({"type": "message_start", "message": message}),
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "I wonder"})),
        delta(0, json!({"type": "signature_delta", "signature": "c2lnbmVk"})),
        stop(0),
        start(1, json!({"type": "text", "text": ""})),
        delta(1, json!({"type": "text_delta", "text": "done"})),
        stop(1),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
    ];
    let event =
        |data: &Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap());
    Step::RawStream(events.iter().map(|data| event(data).into_bytes()).collect())
}

/// An answer of a chat with a thought.
fn thought() -> Step {
    let chunk = |delta: Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [choice]});
        format!("data: {chunk}\n\n").into_bytes()
    };
    Step::RawStream(vec![
        chunk(json!({"role": "assistant", "reasoning_content": "I wonder"}), Value::Null),
        chunk(json!({"content": "done"}), "stop".into()),
        b"data: [DONE]\n\n".to_vec(),
    ])
}

#[test]
fn anthropic_python_works_with_both_kinds_of_upstream() {
    let setup = setup();
    setup.claude.script("echo-20991231", vec![thought_and_signed()]);
    setup.open.script("echo", vec![thought()]);
    let found = run(&setup, sdk::ANTHROPIC_PYTHON, include_str!("scripts/anthropic.py"));
    for name in ["claude", "open"] {
        let model = format!("{name}/echo");
        let seen = &found[name];
        assert_eq!(seen["plain"], json!(["hello there", "end_turn", model, "assistant"]));
        assert_eq!((&seen["tokens"], &seen["count"]), (&json!(true), &json!(true)));
        assert_eq!(seen["charge"], json!([PRICE.to_string(), true]));
        assert_eq!(seen["stream"], json!([true, 3, "end_turn", model]));
        assert_eq!(
            seen["tool"],
            json!(["tool_use", "weather", true, "tool_use", "tool said: rain"])
        );
        assert_eq!(seen["parallel"], json!(["news", "weather"]));
        assert_eq!(seen["image"], "I saw 1 image");
        assert_eq!(seen["documents"], true);
        // Only Anthropic signs what was thought.
        let signature = if name == "claude" { "c2lnbmVk" } else { "" };
        let thought = json!(["thinking", "I wonder", signature, "done", "go on"]);
        assert_eq!(seen["thinking"], thought);
        assert_eq!(seen["failure"], json!([503, "overloaded_error"]));
    }
    assert_eq!(found["models"], json!(["claude/echo", "open/echo"]));
    assert_eq!(found["model"], "open/echo");
    let sent = |upstream: &Upstream, text: &str| {
        upstream.completions().iter().any(|seen| seen.json().to_string().contains(text))
    };
    assert!(sent(&setup.claude, "c2lnbmVk"), "a signed thought is sent back as it came");
    for upstream in [&setup.claude, &setup.open] {
        assert!(sent(upstream, "JVBERi0=") && sent(upstream, "a lighthouse"));
    }
    let errors =
        json!([["AuthenticationError", 401], ["NotFoundError", 404], ["APIStatusError", 402]]);
    assert_eq!(found["errors"], errors);
    setup.service.check_ledger();
}

#[test]
fn anthropic_node_works_with_both_kinds_of_upstream() {
    let setup = setup();
    let found = run(&setup, sdk::ANTHROPIC_NODE, include_str!("scripts/anthropic.mjs"));
    for name in ["claude", "open"] {
        let model = format!("{name}/echo");
        let seen = &found[name];
        assert_eq!(seen["plain"], json!(["hello there", "end_turn", model]));
        assert_eq!(seen["stream"], json!([true, "end_turn"]));
        assert_eq!(seen["tool"], json!(["weather", true, "tool_use", "tool said: rain"]));
        assert_eq!(seen["ends"], json!(["message_start", "message_stop"]));
        assert_eq!(seen["parallel"], json!(["news", "weather"]));
        assert_eq!((&seen["image"], &seen["count"]), (&json!("I saw 1 image"), &json!(true)));
    }
    assert_eq!(found["models"], json!(["claude/echo", "open/echo"]));
    assert_eq!(found["failure"], json!(["NotFoundError", 404, "not_found_error"]));
    setup.service.check_ledger();
}
