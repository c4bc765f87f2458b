//! Streams: the events, their order and fields, and that chunking changes nothing.

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;
use serde_json::{Value, json};
use wire::sse::Splitter;

use super::super::super::{
    ChatTranslator, MAX_OUTPUT_BYTES, MAX_OUTPUT_ITEMS, Malformed, StreamFault, ToolTable, Usage,
};
use super::super::Stream;
use super::{answer, counted, shape};
use crate::tests::chunks::{call, delta, finish, upstream};

fn stream() -> Stream {
    Stream::new(shape(), ToolTable::default(), counted())
}

fn usage() -> Value {
    json!({"id": "c", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}})
}

pub(super) fn feed(
    stream: &mut Stream,
    bytes: &[u8],
    size: usize,
    out: &mut BytesMut,
) -> Result<(), StreamFault> {
    let mut splitter = Splitter::new(MAX_OUTPUT_BYTES * 2);
    for chunk in bytes.chunks(size) {
        splitter.push(Bytes::copy_from_slice(chunk));
        while let Some(event) = splitter.next() {
            stream.feed(&event.unwrap(), out)?;
        }
    }
    Ok(())
}

/// The data of all events, checked for the order that the API promises.
pub(super) fn events(out: &[u8]) -> Vec<Value> {
    let mut splitter = Splitter::new(MAX_OUTPUT_BYTES * 2);
    splitter.push(Bytes::copy_from_slice(out));
    let (mut events, mut open, mut next) = (Vec::new(), None, 0);
    while let Some(event) = splitter.next() {
        let event = event.unwrap();
        let data: Value = serde_json::from_slice(&event.data()).unwrap();
        assert_eq!(event.name(), data["type"].as_str());
        match data["type"].as_str().unwrap() {
            "content_block_start" => {
                assert_eq!((open, data["index"].as_u64()), (None, Some(next)));
                open = Some(next);
            }
            "content_block_delta" => assert_eq!(data["index"].as_u64(), open),
            "content_block_stop" => {
                assert_eq!(data["index"].as_u64(), open.take());
                next += 1;
            }
            _ => assert_eq!(open, None),
        }
        events.push(data);
    }
    assert!(splitter.is_clean());
    events
}

pub(super) fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// The message that a client assembles from the events, as the SDKs do.
fn assembled(events: &[Value]) -> Value {
    let mut message = Value::Null;
    let mut json = String::new();
    for event in events {
        let index = usize::try_from(event["index"].as_u64().unwrap_or(0)).unwrap();
        match event["type"].as_str().unwrap() {
            "message_start" => message = event["message"].clone(),
            "content_block_start" => {
                message["content"].as_array_mut().unwrap().push(event["content_block"].clone());
                json.clear();
            }
            "content_block_delta" => {
                let (block, delta) = (&mut message["content"][index], &event["delta"]);
                let append = |block: &mut Value, name: &str| {
                    let text =
                        [block[name].as_str().unwrap(), delta[name].as_str().unwrap()].concat();
                    block[name] = text.into();
                };
                match delta["type"].as_str().unwrap() {
                    "text_delta" => append(block, "text"),
                    "thinking_delta" => append(block, "thinking"),
                    "signature_delta" => append(block, "signature"),
                    "input_json_delta" => json.push_str(delta["partial_json"].as_str().unwrap()),
                    other => panic!("no such delta: {other}"),
                }
            }
            "content_block_stop" if !json.is_empty() => {
                message["content"][index]["input"] = serde_json::from_str(&json).unwrap();
                json.clear();
            }
            "message_delta" => {
                let message = message.as_object_mut().unwrap();
                message.extend(event["delta"].as_object().unwrap().clone());
                message.insert("usage".into(), event["usage"].clone());
            }
            _ => {}
        }
    }
    message
}

/// All events of a stream, and the message it ended with.
fn run(chunks: &[Value]) -> (Vec<Value>, Value) {
    let mut stream = stream();
    let mut out = BytesMut::new();
    stream.start(&mut out);
    feed(&mut stream, &upstream(chunks), 4096, &mut out).unwrap();
    assert!(stream.is_done());
    (events(&out), stream.message())
}

