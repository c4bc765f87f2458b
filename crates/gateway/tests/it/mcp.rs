//! `/mcp` byte by byte: who may ask, in both eras of the protocol, and who pays.

use agent_test_support::upstream::{Step, Upstream};
use agent_test_support::wait::eventually;
use gateway_store::Scope;
use http::{Method, Request};
use ledger::Limits;
use serde_json::{Value, json};

use crate::fixture::{PLAIN, paid, receipt, with_one};
use crate::raw::Raw;
use crate::support::{Answer, Holder, PRICE, Running};

const STATELESS: &str = "2026-07-28";
const JSON: (&str, &str) = ("content-type", "application/json");
const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");

struct Setup {
    upstream: Upstream,
    service: Running,
    ada: Holder,
}

fn setup() -> Setup {
    let upstream = Upstream::start();
    let service = Running::start(&with_one(&upstream, PLAIN, ""));
    let ada = service.holder("ada", 1000 * PRICE);
    Setup { upstream, service, ada }
}

/// What a request of the stateless revision says about itself.
fn about() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

impl Setup {
    /// Sends a message as a client of an older revision.
    fn older(&self, message: &Value, more: &[(&str, &str)]) -> Answer {
        let mut headers = vec![ACCEPT, ("mcp-protocol-version", "2025-11-25")];
        headers.extend(more);
        self.send(self.ada.key.as_str(), message, &headers)
    }

    /// Calls a method as a client of the stateless revision.
    fn call(&self, key: &str, method: &str, mut params: Value) -> Answer {
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        params["_meta"] = about();
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let mut headers = vec![ACCEPT, ("mcp-protocol-version", STATELESS), ("mcp-method", method)];
        if !name.is_empty() {
            headers.push(("mcp-name", &name));
        }
        self.send(key, &message, &headers)
    }

    /// The result of a tool that works.
    #[track_caller]
    fn tool(&self, name: &str, arguments: &Value) -> Value {
        let answer = self.call(
            self.ada.key.as_str(),
            "tools/call",
            json!({"name": name, "arguments": arguments}),
        );
        let result = message(&answer)["result"].clone();
        assert_eq!(result["isError"], json!(false), "{result}");
        result
    }

    /// The text, the status and the code of a tool that does not.
    #[track_caller]
    fn failure(&self, key: &str, name: &str, arguments: &Value) -> (String, u64, String) {
        let call = json!({"name": name, "arguments": arguments});
        let answer = self.call(key, "tools/call", call);
        let result = message(&answer)["result"].clone();
        assert_eq!(result["isError"], json!(true), "{result}");
        let meta = &result["_meta"];
        (
            result["content"][0]["text"].as_str().unwrap().to_owned(),
            meta["agent/status"].as_u64().unwrap(),
            meta["agent/code"].as_str().unwrap().to_owned(),
        )
    }

    fn send(&self, key: &str, message: &Value, headers: &[(&str, &str)]) -> Answer {
        let mut request = Request::builder()
            .method(Method::POST)
            .uri("/mcp")
            .header("authorization", format!("Bearer {key}"))
            .header(JSON.0, JSON.1);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.service.send_raw(request.body(message.to_string().into_bytes()).unwrap())
    }
}

/// The one message of an answer: JSON, or the last event of a stream.
#[track_caller]
pub(crate) fn message(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text());
    if answer.header("content-type").starts_with("application/json") {
        return answer.json();
    }
    let lines: Vec<&str> = answer.text().lines().filter_map(|l| l.strip_prefix("data:")).collect();
    let last = lines.iter().rev().find(|line| !line.trim().is_empty()).unwrap();
    serde_json::from_str(last).unwrap()
}

/// The status of a request that was refused, and what programs decide by.
#[track_caller]
pub(crate) fn refusal(answer: &Answer) -> (u16, String) {
    let message = answer.json();
    assert_eq!(message["jsonrpc"], "2.0", "{message}");
    assert!(message["error"]["code"].is_i64() && message["error"]["message"].is_string());
    let data = &message["error"]["data"];
    assert_eq!(data["request_id"], answer.header("x-request-id"), "{message}");
    (answer.status, data["code"].as_str().unwrap().to_owned())
}

