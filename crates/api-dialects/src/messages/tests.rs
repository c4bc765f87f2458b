//! Whole requests, answers and streams of both APIs, side by side.

mod requests;
mod round_trip;
mod search_rounds;
mod streaming;

use bytes::BytesMut;
use serde_json::{Map, Value, json};

use super::super::{ChatTranslator, Malformed, ToolTable, Usage};
use super::{Shape, Stream, estimate_input_tokens, remove_own_blocks};

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is no object"),
    }
}

/// Ids that count: `toolu_0`, `toolu_1`.
fn counted() -> impl FnMut(&str) -> String + Send + 'static {
    let mut n = 0;
    move |prefix| {
        n += 1;
        format!("{prefix}_{}", n - 1)
    }
}

/// The shape of an answer that shows thinking.
fn shape() -> Shape {
    let body = json!({"model": "a/b", "thinking": {"type": "adaptive"}});
    Shape::new(&object(body), "msg_1")
}

fn answer(completion: &Value) -> Result<Value, Malformed> {
    whole(completion, &shape())
}

fn whole(completion: &Value, shape: &Shape) -> Result<Value, Malformed> {
    let mut stream = Stream::new(shape.clone(), ToolTable::default(), counted());
    let mut events = BytesMut::new();
    stream.add_completion(completion, &mut events)?;
    stream.finish(&mut events);
    Ok(stream.message())
}

#[test]
fn a_completion_is_translated_to_thinking_text_and_calls() {
    let completion = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "b",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "I will look.", "refusal": null, "reasoning_content": "A bird?",
            "tool_calls": [
                {"id": "call_a", "type": "function", "function": {"name": "look", "arguments": "{\"wing\":\"red\"}"}},
                {"type": "function", "function": {"name": "now", "arguments": ""}},
                {"id": "call_c", "type": "function", "function": {"name": "cut", "arguments": "{\"a\":"}},
            ],
        }}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16,
            "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 2}},
    });
    assert_eq!(
        answer(&completion).unwrap(),
        json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "a/b",
            "content": [
                {"type": "thinking", "thinking": "A bird?", "signature": ""},
                {"type": "text", "text": "I will look."},
                {"type": "tool_use", "id": "call_a", "name": "look", "input": {"wing": "red"}},
                {"type": "tool_use", "id": "toolu_0", "name": "now", "input": {}},
                {"type": "tool_use", "id": "call_c", "name": "cut", "input": {"_raw": "{\"a\":"}},
            ],
            "stop_reason": "tool_use", "stop_sequence": null,
            "usage": {"input_tokens": 7, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 4,
                "output_tokens": 5, "output_tokens_details": {"thinking_tokens": 2}},
        })
    );
    let hidden = Shape::new(&object(json!({"model": "a/b"})), "msg_1");
    let message = whole(&completion, &hidden).unwrap();
    assert_eq!(message["content"][0]["type"], "text");
}

