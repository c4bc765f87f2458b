//! Requests.

use serde_json::{Value, json};

use super::super::request;
use super::object;

fn asked(body: Value) -> Value {
    request(&object(body)).unwrap().chat.into()
}

/// A request that asks for `extra` about one sentence.
fn with(extra: Value) -> Value {
    let mut body = object(json!({"messages": [{"role": "user", "content": "Hi"}]}));
    body.extend(object(extra));
    body.into()
}

#[test]
fn a_request_of_claude_code_becomes_a_chat_completion_request() {
    let cache = json!({"type": "ephemeral", "ttl": "1h"});
    let long_user = "user_".repeat(30);
    let body = json!({
        "model": "a/b", "max_tokens": 32000, "stream": true, "temperature": 1,
        "system": [
            {"type": "text", "text": "You are Claude Code.", "cache_control": cache},
            {"type": "text", "text": "Be brief.", "cache_control": cache}],
        "metadata": {"user_id": long_user},
        "thinking": {"type": "enabled", "budget_tokens": 31999},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "betas": ["interleaved-thinking-2025-05-14"], "speed": "fast", "diagnostics": null, "top_k": 5,
        "mcp_servers": [], "a_field_of_a_later_version": 1,
        "tools": [
            {"name": "Read", "description": "Reads a file.", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
                "cache_control": cache, "eager_input_streaming": true, "defer_loading": false},
            {"type": "custom", "name": "mcp__a_server_with_a_long_name__a_tool_whose_name_is_longer_than_chat_allows", "input_schema": {"type": "object"}, "strict": true}],
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "<system-reminder>Hi</system-reminder>"},
                {"type": "text", "text": "Which bird?", "cache_control": cache},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "eA=="},
                {"type": "text", "text": "Reading."},
                {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "a"}},
                {"type": "tool_use", "id": "toolu_2", "name": "Read", "input": {}}]},
            {"role": "user", "content": [
                {"type": "text", "text": "Go on."},
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": [
                    {"type": "text", "text": "page 1"},
                    {"type": "image", "source": {"type": "url", "url": "https://b.example/1.png"}}]},
                {"type": "tool_result", "tool_use_id": "toolu_2", "is_error": true, "content": "no path"}]},
        ],
    });
    let chat = asked(body);
    let long = chat["tools"][1]["function"]["name"].as_str().unwrap().to_owned();
    assert!(long.len() == 64 && long.starts_with("mcp__a_server_with"), "{long}");
    assert_eq!(
        chat,
        json!({
            "model": "a/b", "max_completion_tokens": 32000, "temperature": 1,
            "stream": true, "stream_options": {"include_usage": true}, "reasoning_effort": "high",
            "tools": [
                {"type": "function", "function": {"name": "Read", "description": "Reads a file.",
                    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}},
                {"type": "function", "function": {"name": long, "strict": true, "parameters": {"type": "object"}}}],
            "messages": [
                {"role": "system", "content": "You are Claude Code.\n\nBe brief."},
                {"role": "user", "content": [
                    {"type": "text", "text": "<system-reminder>Hi</system-reminder>"},
                    {"type": "text", "text": "Which bird?"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}]},
                {"role": "assistant", "content": "Reading.", "tool_calls": [
                    {"id": "toolu_1", "type": "function", "function": {"name": "Read", "arguments": "{\"path\":\"a\"}"}},
                    {"id": "toolu_2", "type": "function", "function": {"name": "Read", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "toolu_1", "content": "page 1"},
                {"role": "tool", "tool_call_id": "toolu_2", "content": "Error:\n\nno path"},
                {"role": "user", "content": [
                    {"type": "text", "text": "Output of the tool call toolu_1:"},
                    {"type": "image_url", "image_url": {"url": "https://b.example/1.png"}}]},
                {"role": "user", "content": "Go on."},
            ],
        })
    );
}

#[test]
fn documents_become_text_or_files() {
    let content = json!([
        {"type": "document", "title": "Birds", "context": "A list", "citations": {"enabled": false},
            "source": {"type": "text", "media_type": "text/plain", "data": "linnet"}},
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "wren"}]}},
        {"type": "document", "title": "l.pdf", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}},
        {"type": "search_result", "title": "Song", "source": "https://b.example", "content": [{"type": "text", "text": "It sings."}]},
        {"type": "mid_conv_system", "content": [{"type": "text", "text": "No Latin."}]},
    ]);
    let chat = asked(
        json!({"messages": [{"role": "user", "content": content}, {"role": "system", "content": "End."}]}),
    );
    assert_eq!(
        chat["messages"],
        json!([
            {"role": "user", "content": [
                {"type": "text", "text": "Birds"}, {"type": "text", "text": "A list"}, {"type": "text", "text": "linnet"},
                {"type": "text", "text": "wren"},
                {"type": "file", "file": {"filename": "l.pdf", "file_data": "data:application/pdf;base64,JVBE"}},
                {"type": "text", "text": "Song\nhttps://b.example\nIt sings."}]},
            {"role": "system", "content": "No Latin."},
            {"role": "system", "content": "End."},
        ])
    );
}

