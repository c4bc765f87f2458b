//! The `openai` packages of Python and of Node against the service, with upstreams that speak the
//! responses interface, that do not, and that speak the messages interface.

use agent_test_support::sdk;
use agent_test_support::upstream::{ResponsesApi, Step, Upstream};
use gateway_store::Scope;
use ledger::Limits;
use serde_json::{Value, json};

use crate::fixture::{paid, provider, with_providers};
use crate::support::{Holder, PRICE, Running};

/// Three kinds of upstreams behind one service.
struct Setup {
    native: Upstream,
    bridged: Upstream,
    claude: Upstream,
    service: Running,
    ada: Holder,
    /// What the scripts find in their environment.
    environment: Vec<(&'static str, String)>,
}

fn setup() -> Setup {
    let [native, bridged, claude] = std::array::from_fn(|_| Upstream::start());
    bridged.set_responses(ResponsesApi::Absent);
    let providers = [
        provider("native", &native, "kind: openai, models: [echo, flaky], health: false"),
        provider("bridged", &bridged, "kind: openai, models: [echo], health: false"),
        provider("claude", &claude, "kind: anthropic, models: [echo], health: false"),
    ];
    let service = Running::start(&with_providers(&providers, ""));
    let ada = service.holder("ada", 1000 * PRICE);
    let poor = service.holder("poor", PRICE - 1);
    let limited = |requests_per_minute| {
        let limits = Limits { requests_per_minute: Some(requests_per_minute), ..Limits::default() };
        service.key(ada.member, limits)
    };
    let lists = service.key_with(ada.member, |key| key.scopes = vec![Scope::Models]);
    let claudes = service.key_with(ada.member, |key| key.models = Some(vec!["claude/echo".into()]));
    let environment = vec![
        ("OPENAI_BASE_URL", format!("{}/v1", service.origin())),
        ("OPENAI_API_KEY", ada.key.as_str().to_owned()),
        ("POOR_KEY", poor.key.as_str().to_owned()),
        ("LIST_KEY", lists.as_str().to_owned()),
        ("CLAUDE_KEY", claudes.as_str().to_owned()),
        ("HASTY_KEY", limited(2).as_str().to_owned()),
        ("BRISK_KEY", limited(60).as_str().to_owned()),
    ];
    Setup { native, bridged, claude, service, ada, environment }
}

impl Setup {
    fn run(&self, client: sdk::Client, script: &str) -> Value {
        let environment: Vec<(&str, &str)> =
            self.environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
        client.run(script, &environment)
    }

