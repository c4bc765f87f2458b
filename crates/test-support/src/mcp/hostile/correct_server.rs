//! The correct server that every behaviour starts from, in both protocol generations.

use serde_json::{Value, json};

pub(super) const LEGACY_VERSION: &str = "2025-11-25";
pub(super) const STATELESS_VERSION: &str = "2026-07-28";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    Legacy,
    Stateless,
}

pub(super) fn answer(era: Era, request: &Value) -> Value {
    if era == Era::Stateless
        && let Some(refusal) = refuse_without_metadata(request)
    {
        return refusal;
    }
    let params = &request["params"];
    match (request["method"].as_str().unwrap_or_default(), era) {
        ("initialize", Era::Legacy) => result(request, &initialized()),
        ("ping", Era::Legacy) => result(request, &json!({})),
        ("server/discover", Era::Stateless) => complete(request, discovered()),
        ("tools/list", _) => cacheable(era, request, json!({"tools": tools()})),
        ("tools/call", _) => call(era, request),
        ("resources/list", _) => {
            let note = json!({"uri": "hostile://note", "name": "note", "mimeType": "text/plain"});
            cacheable(era, request, json!({"resources": [note]}))
        }
        ("resources/templates/list", _) => {
            cacheable(era, request, json!({"resourceTemplates": []}))
        }
        ("resources/read", _) => match params["uri"].as_str() {
            Some("hostile://note") => {
                let contents = json!([{"uri": "hostile://note", "text": "a note"}]);
                cacheable(era, request, json!({"contents": contents}))
            }
            _ => error(request, -32602, "there is no such resource"),
        },
        ("prompts/list", _) => {
            let arguments = json!([{"name": "name", "required": true}]);
            let prompt = json!({"name": "greeting", "arguments": arguments});
            cacheable(era, request, json!({"prompts": [prompt]}))
        }
        ("prompts/get", _) => {
            let name = params["arguments"]["name"].as_str().unwrap_or("nobody");
            let content = json!({"type": "text", "text": format!("Greet {name}.")});
            let messages = json!([{"role": "user", "content": content}]);
            of_era(era, request, json!({"messages": messages}))
        }
        (method, _) => error(request, -32601, &format!("there is no method {method}")),
    }
}

pub(super) fn call(era: Era, request: &Value) -> Value {
    let params = &request["params"];
    match params["name"].as_str() {
        Some(name @ ("good" | "other")) => {
            let said = params["arguments"]["text"].as_str().unwrap_or_default();
            call_with_text(era, request, format!("{name}: {said}"))
        }
        _ => error(request, -32602, "there is no such tool"),
    }
}

pub(super) fn call_with_text(era: Era, request: &Value, text: impl Into<String>) -> Value {
    let content = json!([{"type": "text", "text": text.into()}]);
    of_era(era, request, json!({"content": content}))
}

pub(super) fn tool(name: &str) -> Value {
    json!({
        "name": name,
        "description": format!("The tool {name}."),
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}
    })
}

pub(super) fn tools() -> Value {
    json!([tool("good"), tool("other")])
}

pub(super) fn result(request: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
}

pub(super) fn error(request: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": message}})
}

pub(super) fn unsupported(request: &Value, supported: &[&str]) -> Value {
    let mut refusal = error(request, -32022, "unsupported protocol version");
    let requested = &request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
    refusal["error"]["data"] = json!({"supported": supported, "requested": requested});
    refusal
}

pub(super) fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// A request for a form with a name.
pub(super) fn question() -> Value {
    let form = json!({
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"]
    });
    json!({"method": "elicitation/create", "params": {
        "mode": "form", "message": "Who are you?", "requestedSchema": form
    }})
}

fn initialized() -> Value {
    json!({
        "protocolVersion": LEGACY_VERSION,
        "capabilities": capabilities(),
        "serverInfo": {"name": "hostile", "version": "1.0"}
    })
}

pub(super) fn of_era(era: Era, request: &Value, value: Value) -> Value {
    match era {
        Era::Legacy => result(request, &value),
        Era::Stateless => complete(request, value),
    }
}

fn discovered() -> Value {
    json!({
        "supportedVersions": [STATELESS_VERSION],
        "capabilities": capabilities(),
        "ttlMs": 0,
        "cacheScope": "private"
    })
}

fn capabilities() -> Value {
    json!({"tools": {"listChanged": true}, "resources": {}, "prompts": {}, "logging": {}})
}

fn complete(request: &Value, mut value: Value) -> Value {
    value["resultType"] = json!("complete");
    result(request, &value)
}

fn cacheable(era: Era, request: &Value, mut value: Value) -> Value {
    if era == Era::Stateless {
        value["ttlMs"] = json!(0);
        value["cacheScope"] = json!("private");
    }
    of_era(era, request, value)
}

fn refuse_without_metadata(request: &Value) -> Option<Value> {
    let method = request["method"].as_str().unwrap_or_default();
    if method == "initialize" || method == "ping" {
        return Some(error(request, -32601, &format!("there is no method {method}")));
    }
    let meta = &request["params"]["_meta"];
    if meta["io.modelcontextprotocol/clientCapabilities"].is_null() {
        return Some(error(request, -32602, "_meta has no clientCapabilities"));
    }
    match meta["io.modelcontextprotocol/protocolVersion"].as_str() {
        Some(STATELESS_VERSION) => None,
        Some(_) => Some(unsupported(request, &[STATELESS_VERSION])),
        None => Some(error(request, -32602, "_meta has no protocolVersion")),
    }
}