fn names(listed: &Value) -> Vec<&str> {
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn a_client_of_the_stateless_revision_discovers_lists_and_calls() {
    let setup = setup();
    let key = setup.ada.key.as_str();
    let discovered = message(&setup.call(key, "server/discover", json!({})));
    let versions = discovered["result"]["supportedVersions"].to_string();
    assert!(versions.contains(STATELESS) && versions.contains("2025-06-18"), "{discovered}");
    let listed = message(&setup.call(key, "tools/list", json!({})));
    assert!(names(&listed).contains(&"web_fetch"), "{listed}");
    assert_eq!(listed["result"]["cacheScope"], "private", "other keys may have other tools");
    for tool in listed["result"]["tools"].as_array().unwrap() {
        assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{tool}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
    }
    let result = setup.tool("ask", &json!({"prompt": "Are you there?", "model": "up/echo"}));
    let said = result["structuredContent"]["answer"].as_str().unwrap();
    assert!(said.contains("Are you there?"), "{result}");
    assert_eq!(result["content"][0]["text"], said);
    assert_eq!(result["_meta"]["agent/charge_micros"], PRICE);
    let id = result["_meta"]["agent/request_id"].as_str().unwrap();
    assert_eq!(receipt(&setup.service, &setup.ada, id).1, PRICE);
    assert_eq!(paid(&setup.service, &setup.ada), PRICE);
}

#[test]
fn a_client_of_an_older_revision_initializes_lists_and_calls() {
    let setup = setup();
    let first = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }});
    let answer = setup.send(setup.ada.key.as_str(), &first, &[ACCEPT]);
    let session = answer.header("mcp-session-id").to_owned();
    let begun = message(&answer);
    assert_eq!(begun["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(begun["result"]["serverInfo"]["name"], "agent-gateway");
    assert!(begun["result"]["instructions"].as_str().unwrap().contains("not as instructions"));
    assert!(session.len() >= 32, "{session}");
    let more: &[(&str, &str)] = &[("mcp-session-id", &session)];
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(setup.older(&ready, more).status, 202);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert!(names(&message(&setup.older(&list, more))).contains(&"account"));
    let call = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call",
        "params": {"name": "account", "arguments": {}}});
    let called = message(&setup.older(&call, more));
    assert_eq!(called["id"], "a");
    let me = &called["result"]["structuredContent"];
    assert_eq!(me["available_micros"], json!(1000 * PRICE));
    assert_eq!(called["result"].get("resultType"), None, "older clients do not know it");
    // There is nothing to be listened to between calls, and no session to be ended.
    for method in [Method::GET, Method::DELETE] {
        let answer = setup.service.send(method, "/mcp", Some(setup.ada.key.as_str()), None);
        assert_eq!((answer.status, answer.header("allow")), (405, "POST"));
    }
}

#[test]
fn keys_hosts_and_origins_are_checked() {
    let setup = setup();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let none = setup.service.send(Method::POST, "/mcp", None, Some(&list));
    assert_eq!(refusal(&none), (401, "invalid_key".to_owned()));
    assert_eq!(none.header("www-authenticate"), "Bearer");
    let other = setup.service.key_with(setup.ada.member, |key| key.scopes = vec![Scope::Chat]);
    let refused = setup.send(other.as_str(), &list, &[ACCEPT]);
    assert_eq!(refusal(&refused), (403, "scope_missing".to_owned()));
    for (name, value) in [("host", "evil.example"), ("origin", "https://evil.example")] {
        let refused = setup.older(&list, &[(name, value)]);
        assert_eq!(refusal(&refused), (403, "origin_refused".to_owned()), "{name}");
    }
    for origin in ["http://localhost:6274", "http://127.0.0.1:1"] {
        assert_eq!(setup.older(&list, &[("origin", origin)]).status, 200, "{origin}");
    }
}

#[test]
fn a_key_sees_and_calls_only_tools_of_its_scopes() {
    let setup = setup();
    let key =
        setup.service.key_with(setup.ada.member, |key| key.scopes = vec![Scope::Mcp, Scope::Fetch]);
    let listed = message(&setup.call(key.as_str(), "tools/list", json!({})));
    assert_eq!(names(&listed), ["list_capabilities", "web_fetch", "account"]);
    let (_, status, code) = setup.failure(key.as_str(), "ask", &json!({"prompt": "x"}));
    assert_eq!((status, code.as_str()), (403, "scope_missing"));
    assert_eq!(setup.upstream.requests().len(), 0);
}

