//! Requests, and the items they list.

use serde_json::{Value, json};

use super::super::{input_items, request};
use super::{counted, object};

fn asked(body: Value, earlier: &[Value]) -> Value {
    request(&object(body), earlier).unwrap().chat.into()
}

fn refused(body: Value) -> String {
    request(&object(body), &[]).unwrap_err().param
}

#[test]
fn a_minimal_request_is_one_user_message() {
    assert_eq!(
        asked(json!({"model": "a/b", "input": "Hi", "instructions": null}), &[]),
        json!({"model": "a/b", "messages": [{"role": "user", "content": "Hi"}]})
    );
}

#[test]
fn every_setting_is_translated() {
    let schema = json!({"type": "object", "properties": {}});
    let body = json!({
        "model": "a/b", "instructions": "Be brief.", "input": "Which bird?",
        "tools": [{"type": "function", "name": "look", "description": "Finds.", "parameters": schema, "strict": true}],
        "tool_choice": {"type": "function", "name": "look"}, "parallel_tool_calls": false,
        "text": {"format": {"type": "json_schema", "name": "bird", "schema": schema, "strict": true}, "verbosity": "low"},
        "reasoning": {"effort": "high", "summary": "auto"}, "max_output_tokens": 50,
        "temperature": 0.5, "top_p": 0.9, "stream": true, "stream_options": {"include_obfuscation": false},
        "metadata": {"k": "v"}, "store": false, "background": false, "previous_response_id": "resp_0",
        "include": ["reasoning.encrypted_content"], "truncation": "auto", "max_tool_calls": 3, "top_logprobs": 0,
        "user": "u", "safety_identifier": "s", "prompt_cache_key": "p", "service_tier": "flex", "min_p": 0.1,
        "client_metadata": {"k": "v"}, "a_field_of_a_later_version": 1,
    });
    assert_eq!(
        asked(body, &[]),
        json!({
            "model": "a/b",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Which bird?"}],
            "tools": [{"type": "function", "function": {"name": "look", "description": "Finds.", "parameters": schema, "strict": true}}],
            "tool_choice": {"type": "function", "function": {"name": "look"}}, "parallel_tool_calls": false,
            "response_format": {"type": "json_schema", "json_schema": {"name": "bird", "schema": schema, "strict": true}},
            "verbosity": "low", "reasoning_effort": "high", "max_completion_tokens": 50,
            "temperature": 0.5, "top_p": 0.9, "stream": true, "stream_options": {"include_usage": true},
            "user": "u", "safety_identifier": "s", "service_tier": "flex", "min_p": 0.1,
        })
    );
}

