//! What Codex sends and expects: tools of every type, their calls and outputs.

use bytes::BytesMut;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::super::{ChatTranslator, Translated, opaque};
use super::super::request;
use super::streaming::{events, feed, kinds, with_tools};
use super::{object, shape, whole};
use crate::tests::chunks::{call, finish, upstream};

/// A request of Codex CLI, shortened: every tool type and every field that it sends.
fn codex() -> Value {
    let parameters = json!({"type": "object", "properties": {"cmd": {"type": "string"}}, "required": ["cmd"], "additionalProperties": false});
    json!({
        "model": "mock/good", "instructions": "You are Codex.", "stream": true, "store": false,
        "tool_choice": "auto", "parallel_tool_calls": true, "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "medium", "summary": "auto", "context": "auto"}, "prompt_cache_key": "0199",
        "client_metadata": {"x-codex-installation-id": "i"}, "stream_options": {"reasoning_summary_delivery": "sequential_cutoff"},
        "tools": [
            {"type": "function", "name": "exec_command", "description": "Runs a command.", "strict": false, "parameters": parameters},
            {"type": "custom", "name": "apply_patch", "description": "Edits files.",
                "format": {"type": "grammar", "syntax": "lark", "definition": "start: begin_patch hunk+ end_patch"}},
            {"type": "namespace", "name": "mcp__birds", "description": "Bird lookup.", "tools": [
                {"type": "function", "name": "exec_command", "description": "Finds a bird.", "strict": false, "parameters": parameters},
                {"type": "custom", "name": "note", "description": "", "format": {"type": "text"}}]},
            {"type": "tool_search", "execution": "client", "description": "Finds tools.", "parameters": {"type": "object"}},
            {"type": "web_search", "external_web_access": false},
            {"type": "image_generation", "output_format": "png"},
            {"type": "local_shell"},
        ],
        "input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Sandbox: read-only."}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix it."}]},
        ],
    })
}

fn translated(body: Value) -> Translated {
    request(&object(body), &[]).unwrap()
}

#[test]
fn tools_of_every_type_become_functions_or_are_omitted() {
    let Translated { chat, tools } = translated(codex());
    let names: Vec<&str> = chat["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "exec_command", "apply_patch", "mcp__birds__exec_command", "mcp__birds__note",
            "tool_search", "web_search",
        ]
    );
    let patch = &chat["tools"][1]["function"];
    assert_eq!(patch["parameters"]["required"], json!(["input"]));
    assert_eq!(
        patch["description"],
        "Edits files.\n\nThe input must match this lark grammar:\nstart: begin_patch hunk+ end_patch"
    );
    assert_eq!(
        chat["tools"][2]["function"]["description"],
        "Finds a bird.\n\nAbout all tools of mcp__birds: Bird lookup."
    );
    assert!(tools.web_search().is_some_and(|search| search.pages == 0));
    let mut fields: Vec<&str> = chat.keys().map(String::as_str).collect();
    fields.sort_unstable();
    assert_eq!(
        fields,
        [
            "messages", "model", "parallel_tool_calls", "reasoning_effort", "stream",
            "stream_options", "tool_choice", "tools",
        ]
    );
    assert_eq!(chat["stream_options"], json!({"include_usage": true}));
}

#[test]
fn history_of_every_tool_type_becomes_calls_and_results() {
    let mut body = codex();
    body["input"] = json!([
        {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "late"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix it."}]},
        {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"},
        {"type": "function_call", "call_id": "c1", "name": "exec_command", "namespace": "mcp__birds", "arguments": "{}"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Looking."}], "phase": "commentary"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": "*** Begin\n", "status": "completed"},
        {"type": "function_call_output", "call_id": "c1", "output": "a linnet"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": [
            {"type": "input_text", "text": "Done"}, {"type": "input_image", "image_url": "data:image/png;base64,iVBO", "detail": "original"}]},
        {"type": "tool_search_call", "call_id": "c3", "execution": "client", "arguments": {"query": "calendar"}, "status": "completed"},
        {"type": "tool_search_output", "call_id": "c3", "execution": "client", "status": "completed", "tools": [
            {"type": "namespace", "name": "calendar", "description": "", "tools": [{"type": "function", "name": "add", "defer_loading": true}]}]},
        {"type": "local_shell_call", "call_id": "c4", "status": "completed", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "function_call_output", "call_id": "c4", "output": "src"},
        {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "linnet"}},
        {"type": "agent_message", "author": "/root/a", "recipient": "/root", "content": [{"type": "input_text", "text": "Ready."}]},
        {"type": "compaction", "encrypted_content": opaque::encode("All done.")},
    ]);
    let chat = translated(body).chat;
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    assert_eq!(
        chat["messages"],
        json!([
            {"role": "system", "content": "You are Codex."},
            {"role": "user", "content": "Fix it."},
            {"role": "assistant", "content": "Looking.", "tool_calls": [
                call("c1", "mcp__birds__exec_command", "{}"),
                call("c2", "apply_patch", "{\"input\":\"*** Begin\\n\"}")]},
            {"role": "tool", "tool_call_id": "c1", "content": "a linnet"},
            {"role": "tool", "tool_call_id": "c2", "content": "Done"},
            {"role": "user", "content": [
                {"type": "text", "text": "Output of the tool call c2:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO", "detail": "high"}}]},
            {"role": "assistant", "content": null, "tool_calls": [call("c3", "tool_search", "{\"query\":\"calendar\"}")]},
            {"role": "tool", "tool_call_id": "c3", "content": "These tools are available now: calendar"},
            {"role": "assistant", "content": null, "tool_calls": [call("c4", "local_shell", "{\"command\":[\"ls\"],\"type\":\"exec\"}")]},
            {"role": "tool", "tool_call_id": "c4", "content": "src"},
            {"role": "user", "content": "Message from /root/a:\n\nReady."},
            {"role": "user", "content": "Summary of the conversation so far:\nAll done."},
        ])
    );
    let names: Vec<&Value> =
        chat["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(names[6..], [&json!("late"), &json!("calendar__add")]);
}

