//! The two translations one after the other: a responses request to an Anthropic upstream.

pub(crate) mod chunks;

use bytes::{Bytes, BytesMut};
use serde_json::{Map, Value, json};
use wire::sse::{Splitter, write_event};

use super::{ChatTranslator, ToolTable, anthropic, responses};

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is no object"),
    }
}

fn ids() -> impl FnMut(&str) -> String + Send + 'static {
    |prefix| format!("{prefix}_1")
}

#[test]
fn a_responses_request_is_translated_completely_for_anthropic() {
    let body = object(json!({
        "model": "claude/opus", "instructions": "Be brief.", "max_output_tokens": 99, "stream": true,
        "reasoning": {"effort": "minimal"}, "text": {"verbosity": "low"}, "safety_identifier": "m-7",
        "tools": [{"type": "function", "name": "look", "parameters": {"type": "object"}}],
        "tool_choice": "required", "store": true, "metadata": {"k": "v"},
        "input": [
            {"role": "user", "content": "Which bird?"},
            {"type": "function_call", "call_id": "call_a", "name": "look", "arguments": "{\"a\":1}"},
            {"type": "function_call_output", "call_id": "call_a", "output": [
                {"type": "input_image", "image_url": "data:image/png;base64,iVBO"}]},
        ],
    }));
    let chat = responses::request(&body, &[]).unwrap().chat;
    let message = anthropic::request(&chat, "claude-opus-5", 10).unwrap();
    assert_eq!(
        message,
        json!({
            "model": "claude-opus-5", "max_tokens": 99, "stream": true,
            "system": [{"type": "text", "text": "Be brief."}],
            "thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "low"},
            "metadata": {"user_id": "m-7"},
            "tools": [{"name": "look", "input_schema": {"type": "object"}}], "tool_choice": {"type": "any"},
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Which bird?"}]},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "call_a", "name": "look", "input": {"a": 1}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "call_a", "content": [
                        {"type": "text", "text": "The output is in the next user message."}]},
                    {"type": "text", "text": "Output of the tool call call_a:"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}},
                ]},
            ],
        })
    );
}

/// The whole message, and the events that stream it.
fn message() -> (Value, Vec<Value>) {
    let whole = json!({"type": "message", "model": "claude-opus-5", "stop_reason": "tool_use",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "text", "text": "Looking …"},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"a": 1}},
        ],
        "usage": {"input_tokens": 5, "output_tokens": 9, "cache_read_input_tokens": 2}});
    let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let events = vec![
        json!({"type": "message_start", "message": {"model": "claude-opus-5",
            "usage": {"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 1}}}),
        start(0, json!({"type": "thinking", "thinking": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "Hm."})),
        stop(0),
        start(1, json!({"type": "text", "text": ""})),
        delta(1, json!({"type": "text_delta", "text": "Looking "})),
        delta(1, json!({"type": "text_delta", "text": "…"})),
        stop(1),
        start(2, json!({"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}})),
        delta(2, json!({"type": "input_json_delta", "partial_json": "{\"a\""})),
        delta(2, json!({"type": "input_json_delta", "partial_json": ":1}"})),
        stop(2),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ];
    (whole, events)
}

#[test]
fn streamed_and_whole_anthropic_answers_become_equal_responses() {
    let (whole, events) = message();
    let shape = responses::Shape::new(&object(json!({"model": "claude/opus"})), "resp_1", 7);
    let completion = anthropic::answer(&whole, "chatcmpl-1", 7).unwrap();
    let mut stream = responses::Stream::new(shape.clone(), ToolTable::default(), ids());
    stream.add_completion(&completion, &mut BytesMut::new()).unwrap();
    stream.finish(&mut BytesMut::new());
    let expected = stream.into_response().unwrap();

    let (mut upstream, mut chunks, mut out) = (BytesMut::new(), BytesMut::new(), BytesMut::new());
    for event in &events {
        write_event(&mut upstream, event["type"].as_str().unwrap(), event.to_string().as_bytes());
    }
    let mut chat = anthropic::Stream::new("chatcmpl-1", 7, true);
    each_event(upstream, |event| chat.feed(event, &mut chunks).unwrap());
    let mut bridge = responses::Stream::new(shape, ToolTable::default(), ids());
    bridge.start(&mut out);
    each_event(chunks, |event| bridge.feed(event, &mut out).unwrap());
    assert_eq!(bridge.final_response(), Some(&expected));
    assert_eq!(bridge.usage(), chat.usage());
    assert_eq!(expected["output"][2]["arguments"], "{\"a\":1}");
}

fn each_event(bytes: BytesMut, mut then: impl FnMut(&wire::sse::Event)) {
    let mut splitter = Splitter::new(1 << 20);
    splitter.push(Bytes::from(bytes));
    while let Some(event) = splitter.next() {
        then(&event.unwrap());
    }
    assert!(splitter.is_clean());
}