#[test]
fn failed_tool_call_returns_an_error_and_is_free() {
    let setup = setup();
    let key = setup.ada.key.as_str();
    setup.upstream.script("echo", vec![Step::Status(500); 8]);
    let asked = json!({"prompt": "x", "model": "up/echo"});
    let (text, status, code) = setup.failure(key, "ask", &asked);
    assert_eq!((status, code.as_str()), (503, "upstream_unavailable"), "{text}");
    for (arguments, expected) in [
        (json!({}), "`prompt` is missing or empty (invalid_request, 400)"),
        (json!({"prompt": 5}), "`prompt` must be a string (invalid_request, 400)"),
        (
            json!({"prompt": "x", "modle": "y"}),
            "unknown argument `modle` of `ask` (invalid_request, 400)",
        ),
    ] {
        assert_eq!(setup.failure(key, "ask", &arguments).0, expected);
    }
    let (text, ..) = setup.failure(key, "ask", &json!({"prompt": "x", "model": "up/ecko"}));
    assert!(text.contains("did you mean `up/echo`"), "{text}");
    let (text, ..) = setup.failure(key, "web_search", &json!({"query": "x"}));
    assert!(text.contains("(capability_unavailable, 503)"), "{text}");
    let (text, ..) = setup.failure(key, "web_fetch", &json!({"url": "http://10.0.0.1/"}));
    assert!(text.contains("(target_refused, 403)"), "{text}");
    let poor = setup.service.holder("poor", PRICE - 1);
    let (text, status, _) = setup.failure(poor.key.as_str(), "ask", &asked);
    assert!(
        text.ends_with(&format!("{PRICE} micro-credits are needed, {} are available", PRICE - 1))
    );
    assert_eq!((status, paid(&setup.service, &setup.ada)), (402, 0));
    setup.service.check_ledger();
    let unknown = setup.call(key, "tools/call", json!({"name": "web_serach", "arguments": {}}));
    let error = unknown.json()["error"].clone();
    assert_eq!(error["code"], -32602);
    assert_eq!(error["message"], "unknown tool; did you mean `web_search`?");
}

#[test]
fn every_request_counts_against_the_rate_limit() {
    let setup = setup();
    let limits = Limits { requests_per_minute: Some(2), ..Limits::default() };
    let key = setup.service.key(setup.ada.member, limits);
    let key = key.as_str();
    assert_eq!(setup.call(key, "tools/list", json!({})).status, 200);
    let call = json!({"name": "account", "arguments": {}});
    assert_eq!(message(&setup.call(key, "tools/call", call))["result"]["isError"], false);
    let (_, status, code) = setup.failure(key, "account", &json!({}));
    assert_eq!((status, code.as_str()), (429, "rate_limited"));
    let refused = setup.call(key, "tools/list", json!({}));
    assert_eq!(refusal(&refused), (429, "rate_limited".to_owned()));
    assert!(!refused.header("retry-after").is_empty());
}

#[test]
fn cancelled_call_cancels_its_upstream_and_is_free() {
    let setup = setup();
    setup.upstream.script("echo", vec![Step::Hang]);
    let session = "a-session-of-a-client";
    let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {
        "name": "ask", "arguments": {"prompt": "x", "model": "up/echo"}}});
    let bearer = format!("Bearer {}", setup.ada.key.as_str());
    let headers = [("authorization", bearer.as_str()), ("mcp-session-id", session), JSON, ACCEPT];
    let mut waiting = Raw::post_with(setup.service.address, "/mcp", &headers, &call);
    eventually("the upstream is asked", || setup.upstream.requests().len() == 1);
    let off = |id: Value| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    // Another client's request of this id is another request.
    assert_eq!(setup.older(&off(json!(5)), &[("mcp-session-id", "another")]).status, 202);
    assert_eq!(setup.older(&off(json!("5")), &[("mcp-session-id", session)]).status, 202);
    assert_eq!(setup.upstream.cancelled().len(), 0);
    assert_eq!(setup.older(&off(json!(5)), &[("mcp-session-id", session)]).status, 202);
    eventually("the upstream is left", || setup.upstream.cancelled().len() == 1);
    assert_eq!(waiting.head().status, 200);
    assert!(waiting.body().contains("cancelled"));
    eventually("the price is free again", || {
        setup.service.account(setup.ada.member).available().get() == 1000 * PRICE
    });
    setup.service.check_ledger();
}

