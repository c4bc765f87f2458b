//! Tests of `responses`.

use super::*;

#[test]
fn events_are_assembled() {
    let (mut growing, mut heard) = (Reply::default(), String::new());
    let item = json!({"type": "function_call", "call_id": "c", "name": "t", "arguments": "{}"});
    for event in [
        json!({"type": "response.created"}),
        json!({"type": "response.output_text.delta", "delta": "Hel"}),
        json!({"type": "response.output_text.delta", "delta": "lo"}),
        json!({"type": "response.output_item.done", "item": {"type": "message"}}),
        json!({"type": "response.output_item.done", "item": item}),
        json!({"type": "response.completed", "response": {"model": "m",
            "usage": {"input_tokens": 3, "output_tokens": 4}}}),
    ] {
        take(&event, &mut growing, &mut |text: &str| heard.push_str(text)).unwrap();
    }
    assert_eq!(heard, "Hello");
    assert!(growing.is_complete);
    let reply = growing.cleaned();
    assert_eq!(reply.calls[0].name, "t");
    assert_eq!((reply.input_tokens, reply.output_tokens), (3, 4));
}

#[test]
fn a_failure_event_is_an_error() {
    let event = json!({"type": "response.failed",
        "response": {"error": {"code": "upstream_unavailable", "message": "gone"}}});
    let trouble = take(&event, &mut Reply::default(), &mut |_: &str| {}).unwrap_err();
    assert_eq!(trouble.line(), "gone");
}
