//! The MCP server behind the authorization server: Streamable HTTP with plain responses, no
//! sessions.

use serde_json::{Value, json};

use super::endpoints::{EndpointAnswer, EndpointRequest, Origins};
use super::script::{Challenge, Script};
use crate::http::Reply;

const TOOLS: [&str; 2] = ["echo", "write"];
const LATEST: &str = "2025-11-25";

/// Answers a request that has a valid token with sufficient scope.
pub(super) fn answer(asked: &EndpointRequest<'_>) -> EndpointAnswer {
    let EndpointRequest { grants, script, origins, request, .. } = asked;
    let token = request.header("authorization").and_then(|header| header.strip_prefix("Bearer "));
    let grant = token.and_then(|token| grants.accepted(token)).filter(|grant| {
        grant.issuer == script.issuer && grant.resource.as_deref() == Some(&origins.mcp())
    });
    let Some(grant) = grant else { return unauthorized(script, origins) };
    if request.method != "POST" {
        return EndpointAnswer::Other(Reply::empty(405));
    }
    let message = request.json();
    let tool = message["params"]["name"].as_str().unwrap_or_default();
    let needed = script.tool_scopes.iter().find(|(name, _)| name == tool);
    if message["method"] == "tools/call"
        && let Some((_, scope)) = needed
        && !grant.scope.split(' ').any(|granted| granted == scope)
    {
        let challenge = format!(
            "Bearer error=\"insufficient_scope\", scope=\"{scope}\", resource_metadata=\"{}\"",
            metadata(origins)
        );
        let refusal = Reply::text(403, "insufficient scope");
        return EndpointAnswer::Other(refusal.header("WWW-Authenticate", &challenge));
    }
    if message.get("id").is_none() || message.get("method").is_none() {
        return EndpointAnswer::Other(Reply::empty(202));
    }
    EndpointAnswer::Json(200, respond(&message))
}

fn unauthorized(script: &Script, origins: &Origins) -> EndpointAnswer {
    let refusal = Reply::text(401, "not authorized");
    let challenge = match &script.challenge {
        Challenge::Absent => return EndpointAnswer::Other(refusal),
        Challenge::Bare => "Bearer".to_owned(),
        Challenge::Text(text) => text.clone(),
        Challenge::Full { scope } => {
            let scope = scope.as_ref().map(|scope| format!(", scope=\"{scope}\""));
            let scope = scope.unwrap_or_default();
            format!("Bearer resource_metadata=\"{}\"{scope}", metadata(origins))
        }
    };
    EndpointAnswer::Other(refusal.header("WWW-Authenticate", &challenge))
}

fn metadata(origins: &Origins) -> String {
    format!("{}/.well-known/oauth-protected-resource/mcp", origins.main)
}

fn respond(message: &Value) -> Value {
    let params = &message["params"];
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": params["protocolVersion"].as_str().unwrap_or(LATEST),
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "faulty", "version": "1" },
        }),
        Some("ping") => json!({}),
        Some("tools/list") => json!({ "tools": TOOLS.map(tool) }),
        Some("tools/call") => {
            let (name, text) = (&params["name"], &params["arguments"]["text"]);
            let said = format!("{}: {}", word(name), word(text));
            json!({ "content": [{ "type": "text", "text": said }], "isError": false })
        }
        _ => {
            let error = json!({ "code": -32601, "message": "no such method" });
            return json!({ "jsonrpc": "2.0", "id": message["id"], "error": error });
        }
    };
    json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn tool(name: &str) -> Value {
    let text = json!({ "text": { "type": "string" } });
    json!({
        "name": name,
        "description": "Says the text again.",
        "inputSchema": { "type": "object", "properties": text, "required": ["text"] },
        "annotations": { "readOnlyHint": name == "echo" },
    })
}
