//! Whole requests, answers and streams of both APIs, side by side.

mod codex;
mod requests;
mod round_trip;
mod search_rounds;
mod streaming;

use bytes::BytesMut;
use serde_json::{Map, Value, json};

use super::super::{ChatTranslator, Malformed, ToolTable, Usage};
use super::{Outcome, Shape, Status, Stream};

/// The answer to a request without tools.
fn answer(completion: &Value, shape: &Shape) -> Result<Value, Malformed> {
    whole(completion, shape, &ToolTable::default())
}

fn whole(completion: &Value, shape: &Shape, tools: &ToolTable) -> Result<Value, Malformed> {
    let mut stream = Stream::new(shape.clone(), tools.clone(), counted());
    let mut events = BytesMut::new();
    stream.add_completion(completion, &mut events)?;
    stream.finish(&mut events);
    stream.into_response().ok_or(Malformed::Missing("message"))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is no object"),
    }
}

/// Ids that count: `msg_0`, `fc_1`.
fn counted() -> impl FnMut(&str) -> String + Send + 'static {
    let mut n = 0;
    move |prefix| {
        n += 1;
        format!("{prefix}_{}", n - 1)
    }
}

fn shape(body: Value) -> Shape {
    Shape::new(&object(body), "resp_1", 1_700_000_000)
}

/// Every field the schema of a response requires, and those clients read besides.
const RESPONSE_FIELDS: &[&str] = &[
    "id", "object", "created_at", "error", "incomplete_details", "instructions", "model", "tools",
    "output", "parallel_tool_calls", "metadata", "tool_choice", "temperature", "top_p", "status",
    "usage", "text", "reasoning", "truncation", "previous_response_id", "store", "background",
];

#[test]
fn a_minimal_request_has_a_response_with_every_field() {
    let response =
        shape(json!({"model": "a/b", "input": "Hi"})).response(Outcome::of(Status::Queued));
    for field in RESPONSE_FIELDS {
        assert!(response.get(field).is_some(), "{field}");
    }
    assert_eq!(
        response,
        json!({
            "id": "resp_1", "object": "response", "created_at": 1_700_000_000, "completed_at": null,
            "status": "queued", "background": false, "error": null, "incomplete_details": null,
            "instructions": null, "max_output_tokens": null, "max_tool_calls": null, "metadata": {},
            "model": "a/b", "output": [], "parallel_tool_calls": true, "previous_response_id": null,
            "prompt_cache_key": null, "reasoning": {"effort": null, "summary": null},
            "safety_identifier": null, "service_tier": "default", "store": true, "temperature": 1.0,
            "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [],
            "top_logprobs": 0, "top_p": 1.0, "truncation": "disabled", "usage": null, "user": null,
        })
    );
}

#[test]
fn a_response_repeats_the_settings_of_its_request() {
    let settings = json!({
        "model": "a/b", "instructions": "Be brief.", "temperature": 0.2, "top_p": 0.5, "store": false,
        "background": true, "metadata": {"k": "v"}, "previous_response_id": "resp_0", "user": "u",
        "max_output_tokens": 9, "parallel_tool_calls": false, "tool_choice": {"type": "function", "name": "f"},
        "safety_identifier": "s", "prompt_cache_key": "p", "service_tier": "flex", "max_tool_calls": 2,
    });
    let mut body = object(settings.clone());
    body.insert("text".into(), json!({"verbosity": "low"}));
    body.insert("tools".into(), json!([{"type": "function", "name": "f"}]));
    body.insert("reasoning".into(), json!({"effort": "low", "summary": null}));
    let response = Shape::new(&body, "resp_1", 7).response(Outcome::of(Status::InProgress));
    for (name, value) in object(settings) {
        assert_eq!(response[&name], value, "{name}");
    }
    assert_eq!(response["text"], json!({"format": {"type": "text"}, "verbosity": "low"}));
    assert_eq!(
        response["tools"],
        json!([{"type": "function", "name": "f", "parameters": null, "strict": null}])
    );
    assert_eq!(response["reasoning"], json!({"effort": "low", "summary": null}));
}

#[test]
fn a_completion_becomes_reasoning_message_and_calls() {
    let completion = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "b",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "I will look.", "refusal": null, "reasoning_content": "A bird?",
            "tool_calls": [
                {"id": "call_a", "type": "function", "function": {"name": "look", "arguments": "{\"wing\":\"red\"}"}},
                {"id": "call_b", "type": "function", "function": {"name": "now", "arguments": "{}"}},
            ],
        }}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16,
            "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 2}},
    });
    let response = answer(&completion, &shape(json!({"model": "a/b"}))).unwrap();
    assert_eq!(response["status"], "completed");
    assert_eq!(response["model"], "a/b");
    assert_eq!(
        response["output"],
        json!([
            {"id": "rs_0", "type": "reasoning", "status": "completed", "summary": [],
                "content": [{"type": "reasoning_text", "text": "A bird?"}]},
            {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
                "content": [{"type": "output_text", "text": "I will look.", "annotations": [], "logprobs": []}]},
            {"id": "fc_2", "type": "function_call", "status": "completed", "call_id": "call_a", "name": "look",
                "arguments": "{\"wing\":\"red\"}"},
            {"id": "fc_3", "type": "function_call", "status": "completed", "call_id": "call_b", "name": "now", "arguments": "{}"},
        ])
    );
    assert_eq!(
        response["usage"],
        json!({
            "input_tokens": 11, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
            "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 16,
        })
    );
    assert_eq!(super::output_items(&response).len(), 4);
}

#[test]
fn a_truncated_answer_is_incomplete() {
    for (finish, reason) in [("length", "max_output_tokens"), ("content_filter", "content_filter")]
    {
        let completion = json!({"choices": [{"finish_reason": finish, "message": {"content": "Once", "refusal": "No."}}]});
        let response = answer(&completion, &shape(json!({}))).unwrap();
        assert_eq!((&response["status"], &response["usage"]), (&json!("incomplete"), &Value::Null));
        assert_eq!(response["incomplete_details"], json!({"reason": reason}));
        assert_eq!(
            response["output"],
            json!([{"id": "msg_0", "type": "message", "status": "incomplete", "role": "assistant",
            "content": [
                {"type": "output_text", "text": "Once", "annotations": [], "logprobs": []},
                {"type": "refusal", "refusal": "No."},
            ]}])
        );
    }
}

#[test]
fn missing_choices_and_partial_calls_are_malformed() {
    let missing = |completion: Value| answer(&completion, &shape(json!({}))).unwrap_err();
    assert_eq!(missing(json!({"choices": []})), Malformed::Missing("choice"));
    assert_eq!(missing(json!({"choices": [{}]})), Malformed::Missing("message"));
    let call = json!({"choices": [{"message": {"tool_calls": [{"id": "c", "function": {"arguments": ""}}]}}]});
    assert_eq!(missing(call), Malformed::Missing("name of a call"));
}

#[test]
fn usage_round_trips_between_apis() {
    let usage = Usage {
        prompt_tokens: 9,
        completion_tokens: 4,
        cached_tokens: 3,
        cache_write_tokens: 2,
        reasoning_tokens: 1,
    };
    assert_eq!(Usage::of_chat(&usage.to_chat()), usage);
    assert_eq!(Usage::of_chat(&json!({"prompt_tokens": 1})).total_tokens(), 1);
}
