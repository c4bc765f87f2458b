//! The Messages interface as Anthropic documents it, as strict as the real server.

use serde_json::{Value, json};

use super::dialect::{Event, EventPosition, halves};
use super::generated_answer::GeneratedAnswer;
use super::model_request::items;
use crate::http::Request;

/// Allowed members of a request; others are rejected.
#[rustfmt::skip] // a table of words
const FIELDS: [&str; 20] = [
    "model", "messages", "max_tokens", "system", "stream", "temperature", "top_p", "top_k",
    "stop_sequences", "tools", "tool_choice", "metadata", "thinking", "service_tier", "container",
    "mcp_servers", "context_management", "output_config", "output_format", "cache_control",
];

pub(super) fn complaint(body: &Value, request: &Request) -> Option<String> {
    if request.header("anthropic-version").is_none() {
        return Some("anthropic-version: header is required".to_owned());
    }
    let mut names = body.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    if let Some(extra) = names.find(|name| !FIELDS.contains(name)) {
        return Some(format!("{extra}: Extra inputs are not permitted"));
    }
    if !body["model"].is_string() {
        return Some("model: Field required".to_owned());
    }
    if body["max_tokens"].as_u64().is_none_or(|limit| limit == 0) {
        return Some("max_tokens: Field required".to_owned());
    }
    if body["temperature"].as_f64().is_some_and(|heat| !(0.0..=1.0).contains(&heat)) {
        return Some("temperature: range: 0..1".to_owned());
    }
    for tool in items(&body["tools"]).filter(|tool| tool.get("type").is_none()) {
        if !tool["name"].is_string() || tool["input_schema"]["type"] != "object" {
            return Some("tools.0.input_schema.type: Field required".to_owned());
        }
    }
    let betas = request.header("anthropic-beta").unwrap_or_default();
    let has_system_role = betas.contains("mid-conversation-system");
    let messages: Vec<&Value> = items(&body["messages"]).collect();
    if messages.first().is_none_or(|first| first["role"] != "user") {
        return Some("messages: first message must use the \"user\" role".to_owned());
    }
    messages.iter().enumerate().find_map(|(index, message)| {
        let before = index.checked_sub(1).map(|before| messages[before]);
        about_message(message, has_system_role).or_else(|| about_results(before, message))
    })
}

fn about_message(message: &Value, has_system_role: bool) -> Option<String> {
    let role = message["role"].as_str();
    let is_known = match role {
        Some("user" | "assistant") => true,
        Some("system") => has_system_role,
        _ => false,
    };
    if !is_known {
        return Some(format!("messages: unexpected role {}", message["role"]));
    }
    if message["content"].as_str().is_some_and(str::is_empty) || message["content"].is_null() {
        return Some("messages: all messages must have non-empty content".to_owned());
    }
    items(&message["content"]).find_map(|block| match block["type"].as_str() {
        Some("text") if block["text"] == "" => {
            Some("messages: text content blocks must be non-empty".to_owned())
        }
        Some("tool_use") if !block["input"].is_object() => {
            Some("messages: tool_use.input: Input should be a valid dictionary".to_owned())
        }
        Some("image") if !block["source"].is_object() => {
            Some("messages: image.source: Field required".to_owned())
        }
        Some(
            "text" | "image" | "tool_use" | "tool_result" | "document" | "thinking"
            | "redacted_thinking",
        ) => None,
        other => Some(format!("messages: content block of unknown type {other:?}")),
    })
}

/// Every use of a tool needs its result in the next message, and every result a use.
fn about_results(before: Option<&Value>, message: &Value) -> Option<String> {
    let ids = |message: &Value, kind: &str, key: &str| -> Vec<String> {
        let blocks = items(&message["content"]).filter(|block| block["type"] == kind);
        blocks.filter_map(|block| block[key].as_str().map(str::to_owned)).collect()
    };
    let uses = before.map(|before| ids(before, "tool_use", "id")).unwrap_or_default();
    let results = ids(message, "tool_result", "tool_use_id");
    if let Some(id) = uses.iter().find(|id| !results.contains(id)) {
        return Some(format!("messages: tool_use {id} without tool_result after it"));
    }
    let id = results.iter().find(|id| !uses.contains(id))?;
    Some(format!("messages: unexpected tool_use_id {id} in tool_result blocks"))
}

