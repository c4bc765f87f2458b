//! Chat completions, as OpenAI documents them.

use serde_json::{Value, json};

use super::dialect::{CREATED, Event, EventPosition, halves};
use super::generated_answer::{GeneratedAnswer, ToolCall};
use super::model_request::{Delivery, items};

pub(super) fn complaint(body: &Value) -> Option<String> {
    if !body["model"].is_string() {
        return Some("you must provide a model parameter".to_owned());
    }
    if items(&body["messages"]).next().is_none() {
        return Some("Invalid 'messages': empty array.".to_owned());
    }
    let mut open: Vec<&str> = Vec::new();
    for message in items(&body["messages"]) {
        match message["role"].as_str() {
            Some("tool") => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                let Some(place) = open.iter().position(|call| *call == id) else {
                    return Some(format!("no preceding message has a tool call of id '{id}'"));
                };
                open.remove(place);
            }
            Some("system" | "developer" | "user" | "assistant") => {
                if let Some(id) = open.first() {
                    return Some(format!("the tool call '{id}' did not have a response message"));
                }
                open =
                    items(&message["tool_calls"]).filter_map(|call| call["id"].as_str()).collect();
            }
            other => return Some(format!("Invalid value for role: {other:?}")),
        }
    }
    None
}

pub(super) fn whole(answer: &GeneratedAnswer<'_>) -> Value {
    let mut message = json!({"role": "assistant", "content": answer.text(), "refusal": null,
        "annotations": []});
    if !answer.calls.is_empty() {
        message["content"] = Value::Null;
        message["tool_calls"] = answer
            .calls
            .iter()
            .map(|call| {
                json!({"id": call.id, "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments}})
            })
            .collect();
    }
    let choice = json!({"index": 0, "message": message, "logprobs": null,
        "finish_reason": finish_reason(answer)});
    let mut whole = json!({"id": id(answer), "object": "chat.completion", "created": CREATED,
        "model": answer.ask.model, "service_tier": "default", "system_fingerprint": "fp_upstream",
        "choices": [choice]});
    if let Some(usage) = usage(answer) {
        whole["usage"] = usage;
    }
    whole
}

pub(super) fn events(answer: &GeneratedAnswer<'_>) -> Vec<Event> {
    let with_usage = answer.ask.delivery == Delivery::StreamWithUsage;
    let chunk = |choices: Value| {
        let mut chunk = json!({"id": id(answer), "object": "chat.completion.chunk",
            "created": CREATED, "model": answer.ask.model, "service_tier": "default",
            "system_fingerprint": "fp_upstream", "choices": choices});
        if with_usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    };
    let delta = |part: EventPosition, delta: Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish});
        Event::data(part, &chunk(json!([choice])))
    };
    let opening = if answer.calls.is_empty() { json!("") } else { Value::Null };
    let role = json!({"role": "assistant", "content": opening, "refusal": null});
    let mut events = vec![delta(EventPosition::Opening, role, None)];
    let pieces = answer.pieces.iter().map(|piece| json!({"content": piece}));
    let calls = answer.calls.iter().enumerate().flat_map(|(index, call)| call_deltas(index, call));
    events.extend(pieces.chain(calls).map(|piece| delta(EventPosition::Piece, piece, None)));
    events.push(delta(EventPosition::Closing, json!({}), Some(finish_reason(answer))));
    if let (true, Some(usage)) = (with_usage, usage(answer)) {
        let mut last = chunk(json!([]));
        last["usage"] = usage;
        events.push(Event::data(EventPosition::Closing, &last));
    }
    events.push(Event { part: EventPosition::End, text: "data: [DONE]\n\n".to_owned() });
    events
}

fn call_deltas(index: usize, call: &ToolCall) -> Vec<Value> {
    let first = json!({"tool_calls": [{"index": index, "id": call.id, "type": "function",
        "function": {"name": call.name, "arguments": ""}}]});
    let rest = halves(&call.arguments)
        .map(|half| json!({"tool_calls": [{"index": index, "function": {"arguments": half}}]}));
    std::iter::once(first).chain(rest).collect()
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let (kind, code) = match status {
        401 => ("invalid_request_error", json!("invalid_api_key")),
        404 => ("invalid_request_error", json!("model_not_found")),
        429 => ("requests", json!("rate_limit_exceeded")),
        500.. => ("server_error", Value::Null),
        _ => ("invalid_request_error", Value::Null),
    };
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

fn finish_reason(answer: &GeneratedAnswer<'_>) -> &'static str {
    if answer.calls.is_empty() { "stop" } else { "tool_calls" }
}

fn usage(answer: &GeneratedAnswer<'_>) -> Option<Value> {
    let usage = answer.usage?;
    Some(json!({"prompt_tokens": usage.input, "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0,
            "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0}}))
}

fn id(answer: &GeneratedAnswer<'_>) -> String {
    format!("chatcmpl-upstream{}", answer.number)
}