#[test]
fn settings_are_translated() {
    let schema = json!({"type": "object", "properties": {}});
    let chat = asked(with(json!({
        "stop_sequences": ["END"], "top_p": 0.9, "service_tier": "standard_only", "metadata": {"user_id": "m-7"},
        "output_config": {"effort": "max", "format": {"type": "json_schema", "schema": schema}},
        "thinking": {"type": "adaptive"}, "tool_choice": {"type": "auto"}, "stream": false,
    })));
    assert_eq!(
        chat,
        json!({
            "messages": [{"role": "user", "content": "Hi"}], "stop": ["END"], "top_p": 0.9,
            "service_tier": "default", "user": "m-7", "reasoning_effort": "xhigh",
            "response_format": {"type": "json_schema", "json_schema": {"name": "output", "schema": schema, "strict": true}},
        })
    );
    let old = asked(with(json!({"output_format": {"type": "json_schema", "schema": schema}})));
    assert_eq!(old["response_format"], chat["response_format"]);
}

#[test]
fn thinking_is_translated_to_an_effort() {
    let effort = |extra: Value| asked(with(extra)).get("reasoning_effort").cloned();
    let budget =
        |tokens: u64| effort(json!({"thinking": {"type": "enabled", "budget_tokens": tokens}}));
    assert_eq!(budget(1024), Some(json!("low")));
    assert_eq!(budget(10_000), Some(json!("medium")));
    assert_eq!(budget(31_999), Some(json!("high")));
    assert_eq!(
        effort(json!({"thinking": {"type": "disabled"}, "output_config": {"effort": "low"}})),
        None
    );
    assert_eq!(effort(json!({"thinking": {"type": "adaptive"}})), None);
    assert_eq!(effort(json!({"output_config": {"effort": "low"}})), Some(json!("low")));
}

#[test]
fn tool_choices_are_translated() {
    let tools = json!([{"name": "f", "input_schema": {"type": "object"}}, {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}]);
    let chosen = |choice: Value| asked(with(json!({"tools": tools, "tool_choice": choice})));
    assert_eq!(chosen(json!({"type": "auto"}))["tool_choice"], "auto");
    assert_eq!(chosen(json!({"type": "none"}))["tool_choice"], "none");
    let one = chosen(json!({"type": "any", "disable_parallel_tool_use": true}));
    assert_eq!(
        (&one["tool_choice"], &one["parallel_tool_calls"]),
        (&json!("required"), &json!(false))
    );
    assert_eq!(
        chosen(json!({"type": "tool", "name": "f"}))["tool_choice"],
        json!({"type": "function", "function": {"name": "f"}})
    );
}

#[test]
fn unsupported_fields_are_rejected_by_name() {
    let tool = |kind: &str| json!({"tools": [{"type": kind, "name": "x"}]});
    let user = |block: Value| json!({"messages": [{"role": "user", "content": [block]}]});
    let assistant = |block: Value| json!({"messages": [{"role": "assistant", "content": [block]}]});
    let cases = [
        (json!({"container": "c"}), "container"),
        (json!({"inference_geo": "eu"}), "inference_geo"),
        (json!({"mcp_servers": [{"type": "url"}]}), "mcp_servers"),
        (tool("bash_20250124"), "tools[0].type"),
        (tool("text_editor_20250728"), "tools[0].type"),
        (tool("web_fetch_20250910"), "tools[0].type"),
        (tool("code_execution_20250825"), "tools[0].type"),
        (json!({"tool_choice": {"type": "any"}}), "tool_choice"),
        (json!({"thinking": {"type": "deep"}}), "thinking.type"),
        (json!({"output_config": {"format": {"type": "grammar"}}}), "output_config.format"),
        (json!({"messages": []}), "messages"),
        (json!({"messages": [{"role": "robot", "content": "Hi"}]}), "messages[0].role"),
        (json!({"messages": [{"role": "user", "content": 7}]}), "messages[0].content"),
        (user(json!({"type": "container_upload", "file_id": "f"})), "messages[0].content[0].type"),
        (
            user(json!({"type": "image", "source": {"type": "file", "file_id": "f"}})),
            "messages[0].content[0].source.type",
        ),
        (
            user(json!({"type": "document", "source": {"type": "url", "url": "u"}})),
            "messages[0].content[0].source.type",
        ),
        (
            user(json!({"type": "document", "citations": {"enabled": true}, "source": {}})),
            "messages[0].content[0].citations",
        ),
        (
            user(json!({"type": "tool_result", "content": "r"})),
            "messages[0].content[0].tool_use_id",
        ),
        (
            assistant(
                json!({"type": "server_tool_use", "id": "s", "name": "web_fetch", "input": {}}),
            ),
            "messages[0].content[0].type",
        ),
        (assistant(json!({"type": "code_execution_tool_result"})), "messages[0].content[0].type"),
    ];
    for (extra, param) in cases {
        assert_eq!(request(&object(with(extra.clone()))).unwrap_err().param, param, "{extra}");
    }
}