pub(super) fn whole(answer: &GeneratedAnswer<'_>) -> Value {
    let mut content: Vec<Value> = Vec::new();
    if !answer.pieces.is_empty() {
        content.push(json!({"type": "text", "text": answer.text()}));
    }
    for call in &answer.calls {
        let input: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        content.push(json!({"type": "tool_use", "id": toolu(&call.id), "name": call.name,
            "input": input}));
    }
    let mut whole = shell(answer);
    whole["content"] = content.into();
    whole["stop_reason"] = stop_reason(answer).into();
    if let Some(usage) = answer.usage {
        whole["usage"] = usage_of(usage.input, usage.output);
    }
    whole
}

pub(super) fn events(answer: &GeneratedAnswer<'_>) -> Vec<Event> {
    let mut message = shell(answer);
    if let Some(usage) = answer.usage {
        message["usage"] = usage_of(usage.input, 1);
    }
    let mut events = Vec::new();
    let mut push = |part, data: Value| events.push(Event::named(part, &data));
    push(EventPosition::Opening, json!({"type": "message_start", "message": message}));
    let mut index = 0;
    if !answer.pieces.is_empty() {
        let block = json!({"type": "text", "text": ""});
        push(EventPosition::Opening, start(index, &block));
        push(EventPosition::Opening, json!({"type": "ping"}));
        for piece in &answer.pieces {
            push(EventPosition::Piece, delta(index, &json!({"type": "text_delta", "text": piece})));
        }
        push(EventPosition::Closing, json!({"type": "content_block_stop", "index": index}));
        index += 1;
    }
    for call in &answer.calls {
        let block =
            json!({"type": "tool_use", "id": toolu(&call.id), "name": call.name, "input": {}});
        push(EventPosition::Opening, start(index, &block));
        let halves = halves(&call.arguments);
        for half in std::iter::once("").chain(halves) {
            let piece = json!({"type": "input_json_delta", "partial_json": half});
            push(EventPosition::Piece, delta(index, &piece));
        }
        push(EventPosition::Closing, json!({"type": "content_block_stop", "index": index}));
        index += 1;
    }
    let mut last = json!({"type": "message_delta",
        "delta": {"stop_reason": stop_reason(answer), "stop_sequence": null}});
    if let Some(usage) = answer.usage {
        last["usage"] = json!({"output_tokens": usage.output});
    }
    push(EventPosition::Closing, last);
    push(EventPosition::End, json!({"type": "message_stop"}));
    events
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message},
        "request_id": "req_upstream"})
}

pub(super) fn models(models: &[String]) -> Value {
    let data: Vec<Value> = models
        .iter()
        .map(|id| {
            json!({"type": "model", "id": id, "display_name": id,
                "created_at": "2025-02-19T00:00:00Z"})
        })
        .collect();
    json!({"data": data, "has_more": false, "first_id": models.first(), "last_id": models.last()})
}

/// A message without content.
fn shell(answer: &GeneratedAnswer<'_>) -> Value {
    let id = format!("msg_upstream{}", answer.number);
    json!({"id": id, "type": "message", "role": "assistant", "model": answer.ask.model,
        "content": [], "stop_reason": null, "stop_sequence": null})
}

fn start(index: usize, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: usize, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn usage_of(input: i64, output: i64) -> Value {
    json!({"input_tokens": input, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0, "output_tokens": output, "service_tier": "standard"})
}

fn stop_reason(answer: &GeneratedAnswer<'_>) -> &'static str {
    if answer.calls.is_empty() { "end_turn" } else { "tool_use" }
}

fn toolu(id: &str) -> String {
    format!("toolu_{id}")
}
