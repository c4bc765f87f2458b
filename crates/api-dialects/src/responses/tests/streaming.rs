//! Streams: the events, their order and fields, and that chunking changes nothing.

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;
use serde_json::{Value, json};
use wire::sse::Splitter;

use super::super::super::{
    ChatTranslator, MAX_OUTPUT_BYTES, MAX_OUTPUT_ITEMS, Malformed, StreamFault, ToolTable,
};
use super::super::Stream;
use super::{RESPONSE_FIELDS, answer, counted, shape};
use crate::tests::chunks::{call, delta, finish, upstream};

fn stream() -> Stream {
    with_tools(ToolTable::default())
}

pub(super) fn with_tools(tools: ToolTable) -> Stream {
    Stream::new(shape(json!({"model": "a/b", "stream": true})), tools, counted())
}

fn usage() -> Value {
    json!({"id": "c", "choices": null, "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}})
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

/// All events of a stream, checked for what every event must have.
pub(super) fn run(chunks: &[Value]) -> (Vec<Value>, Value) {
    let mut stream = stream();
    let mut out = BytesMut::new();
    stream.start(&mut out);
    feed(&mut stream, &upstream(chunks), 4096, &mut out).unwrap();
    assert!(stream.is_done());
    (events(&out), stream.final_response().unwrap().clone())
}

pub(super) fn events(out: &[u8]) -> Vec<Value> {
    let mut splitter = Splitter::new(MAX_OUTPUT_BYTES * 2);
    splitter.push(Bytes::copy_from_slice(out));
    let mut events = Vec::new();
    while let Some(event) = splitter.next() {
        let event = event.unwrap();
        let data: Value = serde_json::from_slice(&event.data()).unwrap();
        assert_eq!(event.name(), data["type"].as_str());
        assert_eq!(data["sequence_number"], events.len());
        check(&data);
        events.push(data);
    }
    assert!(splitter.is_clean());
    events
}

/// Fails when an event lacks a field its schema requires.
fn check(event: &Value) {
    let part = ["item_id", "output_index", "content_index"];
    let fields: Vec<&str> = match event["type"].as_str().unwrap() {
        "response.created"
        | "response.in_progress"
        | "response.completed"
        | "response.incomplete"
        | "response.failed" => {
            for field in RESPONSE_FIELDS {
                assert!(event["response"].get(field).is_some(), "{field} in {event}");
            }
            vec!["response"]
        }
        "response.output_item.added" | "response.output_item.done" => vec!["output_index", "item"],
        "response.content_part.added" | "response.content_part.done" => {
            [&part[..], &["part"]].concat()
        }
        "response.output_text.delta" => [&part[..], &["delta", "logprobs"]].concat(),
        "response.output_text.done" => [&part[..], &["text", "logprobs"]].concat(),
        "response.refusal.delta" | "response.reasoning_text.delta" => {
            [&part[..], &["delta"]].concat()
        }
        "response.refusal.done" => [&part[..], &["refusal"]].concat(),
        "response.reasoning_text.done" => [&part[..], &["text"]].concat(),
        "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
            vec!["item_id", "output_index", "delta"]
        }
        "response.function_call_arguments.done" => {
            vec!["item_id", "output_index", "name", "arguments"]
        }
        "response.output_text.annotation.added" => {
            [&part[..], &["annotation_index", "annotation"]].concat()
        }
        "response.custom_tool_call_input.done" => vec!["item_id", "output_index", "input"],
        "response.web_search_call.in_progress"
        | "response.web_search_call.searching"
        | "response.web_search_call.completed" => vec!["item_id", "output_index"],
        other => panic!("no such event: {other}"),
    };
    for field in fields {
        assert!(event.get(field).is_some(), "{field} in {event}");
    }
}

pub(super) fn kinds(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["type"].as_str().unwrap().strip_prefix("response.").unwrap())
        .collect()
}

#[test]
fn plain_text_has_the_documented_events() {
    let (events, response) = run(&[
        delta(&json!({"role": "assistant", "content": ""})),
        delta(&json!({"content": "Good "})),
        json!({"choices": [{"index": 1, "delta": {"content": "of a second choice"}}]}),
        delta(&json!({"content": "day", "tool_calls": null})),
        finish("stop"),
        usage(),
    ]);
    assert_eq!(
        kinds(&events),
        [
            "created", "in_progress", "output_item.added", "content_part.added",
            "output_text.delta", "output_text.delta", "output_text.done", "content_part.done",
            "output_item.done", "completed",
        ]
    );
    let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
    let item = |status: &str, content: Value| json!({"id": "msg_0", "type": "message", "status": status, "role": "assistant", "content": content});
    assert_eq!(events[2]["item"], item("in_progress", json!([])));
    assert_eq!(events[3]["part"], part(""));
    assert_eq!(
        events[4],
        json!({"type": "response.output_text.delta", "sequence_number": 4, "item_id": "msg_0",
        "output_index": 0, "content_index": 0, "delta": "Good ", "logprobs": []})
    );
    assert_eq!((&events[6]["text"], &events[7]["part"]), (&json!("Good day"), &part("Good day")));
    assert_eq!(events[8]["item"], item("completed", json!([part("Good day")])));
    assert_eq!(events[9]["response"], response);
    assert_eq!(
        (&response["status"], &response["usage"]["total_tokens"]),
        (&json!("completed"), &json!(5))
    );
}

#[test]
fn thinking_text_and_calls_become_consecutive_items() {
    let (events, response) = run(&[
        delta(&json!({"reasoning_content": "Hm"})),
        delta(&json!({"reasoning": "m."})),
        delta(&json!({"content": "Looking."})),
        call(0, Some("call_a"), Some("look"), ""),
        call(0, None, None, "{\"a\":"),
        call(1, Some("call_b"), Some("now"), "{}"),
        call(0, Some(""), None, "1}"),
        finish("tool_calls"),
    ]);
    assert_eq!(
        kinds(&events),
        [
            "created", "in_progress", "output_item.added", "content_part.added",
            "reasoning_text.delta", "reasoning_text.delta", "reasoning_text.done",
            "content_part.done", "output_item.done", "output_item.added", "content_part.added",
            "output_text.delta", "output_text.done", "content_part.done", "output_item.done",
            "output_item.added", "function_call_arguments.delta", "output_item.added",
            "function_call_arguments.delta", "function_call_arguments.delta",
            "function_call_arguments.done", "output_item.done", "function_call_arguments.done",
            "output_item.done", "completed",
        ]
    );
    assert_eq!(
        response["output"],
        json!([
            {"id": "rs_0", "type": "reasoning", "status": "completed", "summary": [], "content": [{"type": "reasoning_text", "text": "Hmm."}]},
            {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
                "content": [{"type": "output_text", "text": "Looking.", "annotations": [], "logprobs": []}]},
            {"id": "fc_2", "type": "function_call", "status": "completed", "call_id": "call_a", "name": "look", "arguments": "{\"a\":1}"},
            {"id": "fc_3", "type": "function_call", "status": "completed", "call_id": "call_b", "name": "now", "arguments": "{}"},
        ])
    );
    assert_eq!(
        events[20],
        json!({"type": "response.function_call_arguments.done", "sequence_number": 20,
        "item_id": "fc_2", "output_index": 2, "name": "look", "arguments": "{\"a\":1}"})
    );
}

#[test]
fn calls_without_an_index_are_distinguished_by_id() {
    let unnumbered = |id: Option<&str>, name: Option<&str>, arguments: &str| {
        delta(
            &json!({"tool_calls": [{"id": id, "function": {"name": name, "arguments": arguments}}]}),
        )
    };
    let (_, response) = run(&[
        unnumbered(Some("x"), Some("f"), "{"),
        unnumbered(None, None, "}"),
        unnumbered(Some("y"), Some("g"), "{}"),
        unnumbered(None, Some("h"), ""),
    ]);
    let calls: Vec<_> = response["output"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (&item["call_id"], &item["arguments"]))
        .collect();
    assert_eq!(calls, [(&json!("x"), &json!("{}")), (&json!("y"), &json!("{}"))]);
}

#[test]
fn refusal_after_text_is_a_separate_part() {
    let (events, response) = run(&[
        delta(&json!({"content": "Well"})),
        delta(&json!({"refusal": "No."})),
        finish("stop"),
    ]);
    assert_eq!(
        kinds(&events)[4..],
        [
            "output_text.delta", "output_text.done", "content_part.done", "content_part.added",
            "refusal.delta", "refusal.done", "content_part.done", "output_item.done", "completed",
        ]
    );
    assert_eq!(response["output"][0]["content"][1], json!({"type": "refusal", "refusal": "No."}));
    assert_eq!(events[8]["content_index"], 1);
}

#[test]
fn an_answer_truncated_by_its_limit_is_incomplete() {
    let (events, response) = run(&[delta(&json!({"content": "Once"})), finish("length")]);
    assert_eq!(events.last().unwrap()["type"], "response.incomplete");
    assert_eq!(response["incomplete_details"], json!({"reason": "max_output_tokens"}));
    assert_eq!(response["output"][0]["status"], "incomplete");
}

#[test]
fn an_empty_stream_still_has_a_message() {
    let (events, response) = run(&[]);
    assert_eq!(
        kinds(&events)[2..],
        [
            "output_item.added", "content_part.added", "output_text.done", "content_part.done",
            "output_item.done", "completed",
        ]
    );
    assert_eq!(response["output"][0]["content"][0]["text"], "");
}

#[test]
fn a_failure_keeps_the_partial_output_and_ends_the_stream() {
    let mut stream = stream();
    let mut out = BytesMut::new();
    stream.start(&mut out);
    let mut bytes = upstream(&[
        delta(&json!({"content": "Once"})),
        json!({"error": {"code": "overloaded", "message": "Too busy"}}),
    ]);
    let fault = feed(&mut stream, &bytes, 50, &mut out).unwrap_err();
    assert_eq!(
        fault,
        StreamFault::Upstream { kind: "overloaded".into(), peer_message: "Too busy".into() }
    );
    stream.fail("server_error", "the model failed", &mut out);
    let length = out.len();
    bytes = upstream(&[delta(&json!({"content": "late"}))]);
    feed(&mut stream, &bytes, 50, &mut out).unwrap();
    stream.finish(&mut out);
    stream.fail("server_error", "again", &mut out);
    assert_eq!(out.len(), length);
    let last = events(&out).pop().unwrap();
    assert_eq!(last["type"], "response.failed");
    assert_eq!(
        last["response"]["error"],
        json!({"code": "server_error", "message": "the model failed"})
    );
    assert_eq!(last["response"]["output"][0]["status"], "incomplete");
    assert_eq!(stream.final_response(), Some(&last["response"]));
}

#[test]
fn a_stream_without_its_end_marker_can_be_finished() {
    let mut bytes = upstream(&[delta(&json!({"content": "Once"})), finish("stop")]);
    bytes.truncate(bytes.len() - b"data: [DONE]\n\n".len());
    let mut out = BytesMut::new();
    let mut finished = stream();
    feed(&mut finished, &bytes, 9, &mut out).unwrap();
    assert!(!finished.is_done());
    finished.finish(&mut out);
    assert_eq!(finished.final_response().unwrap()["status"], "completed");
}

#[test]
fn stored_answer_is_bounded() {
    let fault = |chunks: &[Value]| {
        let mut stream = stream();
        feed(&mut stream, &upstream(chunks), 1 << 16, &mut BytesMut::new()).unwrap_err()
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

/// A completion, and the chunks of its stream in pieces.
pub(super) fn completions() -> impl Strategy<Value = (Value, Vec<Value>)> {
    let pieces = || proptest::collection::vec(any::<String>(), 0..4);
    let calls = proptest::collection::vec(("[a-z]{1,8}", pieces()), 0..4);
    let reason = prop_oneof![Just("stop"), Just("length"), Just("tool_calls")];
    (pieces(), pieces(), calls, reason).prop_map(|(thoughts, texts, calls, reason)| {
        let mut chunks = vec![delta(&json!({"role": "assistant", "content": ""}))];
        chunks.extend(thoughts.iter().map(|text| delta(&json!({"reasoning_content": text}))));
        chunks.extend(texts.iter().map(|text| delta(&json!({"content": text}))));
        let mut whole = Vec::new();
        for (n, (name, arguments)) in calls.iter().enumerate() {
            let id = format!("call_{n}");
            chunks.push(call(n as u64, Some(&id), Some(name), ""));
            chunks.extend(arguments.iter().map(|piece| call(n as u64, None, None, piece)));
            whole.push(json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments.concat()}}));
        }
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
    fn the_streamed_response_equals_the_whole_one((completion, chunks) in completions()) {
        let (_, streamed) = run(&chunks);
        let whole = answer(&completion, &shape(json!({"model": "a/b"}))).unwrap();
        prop_assert_eq!(streamed, whole);
    }

    #[test]
    fn joined_deltas_equal_the_text(texts in proptest::collection::vec(any::<String>(), 1..6)) {
        let chunks: Vec<Value> = texts.iter().map(|text| delta(&json!({"content": text}))).collect();
        let (events, response) = run(&chunks);
        let joined: String = events.iter()
            .filter(|event| event["type"] == "response.output_text.delta")
            .map(|event| event["delta"].as_str().unwrap())
            .collect();
        prop_assert_eq!(&joined, &texts.concat());
        prop_assert_eq!(response["output"][0]["content"][0]["text"].as_str(), Some(joined.as_str()));
    }
}
