//! What `/mcp` does not understand, in the words of the protocol: always JSON, always with the
//! number of the request.

use agent_test_support::upstream::Upstream;
use http::Request;
use ledger::Limits;
use serde_json::{Value, json};

use crate::fixture::{PLAIN, with_one};
use crate::mcp::refusal;
use crate::support::{Answer, PRICE, Running};

const JSON: (&str, &str) = ("content-type", "application/json");
const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");
const BEFORE: (&str, &str) = ("mcp-protocol-version", "2025-11-25");
const STATELESS: (&str, &str) = ("mcp-protocol-version", "2026-07-28");

struct Setup {
    _upstream: Upstream,
    service: Running,
    key: String,
}

fn setup(limits: Limits) -> Setup {
    let upstream = Upstream::start();
    let service = Running::start(&with_one(&upstream, PLAIN, ""));
    let member = service.member("ada");
    service.credit(member, PRICE);
    let key = service.key(member, limits).as_str().to_owned();
    Setup { _upstream: upstream, service, key }
}

impl Setup {
    fn send(&self, body: impl AsRef<[u8]>, headers: &[(&str, &str)]) -> Answer {
        let mut request =
            Request::post("/mcp").header("authorization", format!("Bearer {}", self.key));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.service.send_raw(request.body(body.as_ref().to_vec()).unwrap())
    }

    /// The status and the message of an answer that is an error.
    #[track_caller]
    fn error(&self, body: impl AsRef<[u8]>, headers: &[(&str, &str)]) -> (u16, Value) {
        let answer = self.send(body, headers);
        assert_eq!(answer.header("content-type"), "application/json");
        assert!(answer.header("x-request-id").starts_with("req_"));
        let message = answer.json();
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        assert!(message["error"]["message"].is_string(), "{message}");
        (answer.status, message)
    }

    /// The status and the code that a method gets, in a revision before the stateless one and in it.
    fn both(&self, method: &str, params: &Value) -> [(u16, i64); 2] {
        let mut with_meta = params.clone();
        with_meta["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": STATELESS.1,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let mut headers = vec![JSON, ACCEPT, STATELESS, ("mcp-method", method)];
        headers.extend(params["name"].as_str().map(|name| ("mcp-name", name)));
        let say = |params| {
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
        };
        let before = self.error(say(params), &[JSON, ACCEPT, BEFORE]);
        let after = self.error(say(&with_meta), &headers);
        [before, after]
            .map(|(status, message)| (status, message["error"]["code"].as_i64().unwrap()))
    }
}

#[test]
fn malformed_messages_get_distinct_errors() {
    let setup = setup(Limits::default());
    let deep = "[".repeat(100_000);
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#;
    let surrogate = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\ud800"}}"#;
    let cases: [(&[u8], i64, Value); 11] = [
        (b"{", -32700, json!(null)),
        (b"", -32700, json!(null)),
        (deep.as_bytes(), -32700, json!(null)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"", -32700, json!(null)),
        (b"null", -32600, json!(null)),
        (b"[]", -32600, json!(null)),
        (batch.as_bytes(), -32600, json!(null)),
        (br#"{"id":"a","method":"ping"}"#, -32600, json!("a")),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, json!(null)),
        (br#"{"jsonrpc":"2.0","id":3,"method":"tools/list","params":[]}"#, -32600, json!(3)),
        (surrogate.as_bytes(), -32600, json!(1)),
    ];
    for (body, code, id) in cases {
        let shown = String::from_utf8_lossy(&body[..body.len().min(80)]);
        let (status, message) = setup.error(body, &[JSON, ACCEPT]);
        assert_eq!((status, &message["error"]["code"]), (400, &json!(code)), "{shown}");
        assert_eq!(message["id"], id, "{shown}");
    }
}

#[test]
fn invalid_headers_are_rejected_with_a_message() {
    let setup = setup(Limits::default());
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let unknown = ("mcp-protocol-version", "1999-01-01");
    for (headers, status, reason) in [
        (&[JSON][..], 406, "must accept both application/json and text/event-stream"),
        (&[ACCEPT], 415, "Content-Type must be application/json"),
        (&[JSON, ACCEPT, unknown], 400, "Unsupported MCP-Protocol-Version: 1999-01-01"),
    ] {
        let (got, message) = setup.error(list, headers);
        assert_eq!((got, &message["id"]), (status, &json!(1)), "{message}");
        assert!(message["error"]["message"].as_str().unwrap().contains(reason), "{message}");
    }
}

#[test]
fn unknown_methods_and_invalid_params_are_rejected() {
    let setup = setup(Limits::default());
    for method in [
        "foo/bar", "prompts/list", "prompts/get", "resources/list", "resources/templates/list",
        "resources/read", "completion/complete", "logging/setLevel", "tasks/get",
    ] {
        assert_eq!(setup.both(method, &json!({})), [(200, -32601), (404, -32601)], "{method}");
    }
    // What one revision has and another has not.
    assert_eq!(setup.both("initialize", &json!({})), [(200, -32602), (404, -32601)]);
    for params in [json!({}), json!({"name": 5}), json!({"name": "account", "arguments": []})] {
        let both = setup.both("tools/call", &params);
        assert_eq!(both, [(200, -32602), (200, -32602)], "{params}");
    }
    let both = setup.both("tools/list", &json!({"cursor": "2"}));
    assert_eq!(both, [(200, -32602), (200, -32602)]);
}

#[test]
fn every_notification_is_accepted() {
    let setup = setup(Limits::default());
    for method in ["notifications/initialized", "notifications/cancelled", "notifications/news"] {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": {}}).to_string();
        let answer = setup.send(message, &[JSON, ACCEPT, BEFORE]);
        assert_eq!((answer.status, answer.text()), (202, ""), "{method}");
        assert!(answer.header("x-request-id").starts_with("req_"));
    }
}

#[test]
fn invalid_messages_count_against_the_rate_limit() {
    let limits = Limits { requests_per_minute: Some(2), ..Limits::default() };
    let setup = setup(limits);
    assert_eq!(setup.send("{", &[JSON, ACCEPT]).status, 400);
    let odd = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"name":5}}"#;
    assert_eq!(setup.send(odd, &[JSON, ACCEPT]).status, 200);
    let third = setup.send("{", &[JSON, ACCEPT]);
    assert_eq!(refusal(&third), (429, "rate_limited".to_owned()));
}
