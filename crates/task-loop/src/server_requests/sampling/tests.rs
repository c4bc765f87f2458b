//! Tests of `sampling`.

use super::*;

#[test]
fn what_a_server_wants_said_becomes_a_conversation() {
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
fn pictures_strange_roles_and_nothing_are_refused() {
    for bad in [
        json!({"messages": []}),
        json!({}),
        json!({"messages": [{"role": "user", "content": {"type": "image", "data": "x"}}]}),
        json!({"messages": [{"role": "king", "content": {"type": "text", "text": "x"}}]}),
    ] {
        assert!(conversation(&bad).is_err(), "{bad}");
    }
}