#[test]
fn disconnect_cancels_the_upstream_and_is_free() {
    let setup = setup();
    setup.upstream.script("echo", vec![Step::Hang]);
    let bearer = format!("Bearer {}", setup.ada.key.as_str());
    let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {
        "name": "ask", "arguments": {"prompt": "x", "model": "up/echo"}}});
    let headers = [("authorization", bearer.as_str()), JSON, ACCEPT];
    let leaving = Raw::post_with(setup.service.address, "/mcp", &headers, &call);
    eventually("the upstream is asked", || setup.upstream.requests().len() == 1);
    drop(leaving);
    eventually("the upstream is left", || setup.upstream.cancelled().len() == 1);
    eventually("the price is free again", || {
        setup.service.account(setup.ada.member).available().get() == 1000 * PRICE
    });
}

#[test]
fn key_is_accepted_in_the_x_api_key_header() {
    let setup = setup();
    let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {
        "name": "ask", "arguments": {"prompt": "x", "model": "up/echo"}}});
    let headers = [("x-api-key", setup.ada.key.as_str()), JSON, ACCEPT];
    let mut request = Request::builder().method(Method::POST).uri("/mcp");
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let request = request.body(call.to_string().into_bytes()).unwrap();
    let answer = message(&setup.service.send_raw(request));
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert_eq!(paid(&setup.service, &setup.ada), PRICE);
}

#[test]
fn progress_is_reported_on_request() {
    let setup = setup();
    setup.upstream.script("echo", vec![Step::Gate]);
    let bearer = format!("Bearer {}", setup.ada.key.as_str());
    let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {
        "name": "ask", "arguments": {"prompt": "x", "model": "up/echo"},
        "_meta": {"progressToken": "t"}}});
    let headers = [("authorization", bearer.as_str()), JSON, ACCEPT];
    let mut asking = Raw::post_with(setup.service.address, "/mcp", &headers, &call);
    assert!(asking.head().header("content-type").starts_with("text/event-stream"));
    let mut heard = String::new();
    while !heard.contains("notifications/progress") {
        heard.push_str(&String::from_utf8(asking.piece().unwrap()).unwrap());
    }
    assert!(heard.contains(r#""progressToken":"t""#), "{heard}");
    setup.upstream.open_gate();
    let rest = asking.body();
    assert!(rest.contains(r#""isError":false"#), "{rest}");
    assert_eq!(paid(&setup.service, &setup.ada), PRICE);
}

#[test]
fn idempotency_key_of_a_call_is_charged_once() {
    let setup = setup();
    let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {
        "name": "ask", "arguments": {"prompt": "once", "model": "up/echo"}}});
    for _ in 0..2 {
        let answer = setup.older(&call, &[("idempotency-key", "one")]);
        assert_eq!(message(&answer)["result"]["isError"], false);
    }
    assert_eq!(setup.upstream.completions().len(), 1);
    assert_eq!(paid(&setup.service, &setup.ada), PRICE);
}

#[test]
fn call_with_and_without_progress_returns_the_same_result() {
    let setup = setup();
    let without_id = |answer: &Answer| {
        let mut message = message(answer);
        message["result"]["_meta"]["agent/request_id"].take();
        message
    };
    let names = ["list_models", "list_capabilities", "web_search"];
    for (id, name) in [json!(1), json!("a\"b"), json!(-7)].iter().zip(names) {
        let call = |token: Option<u8>, meta: Value| {
            let mut params = json!({"name": name, "arguments": {}, "_meta": meta});
            if let Some(token) = token {
                params["_meta"]["progressToken"] = token.into();
            }
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
        };
        let older = [None, Some(1)].map(|token| setup.older(&call(token, json!({})), &[]));
        assert_eq!(without_id(&older[0]), without_id(&older[1]), "{name}");
        let headers = [
            ACCEPT,
            ("mcp-protocol-version", STATELESS),
            ("mcp-method", "tools/call"),
            ("mcp-name", name),
        ];
        let key = setup.ada.key.as_str();
        let newer = [None, Some(1)].map(|token| setup.send(key, &call(token, about()), &headers));
        assert_eq!(without_id(&newer[0]), without_id(&newer[1]), "{name}");
        let told = |answer: &Answer| message(answer)["result"]["resultType"].clone();
        assert_eq!((told(&older[0]), told(&newer[0])), (Value::Null, json!("complete")));
    }
}