#[test]
fn conversation_continues_earlier_responses() {
    let earlier = [
        json!({"id": "msg_1", "type": "message", "status": "completed", "role": "user",
            "content": [{"type": "input_text", "text": "Which bird?"}]}),
        json!({"id": "rs_1", "type": "reasoning", "summary": []}),
        json!({"id": "msg_2", "type": "message", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": "I will ", "annotations": []}, {"type": "output_text", "text": "look.", "annotations": []}]}),
        json!({"id": "fc_1", "type": "function_call", "call_id": "call_a", "name": "look", "arguments": "{}"}),
        json!({"id": "fc_2", "type": "function_call", "call_id": "call_b", "name": "now", "arguments": "{}"}),
    ];
    let input = json!([
        {"type": "item_reference", "id": "fc_1"},
        {"type": "function_call_output", "call_id": "call_a", "output": "a linnet"},
        {"type": "function_call_output", "call_id": "call_b", "output": [
            {"type": "input_text", "text": "noon"}, {"type": "input_image", "image_url": "https://b.example/1.png"}]},
        {"role": "developer", "content": "No Latin."},
        {"role": "user", "content": [
            {"type": "input_text", "text": "And this?"},
            {"type": "input_image", "image_url": "data:image/png;base64,iVBO", "detail": "high"},
            {"type": "input_file", "filename": "l.pdf", "file_data": "data:application/pdf;base64,JVBE"},
            {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
        ]},
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        {"type": "function_call", "call_id": "call_c", "name": "now", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_c", "output": "one"},
        {"type": "function_call", "call_id": "call_d", "name": "now", "arguments": "{}"},
    ]);
    let call = |id: &str, name: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}});
    let chat = asked(json!({"model": "m", "input": input}), &earlier);
    assert_eq!(
        chat["messages"],
        json!([
            {"role": "user", "content": "Which bird?"},
            {"role": "assistant", "content": "I will look.", "tool_calls": [call("call_a", "look"), call("call_b", "now")]},
            {"role": "tool", "tool_call_id": "call_a", "content": "a linnet"},
            {"role": "tool", "tool_call_id": "call_b", "content": "noon"},
            {"role": "user", "content": [
                {"type": "text", "text": "Output of the tool call call_b:"},
                {"type": "image_url", "image_url": {"url": "https://b.example/1.png"}}]},
            {"role": "system", "content": "No Latin."},
            {"role": "user", "content": [
                {"type": "text", "text": "And this?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO", "detail": "high"}},
                {"type": "file", "file": {"filename": "l.pdf", "file_data": "data:application/pdf;base64,JVBE"}},
                {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
            ]},
            {"role": "assistant", "content": null, "refusal": "No.", "tool_calls": [call("call_c", "now")]},
            {"role": "tool", "tool_call_id": "call_c", "content": "one"},
            {"role": "assistant", "content": null, "tool_calls": [call("call_d", "now")]},
        ])
    );
}

#[test]
fn allowed_tools_restrict_the_tool_list() {
    let tools = json!([{"type": "function", "name": "a"}, {"type": "function", "name": "b"}]);
    let choice = json!({"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "b"}]});
    let chat = asked(json!({"input": "Hi", "tools": tools, "tool_choice": choice}), &[]);
    assert_eq!(chat["tools"], json!([{"type": "function", "function": {"name": "b"}}]));
    assert_eq!(chat["tool_choice"], "required");
    let none = asked(
        json!({"input": "Hi", "tools": [], "tool_choice": "auto", "parallel_tool_calls": true}),
        &[],
    );
    assert_eq!(none, json!({"messages": [{"role": "user", "content": "Hi"}]}));
}

#[test]
fn fields_unsupported_by_chat_completions_are_rejected_by_name() {
    let part = |part: Value| json!({"input": [{"role": "user", "content": [part]}]});
    let cases = [
        (json!({}), "input"),
        (json!({"input": []}), "input"),
        (json!({"input": 7}), "input"),
        (json!({"input": "Hi", "instructions": ["no"]}), "instructions"),
        (json!({"input": "Hi", "tools": [{"name": "f"}]}), "tools[0].type"),
        (
            json!({"input": "Hi", "tools": [{"type": "mcp"}], "tool_choice": "required"}),
            "tool_choice",
        ),
        (
            json!({"input": "Hi", "tools": [{"type": "mcp"}], "tool_choice": {"type": "mcp"}}),
            "tool_choice.type",
        ),
        (json!({"input": "Hi", "tool_choice": {"type": "file_search"}}), "tool_choice.type"),
        (json!({"input": "Hi", "text": {"format": {"type": "grammar"}}}), "text.format.type"),
        (json!({"input": "Hi", "text": {"format": {"type": "json_schema"}}}), "text.format.name"),
        (json!({"input": "Hi", "conversation": "conv_1"}), "conversation"),
        (json!({"input": "Hi", "prompt": {"id": "pmpt_1"}}), "prompt"),
        (json!({"input": "Hi", "top_logprobs": 2}), "top_logprobs"),
        (json!({"input": "Hi", "include": ["message.output_text.logprobs"]}), "include"),
        (json!({"input": [{"type": "item_reference", "id": "msg_9"}]}), "input[0].id"),
        (json!({"input": [{"type": "file_search_call", "id": "fs_1"}]}), "input[0].type"),
        (
            json!({"input": [{"type": "compaction", "encrypted_content": "gAAA"}]}),
            "input[0].encrypted_content",
        ),
        (json!({"input": [{"role": "robot", "content": "Hi"}]}), "input[0].role"),
        (json!({"input": [{"type": "function_call_output", "output": "r"}]}), "input[0].call_id"),
        (json!({"input": [{"type": "function_call_output", "call_id": "c"}]}), "input[0].output"),
        (part(json!({"type": "input_image", "file_id": "file_1"})), "input[0].content[0].file_id"),
        (
            part(json!({"type": "input_file", "file_url": "https://x.example"})),
            "input[0].content[0].file_url",
        ),
        (part(json!({"type": "input_video"})), "input[0].content[0].type"),
    ];
    for (body, param) in cases {
        assert_eq!(refused(body.clone()), param, "{body}");
    }
    let broken = request(&object(json!({"input": "Hi"})), &[json!({"type": "computer_call"})]);
    assert_eq!(broken.unwrap_err().param, "previous_response_id.type");
}

#[test]
fn input_is_listed_as_items_with_ids() {
    let listed = |body: Value| input_items(&object(body), counted());
    assert_eq!(
        listed(json!({"input": "Hi"})),
        [json!({
            "id": "msg_0", "type": "message", "status": "completed", "role": "user",
            "content": [{"type": "input_text", "text": "Hi"}],
        })]
    );
    let items = listed(json!({"input": [
        {"role": "user", "content": [{"type": "input_image", "image_url": "u"}]},
        {"role": "assistant", "content": "Hello."},
        {"type": "item_reference", "id": "msg_9"},
        {"id": "fc_x", "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "r"},
        {"type": "reasoning", "id": "rs_x", "summary": []},
    ]}));
    assert_eq!(
        items,
        [
            json!({"id": "msg_0", "type": "message", "status": "completed", "role": "user",
            "content": [{"type": "input_image", "image_url": "u", "detail": "auto"}]}),
            json!({"id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": "Hello.", "annotations": [], "logprobs": []}]}),
            json!({"id": "fc_x", "type": "function_call", "status": "completed", "call_id": "c", "name": "f", "arguments": "{}"}),
            json!({"id": "fco_2", "type": "function_call_output", "status": "completed", "call_id": "c", "output": "r"}),
            json!({"type": "reasoning", "id": "rs_x", "summary": []}),
        ]
    );
    assert!(listed(json!({})).is_empty());
    let again = asked(json!({"input": "Next."}), &items);
    assert_eq!(again["messages"].as_array().map(Vec::len), Some(4));
}