#[test]
fn plain_text_has_the_documented_events() {
    let (events, message) = run(&[
        delta(&json!({"role": "assistant", "content": ""})),
        delta(&json!({"content": "Good "})),
        json!({"choices": [{"index": 1, "delta": {"content": "of a second choice"}}]}),
        // Some servers repeat the whole message in every chunk.
        json!({"choices": [{"delta": {"content": "day", "tool_calls": null}, "message": {"content": "Good day"}}]}),
        finish("stop"),
        usage(),
    ]);
    let usage = json!({"input_tokens": 2, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 1,
        "output_tokens": 2, "output_tokens_details": {"thinking_tokens": 0}});
    let text = |text: &str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
    assert_eq!(
        events,
        [
            json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "a/b",
                "content": [], "stop_reason": null, "stop_sequence": null, "usage": Usage::default().to_message()}}),
            json!({"type": "ping"}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            text("Good "),
            text("day"),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": usage}),
            json!({"type": "message_stop"}),
        ]
    );
    assert_eq!(message, assembled(&events));
}

#[test]
fn interleaved_calls_become_consecutive_blocks() {
    let (events, message) = run(&[
        delta(&json!({"reasoning_content": "Hm"})),
        delta(&json!({"reasoning": "m."})),
        delta(&json!({"content": "Looking."})),
        call(0, Some("call_a"), Some("look"), ""),
        call(0, None, None, "{\"a\":"),
        call(1, Some("call_b"), Some("now"), "{\"b\""),
        delta(&json!({"content": "\n"})),
        call(0, Some(""), None, "1}"),
        call(2, Some("call_c"), Some("next"), "{}"),
        call(1, None, None, ":2}"),
        call(0, None, None, " "),
        finish("tool_calls"),
    ]);
    assert_eq!(
        message["content"],
        json!([
            {"type": "thinking", "thinking": "Hmm.", "signature": ""},
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "call_a", "name": "look", "input": {"a": 1}},
            {"type": "tool_use", "id": "call_b", "name": "now", "input": {"b": 2}},
            {"type": "tool_use", "id": "call_c", "name": "next", "input": {}},
        ])
    );
    assert_eq!(message, assembled(&events));
    let signature = events.iter().filter(|event| event["delta"]["type"] == "signature_delta");
    assert_eq!(signature.count(), 1);
}

#[test]
fn text_after_calls_follows_them() {
    let (events, message) = run(&[
        call(0, Some("a"), Some("f"), "{"),
        delta(&json!({"content": "Done"})),
        call(0, None, None, "}"),
        delta(&json!({"content": "."})),
    ]);
    assert_eq!(message["content"][1], json!({"type": "text", "text": "Done."}));
    assert_eq!((&message["stop_reason"], &message), (&json!("tool_use"), &assembled(&events)));
}

