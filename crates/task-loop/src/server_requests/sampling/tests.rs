//! Tests of `sampling`.

use super::*;

#[test]
fn sampling_messages_become_a_conversation() {
    let (conversation, rounds) = conversation(&json!({
        "systemPrompt": "be brief",
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "hi"}},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "1", "name": "t", "input": {"a": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "toolUseId": "1",
                "content": [{"type": "text", "text": "ok"}]}]},
        ],
    }))
    .unwrap();
    assert_eq!(rounds, 1);
    assert_eq!(conversation.messages().len(), 4);
    assert!(matches!(&conversation.messages()[3], Message::Tool { id, text, .. }
        if id == "1" && text == "ok"));
}

#[test]
fn images_unknown_roles_and_empty_messages_are_rejected() {
    for bad in [
        json!({"messages": []}),
        json!({}),
        json!({"messages": [{"role": "user", "content": {"type": "image", "data": "x"}}]}),
        json!({"messages": [{"role": "king", "content": {"type": "text", "text": "x"}}]}),
    ] {
        assert!(conversation(&bad).is_err(), "{bad}");
    }
}