#[test]
fn every_finish_reason_has_a_stop_reason() {
    let ended = |choice: Value| {
        let message = answer(&json!({"choices": [choice]})).unwrap();
        (message["stop_reason"].clone(), message["stop_sequence"].clone())
    };
    let said = json!({"content": "Hi"});
    let calls = json!({"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]});
    let cases = [
        (json!({"message": said, "finish_reason": "stop"}), "end_turn"),
        (json!({"message": said, "finish_reason": null}), "end_turn"),
        (json!({"message": said, "finish_reason": "tool_calls"}), "end_turn"),
        (json!({"message": said, "finish_reason": "stop", "stop_reason": 128_001}), "end_turn"),
        (json!({"message": said, "finish_reason": "length"}), "max_tokens"),
        (json!({"message": said, "finish_reason": "content_filter"}), "refusal"),
        (json!({"message": calls, "finish_reason": "stop"}), "tool_use"),
        (json!({"message": calls, "finish_reason": "length"}), "max_tokens"),
    ];
    for (choice, reason) in cases {
        assert_eq!(ended(choice.clone()), (json!(reason), Value::Null), "{choice}");
    }
    let stopped = json!({"message": said, "finish_reason": "stop", "stop_reason": "END"});
    assert_eq!(ended(stopped), (json!("stop_sequence"), json!("END")));
    let refused = json!({"choices": [{"message": {"content": null, "refusal": "No."}, "finish_reason": "stop"}]});
    let refused = answer(&refused).unwrap();
    assert_eq!(refused["content"], json!([{"type": "text", "text": "No."}]));
    assert_eq!(
        refused["stop_details"],
        json!({"type": "refusal", "category": null, "explanation": "No."})
    );
}

#[test]
fn missing_choices_and_partial_calls_are_malformed() {
    let missing = |completion: Value| answer(&completion).unwrap_err();
    assert_eq!(missing(json!({"choices": []})), Malformed::Missing("choice"));
    assert_eq!(missing(json!({"choices": [{}]})), Malformed::Missing("message"));
    let call = json!({"choices": [{"message": {"tool_calls": [{"id": "c", "function": {"arguments": ""}}]}}]});
    assert_eq!(missing(call), Malformed::Missing("name of a call"));
}

#[test]
fn errors_have_the_format_and_type_of_the_api() {
    assert_eq!(
        super::error("rate_limit_error", "Slow down", Some("req_1")),
        json!({"type": "error", "error": {"type": "rate_limit_error", "message": "Slow down"}, "request_id": "req_1"})
    );
    let cases = [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (402, "billing_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (409, "invalid_request_error"),
        (413, "request_too_large"),
        (422, "invalid_request_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (502, "api_error"),
        (503, "overloaded_error"),
        (504, "timeout_error"),
        (529, "overloaded_error"),
    ];
    for (status, kind) in cases {
        assert_eq!(super::error_type(status), kind, "{status}");
    }
}

#[test]
fn usage_excludes_cached_tokens() {
    let usage = Usage {
        prompt_tokens: 9,
        completion_tokens: 4,
        cached_tokens: 3,
        cache_write_tokens: 2,
        reasoning_tokens: 1,
    };
    let json = usage.to_message();
    assert_eq!(json["input_tokens"], 4);
    let mut reader = super::super::anthropic::UsageReader::default();
    reader.read(json!({"content": [], "usage": json}).to_string().as_bytes()).unwrap();
    assert_eq!(reader.usage(), Some(usage));
}

#[test]
fn estimate_grows_with_text_images_and_tools() {
    let estimate = |body: Value| estimate_input_tokens(&object(body));
    let text = estimate(json!({"messages": [{"role": "user", "content": "x".repeat(4000)}]}));
    assert!((1000..1050).contains(&text), "{text}");
    let image =
        json!({"type": "image", "source": {"type": "base64", "data": "A".repeat(1_000_000)}});
    let image = estimate(json!({"messages": [{"role": "user", "content": [image]}]}));
    assert!((1600..1650).contains(&image), "{image}");
    let tools = json!([{"name": "look", "description": "Finds a bird.", "input_schema": {"type": "object", "properties": {}}}]);
    assert!(estimate(json!({"messages": [], "tools": tools})) > 5);
    assert_eq!(estimate(json!({"messages": []})), 0);
}

#[test]
fn own_opaque_blocks_are_removed() {
    let ours = super::super::opaque::encode("Text");
    let mut body = object(json!({"messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm", "signature": ""}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Hm", "signature": "c2ln"},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"encrypted_content": ours}]},
            {"type": "server_tool_use", "id": "srvtoolu_2", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_2", "content": [{"encrypted_content": "Eo8"}]},
            {"type": "text", "text": "Done."}]},
    ]}));
    assert!(remove_own_blocks(&mut body));
    let kinds: Vec<&str> = body["messages"][1]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["thinking", "server_tool_use", "web_search_tool_result", "text"]);
    assert_eq!(body["messages"].as_array().unwrap().len(), 2);
    assert!(!remove_own_blocks(&mut body));
}