#[test]
fn calls_with_the_same_index_are_distinguished_by_id() {
    let (_, message) = run(&[
        call(0, Some("x"), Some("f"), "{\"a\":1}"),
        call(0, Some("y"), Some("g"), "{\"b\":"),
        call(0, Some("y"), None, "2}"),
    ]);
    let calls: Vec<_> = message["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| (block["id"].as_str().unwrap(), &block["input"]))
        .collect();
    assert_eq!(calls, [("x", &json!({"a": 1})), ("y", &json!({"b": 2}))]);
}

#[test]
fn an_error_of_the_upstream_is_a_fault() {
    let mut stream = stream();
    let mut out = BytesMut::new();
    let bytes = upstream(&[json!({"error": {"code": "overloaded", "message": "Too busy"}})]);
    let fault = feed(&mut stream, &bytes, 50, &mut out).unwrap_err();
    assert_eq!(
        fault,
        StreamFault::Upstream { kind: "overloaded".into(), peer_message: "Too busy".into() }
    );
}

#[test]
fn a_stream_without_its_end_marker_can_be_finished() {
    let mut bytes = upstream(&[delta(&json!({"content": "Once"})), finish("length"), usage()]);
    bytes.truncate(bytes.len() - b"data: [DONE]\n\n".len());
    let mut stream = stream();
    let mut out = BytesMut::new();
    feed(&mut stream, &bytes, 9, &mut out).unwrap();
    assert!(!stream.is_done());
    stream.finish(&mut out);
    assert_eq!(stream.message()["stop_reason"], "max_tokens");
    assert_eq!(stream.usage().unwrap().total_tokens(), 5);
}

#[test]
fn stored_answer_is_bounded() {
    let fault = |chunks: &[Value]| {
        feed(&mut stream(), &upstream(chunks), 1 << 16, &mut BytesMut::new()).unwrap_err()
    };
    let piece = delta(&json!({"content": "x".repeat(MAX_OUTPUT_BYTES / 2)}));
    let one = delta(&json!({"content": "y"}));
    let too_long = StreamFault::Malformed(Malformed::TooLong);
    assert_eq!(fault(&[piece.clone(), piece, one]), too_long);
    let calls: Vec<Value> =
        (0..=MAX_OUTPUT_ITEMS as u64).map(|n| call(n, Some("i"), Some("f"), "")).collect();
    assert_eq!(fault(&calls), too_long);
    let mut all_but_one = stream();
    feed(&mut all_but_one, &upstream(&calls[1..]), 1 << 16, &mut BytesMut::new()).unwrap();
    assert!(all_but_one.is_done());
}

#[test]
fn invalid_chunks_are_malformed() {
    let mut out = BytesMut::new();
    let fault = feed(&mut stream(), b"data: {\n\n", 64, &mut out).unwrap_err();
    assert_eq!(fault, StreamFault::Malformed(Malformed::Event));
    let nameless = upstream(&[call(0, Some("i"), None, "{}")]);
    let fault = feed(&mut stream(), &nameless, 64, &mut out).unwrap_err();
    assert_eq!(fault, StreamFault::Malformed(Malformed::Missing("name of a call")));
}

/// A completion, and the chunks of its stream with the fragments of its calls interleaved.
pub(super) fn completions() -> impl Strategy<Value = (Value, Vec<Value>)> {
    let pieces = || proptest::collection::vec(any::<String>(), 0..4);
    let calls = proptest::collection::vec(("[a-z]{1,8}", any::<String>(), 1_usize..9), 0..4);
    let reason = prop_oneof![Just("stop"), Just("length"), Just("tool_calls")];
    (pieces(), pieces(), calls, reason, any::<bool>()).prop_map(|(thoughts, texts, calls, reason, interleaved)| {
        let mut chunks = vec![delta(&json!({"role": "assistant", "content": ""}))];
        chunks.extend(thoughts.iter().map(|text| delta(&json!({"reasoning_content": text}))));
        chunks.extend(texts.iter().map(|text| delta(&json!({"content": text}))));
        let (mut whole, mut fragments) = (Vec::new(), Vec::new());
        for (n, (name, value, size)) in calls.iter().enumerate() {
            let (id, arguments) = (format!("call_{n}"), json!({"value": value}).to_string());
            fragments.push((0, call(n as u64, Some(&id), Some(name), "")));
            let chars: Vec<char> = arguments.chars().collect();
            fragments.extend(chars.chunks(*size).enumerate().map(|(order, piece)| {
                let piece: String = piece.iter().collect();
                (order + 1, call(n as u64, None, None, &piece))
            }));
            whole.push(json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}));
        }
        if interleaved {
            fragments.sort_by_key(|(order, _)| *order);
        }
        chunks.extend(fragments.into_iter().map(|(_, chunk)| chunk));
        chunks.extend([finish(reason), usage()]);
        let message = json!({"role": "assistant", "content": texts.concat(), "reasoning_content": thoughts.concat(), "tool_calls": whole});
        (json!({"choices": [{"message": message, "finish_reason": reason}], "usage": usage()["usage"]}), chunks)
    })
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_events((_, chunks) in completions(), size in 1_usize..60) {
        let bytes = upstream(&chunks);
        let (mut whole, mut cut) = (BytesMut::new(), BytesMut::new());
        feed(&mut stream(), &bytes, bytes.len(), &mut whole).unwrap();
        feed(&mut stream(), &bytes, size, &mut cut).unwrap();
        prop_assert_eq!(whole, cut);
    }

    #[test]
    fn streamed_events_assemble_to_the_whole_message((completion, chunks) in completions()) {
        let (events, streamed) = run(&chunks);
        prop_assert_eq!(&assembled(&events), &streamed);
        prop_assert_eq!(streamed, answer(&completion).unwrap());
    }
}