    /// How many requests the upstreams saw.
    fn asked(&self) -> usize {
        let upstreams = [&self.native, &self.bridged, &self.claude];
        upstreams.iter().map(|upstream| upstream.completions().len()).sum()
    }
}

#[test]
fn chat_works_with_the_openai_python_client() {
    let setup = setup();
    setup.native.script("flaky", vec![Step::Status(429)]);
    let found = setup.run(sdk::OPENAI_PYTHON, include_str!("scripts/chat.py"));
    assert_eq!(
        found["models"],
        json!(["bridged/echo", "claude/echo", "native/echo", "native/flaky"])
    );
    assert_eq!(
        found["model"],
        json!({"id": "claude/echo", "object": "model", "owned_by": "claude", "price_micros": PRICE,
            "capabilities": ["chat", "responses"], "context_length": null})
    );
    let chat = json!({
        "plain": ["hello there", "stop", 4, "chat.completion"],
        "charge": [PRICE.to_string(), true, true],
        "stream": ["c0 c1 c2 ", "stop", 0],
        "usage": [[], 3, 1],
        "tool": ["weather", {"city": "word"}, "tool_calls", "tool said: rain"],
        "streamed_tool": [true, "tool_calls", {"city": "word"}],
        "both": ["weather", "clock"],
        "parsed": {"x": 1, "name": "word"},
        "vision": "I saw 2 images",
    });
    assert_eq!(found["native"], chat);
    assert_eq!(found["claude"], chat);
    let invalid = "invalid_request_error";
    let expected = json!({
        "400": ["BadRequestError", 400, "model_not_found", invalid, "model", true],
        "400 upstream": ["BadRequestError", 400, "invalid_request", invalid, null, true],
        "401": ["AuthenticationError", 401, "invalid_key", "authentication_error", null, true],
        "402": ["APIStatusError", 402, "insufficient_balance", "payment_required", null, true],
        "403": ["PermissionDeniedError", 403, "scope_missing", "permission_error", null, true],
        "403 model": ["PermissionDeniedError", 403, "model_not_allowed", "permission_error", "model", true],
        "404": ["NotFoundError", 404, "not_found", invalid, null, true],
        "409": ["ConflictError", 409, "idempotency_in_progress", "conflict_error", null, true],
        "422": ["UnprocessableEntityError", 422, "idempotency_mismatch", invalid, null, true],
        "429": ["RateLimitError", 429, "rate_limited", "rate_limit_error", null, true],
        "503": ["InternalServerError", 503, "upstream_unavailable", "server_error", null, true],
        "in stream": ["APIError", "upstream_unavailable"],
        "replayed": true,
    });
    assert_eq!(found["errors"], expected);
    assert_eq!(found["retries"], json!(["again", "rates"]));
    // Nine requests of each upstream, one that was kept, and one of each that was tried again.
    assert_eq!(paid(&setup.service, &setup.ada), 21 * PRICE);
    // Those that failed: 400, 500, an event, 429.
    assert_eq!(setup.asked(), 21 + 4);
}

#[test]
fn responses_work_with_the_openai_python_client() {
    let setup = setup();
    let found = setup.run(sdk::OPENAI_PYTHON, include_str!("scripts/responses.py"));
    for model in ["native/echo", "bridged/echo", "claude/echo"] {
        assert_eq!(found[model]["whole"], whole(model), "{model}");
        assert_eq!(found[model]["streams"], streams(), "{model}");
        let background = json!({
            "polled": ["queued", true, "completed", "hello there", 2, true],
            "cancelled": ["cancelled", "cancelled"],
            "failed": ["failed", "server_error"],
            "resumed": [true, "response.completed", "c0 c1 c2 c3 c4 "],
            "again": true,
        });
        assert_eq!(found[model]["background"], background, "{model}");
    }
    // Seven whole ones, three streams, two in the background; what failed or was cancelled is free.
    assert_eq!(paid(&setup.service, &setup.ada), 3 * 12 * PRICE);
    let paths = |upstream: &Upstream| {
        let mut paths: Vec<String> =
            upstream.completions().into_iter().map(|seen| seen.path.clone()).collect();
        paths.dedup();
        paths
    };
    assert_eq!(paths(&setup.native), ["/v1/responses"]);
    assert_eq!(paths(&setup.bridged), ["/v1/responses", "/v1/chat/completions"]);
    assert_eq!(paths(&setup.claude), ["/v1/messages"]);
}

fn whole(model: &str) -> Value {
    // The scripted upstream does not repeat what was asked of it; we do.
    let is_native = model.starts_with("native");
    let asked = if is_native { json!([null, {}]) } else { json!(["be kind", {"a": "b"}]) };
    json!({
        "plain": ["hello there", 4, "completed", model, asked[0], asked[1], true],
        "retrieved": true,
        "items": [["message", "user", "hello there"]],
        "second": ["and more", true],
        "deleted": ["gone", ["NotFoundError", 404, "not_found"],
            ["BadRequestError", 400, "invalid_request"]],
        "tool": ["function_call", "weather", {"city": "word"}, "tool said: rain"],
        "parsed": {"x": 1, "name": "word"},
        "vision": "I saw 1 image",
        "unkept": ["NotFoundError", 404, "not_found"],
        "failed": ["InternalServerError", 503, "upstream_unavailable"],
    })
}

fn streams() -> Value {
    json!({
        "types": ["response.created", "response.in_progress", "response.output_item.added",
            "response.content_part.added", "response.output_text.delta",
            "response.output_text.delta", "response.output_text.done",
            "response.content_part.done", "response.output_item.done", "response.completed"],
        "known": [true, true],
        "ids": 1,
        "usage": 2,
        "helper": [["c0 ", "c1 "], "c0 c1 ", "completed"],
        "tool": [true, true, "weather", {"city": "word"}],
        "cut": ["response.failed", "failed", true],
    })
}

#[test]
fn chat_and_responses_work_with_the_openai_node_client() {
    let setup = setup();
    setup.native.script("flaky", vec![Step::Status(429)]);
    let found = setup.run(sdk::OPENAI_NODE, include_str!("scripts/chat.mjs"));
    assert_eq!(
        found["models"],
        json!(["bridged/echo", "claude/echo", "native/echo", "native/flaky"])
    );
    assert_eq!(found["model"], "bridged/echo");
    for model in ["native/echo", "claude/echo"] {
        let chat = json!({
            "plain": ["hello there", 4],
            "stream": ["c0 c1 c2 ", 0],
            "usage": [3, 1],
            "tool": ["weather", {"city": "word"}, "tool said: rain"],
            "parsed": {"x": 1},
        });
        assert_eq!(found[format!("chat {model}")], chat, "{model}");
    }
    for model in ["native/echo", "bridged/echo", "claude/echo"] {
        let responses = json!({
            "plain": ["hello there", 4],
            "second": ["and more", "and more"],
            "items": ["hello there"],
            "stream": ["c0 c1 ", "completed"],
            "deleted": ["NotFoundError", 404, "not_found"],
            "background": ["queued", "completed", "hello there"],
            "cancelled": "cancelled",
            "resumed": [true, "response.completed"],
        });
        assert_eq!(found[format!("responses {model}")], responses, "{model}");
    }
    let errors = json!({
        "400": ["BadRequestError", 400, "model_not_found"],
        "401": ["AuthenticationError", 401, "invalid_key"],
        "402": ["APIError", 402, "insufficient_balance"],
        "403": ["PermissionDeniedError", 403, "scope_missing"],
        "404": ["NotFoundError", 404, "not_found"],
        "409": ["ConflictError", 409, "idempotency_in_progress"],
        "422": ["UnprocessableEntityError", 422, "idempotency_mismatch"],
        "429": ["RateLimitError", 429, "rate_limited"],
        "503": ["InternalServerError", 503, "upstream_unavailable"],
        "stream": ["APIError", null, "upstream_unavailable"],
        "retried": "again",
    });
    assert_eq!(found["errors"], errors);
    // Six chats of each of two, five responses of each of three, one kept, one tried again.
    assert_eq!(paid(&setup.service, &setup.ada), (2 * 6 + 3 * 5 + 2) * PRICE);
}
