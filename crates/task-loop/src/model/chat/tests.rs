//! Tests of `chat`.

use super::*;

fn grown(pieces: &[Value]) -> (Reply, String) {
    let (mut growing, mut heard) = (Reply::default(), String::new());
    for piece in pieces {
        take(piece, &mut growing, &mut |text: &str| heard.push_str(text));
    }
    (growing, heard)
}

#[test]
fn text_and_usage_are_assembled() {
    let (growing, heard) = grown(&[
        json!({"model": "m-1", "choices": [{"delta": {"role": "assistant", "content": "Hel"}}]}),
        json!({"choices": [{"delta": {"content": "lo"}, "finish_reason": null}]}),
        json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}),
    ]);
    assert_eq!((growing.text.as_str(), heard.as_str()), ("Hello", "Hello"));
    assert_eq!((growing.input_tokens, growing.output_tokens), (7, 2));
    assert_eq!(growing.model.as_deref(), Some("m-1"));
    assert!(growing.is_complete);
}

#[test]
fn split_calls_are_assembled_by_index() {
    let piece = |calls: Value| json!({"choices": [{"delta": {"tool_calls": calls}}]});
    let (growing, _) = grown(&[
        piece(json!([{"index": 0, "id": "a", "function": {"name": "one", "arguments": ""}}])),
        piece(json!([{"index": 1, "id": "b", "function": {"name": "two", "arguments": "{"}}])),
        piece(json!([{"index": 0, "function": {"arguments": "{\"x\":"}}])),
        piece(json!([{"index": 1, "function": {"arguments": "}"}},
                     {"index": 0, "function": {"arguments": "1}"}}])),
    ]);
    let reply = growing.cleaned();
    let got: Vec<(&str, &str)> =
        reply.calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
    assert_eq!(got, [("one", "{\"x\":1}"), ("two", "{}")]);
}

#[test]
fn invalid_chunks_create_no_call() {
    let (growing, _) = grown(&[
        json!({"choices": "x"}),
        json!({"choices": [{"delta": {"tool_calls": [{"index": 4_000_000_000_u64}]}}]}),
        json!({"choices": [{"delta": {"tool_calls": [{"index": 3, "id": 7}]}}]}),
        json!([1, 2]),
        json!(null),
    ]);
    assert!(growing.cleaned().calls.is_empty());
}

#[test]
fn calls_with_equal_ids_get_distinct_ids() {
    let call = |at: u32| json!({"index": at, "id": "same", "function": {"name": "t"}});
    let (growing, _) =
        grown(&[json!({"choices": [{"delta": {"tool_calls": [call(0), call(1)]}}]})]);
    let calls = growing.cleaned().calls;
    assert_eq!(calls.len(), 2);
    assert_ne!(calls[0].id, calls[1].id);
}