#[test]
fn calls_are_restored_to_the_types_of_their_tools() {
    let tools = translated(codex()).tools;
    let patch = "*** Begin Patch\n+\"ü\"\n";
    let arguments = json!({"input": patch}).to_string();
    let (first, second) = arguments.split_at(9);
    let chunks = [
        call(0, Some("c1"), Some("mcp__birds__exec_command"), "{\"cmd\":1}"),
        call(1, Some("c2"), Some("apply_patch"), first),
        call(1, None, None, second),
        call(2, Some("c3"), Some("tool_search"), "{\"query\":\"calendar\"}"),
        call(3, Some("c4"), Some("mcp__birds__note"), "not json"),
        finish("tool_calls"),
    ];
    let mut stream = with_tools(tools.clone());
    let mut out = BytesMut::new();
    stream.start(&mut out);
    feed(&mut stream, &upstream(&chunks), 4096, &mut out).unwrap();
    let events = events(&out);
    assert_eq!(
        kinds(&events)[2..],
        [
            "output_item.added", "function_call_arguments.delta", "output_item.added",
            "output_item.added", "output_item.added", "function_call_arguments.done",
            "output_item.done", "custom_tool_call_input.delta", "custom_tool_call_input.done",
            "output_item.done", "output_item.done", "custom_tool_call_input.delta",
            "custom_tool_call_input.done", "output_item.done", "completed",
        ]
    );
    let output = json!([
        {"id": "fc_0", "type": "function_call", "status": "completed", "call_id": "c1",
            "name": "exec_command", "namespace": "mcp__birds", "arguments": "{\"cmd\":1}"},
        {"id": "ctc_1", "type": "custom_tool_call", "status": "completed", "call_id": "c2",
            "name": "apply_patch", "input": patch},
        {"id": "tsc_2", "type": "tool_search_call", "status": "completed", "call_id": "c3",
            "execution": "client", "arguments": {"query": "calendar"}},
        {"id": "ctc_3", "type": "custom_tool_call", "status": "completed", "call_id": "c4",
            "name": "note", "namespace": "mcp__birds", "input": "not json"},
    ]);
    assert_eq!(stream.final_response().unwrap()["output"], output);
    let delta = events.iter().find(|event| event["delta"] == patch).unwrap();
    assert_eq!((&delta["item_id"], &delta["output_index"]), (&json!("ctc_1"), &json!(1)));

    let completion = json!({"choices": [{"finish_reason": "tool_calls", "message": {"content": null, "tool_calls": [
        {"id": "c1", "function": {"name": "mcp__birds__exec_command", "arguments": "{\"cmd\":1}"}},
        {"id": "c2", "function": {"name": "apply_patch", "arguments": arguments}},
        {"id": "c3", "function": {"name": "tool_search", "arguments": "{\"query\":\"calendar\"}"}},
        {"id": "c4", "function": {"name": "mcp__birds__note", "arguments": "not json"}},
    ]}}]});
    let whole = whole(&completion, &shape(json!({})), &tools).unwrap();
    assert_eq!(whole["output"], output);
}

#[test]
fn a_choice_can_name_a_custom_tool_or_the_web_search() {
    let chosen = |choice: Value| {
        let mut body = codex();
        body["tool_choice"] = choice;
        request(&object(body), &[]).map(|translated| translated.chat)
    };
    let function = |name: &str| json!({"type": "function", "function": {"name": name}});
    let patch = chosen(json!({"type": "custom", "name": "apply_patch"})).unwrap();
    assert_eq!(patch["tool_choice"], function("apply_patch"));
    let search = chosen(json!({"type": "web_search"})).unwrap();
    assert_eq!(search["tool_choice"], function("web_search"));
    let allowed = json!([{"type": "custom", "name": "note"}, {"type": "image_generation"}]);
    let allowed = json!({"type": "allowed_tools", "mode": "auto", "tools": allowed});
    let allowed = chosen(allowed).unwrap();
    assert_eq!(allowed["tools"].as_array().unwrap().len(), 1);
    let refused = chosen(json!({"type": "image_generation"})).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "tool_choice.type: the tool image_generation is not available for this model"
    );
}

proptest! {
    #[test]
    fn any_free_form_input_is_preserved(input in any::<String>(), size in 1_usize..9) {
        let arguments: Vec<char> = json!({"input": input}).to_string().chars().collect();
        let mut chunks = vec![call(0, Some("c1"), Some("apply_patch"), "")];
        chunks.extend(arguments.chunks(size).map(|piece| {
            call(0, None, None, &piece.iter().collect::<String>())
        }));
        chunks.push(finish("tool_calls"));
        let mut stream = with_tools(translated(codex()).tools);
        feed(&mut stream, &upstream(&chunks), 50, &mut BytesMut::new()).unwrap();
        let item = &stream.final_response().unwrap()["output"][0];
        prop_assert_eq!((&item["type"], &item["input"]), (&json!("custom_tool_call"), &json!(input)));
        // Sent back, the item is the call that the model wrote.
        let mut body = codex();
        body["input"] = json!([item]);
        let chat = translated(body).chat;
        let arguments: String = arguments.iter().collect();
        let function = &chat["messages"][1]["tool_calls"][0]["function"];
        prop_assert_eq!(&function["arguments"], &json!(arguments));
    }
}
