//! Web searches between the rounds of one message, and in the history.

use bytes::BytesMut;
use serde_json::{Value, json};

use super::super::super::{ChatTranslator, Search, SearchError, SearchResult, Translated, opaque};
use super::super::{Stream, request};
use super::streaming::{events, feed, kinds};
use super::{counted, object, shape};
use crate::tests::chunks::{call, delta, finish, upstream};

fn translated() -> Translated {
    let body = json!({"messages": [{"role": "user", "content": "Song?"}],
        "tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 8}, {"name": "Read", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "tool", "name": "web_search"}});
    request(&object(body)).unwrap()
}

fn page() -> SearchResult {
    SearchResult {
        url: "https://b.example/linnet".into(),
        title: "Linnet".into(),
        page_age: Some("May 2026".into()),
        content: "It sings.".into(),
    }
}

#[test]
fn a_search_uses_two_rounds_of_one_message() {
    let mut translated = translated();
    assert_eq!(translated.tools.web_search().unwrap().max_uses, Some(8));
    let mut stream = Stream::new(shape(), translated.tools.clone(), counted());
    let mut out = BytesMut::new();
    stream.start(&mut out);
    let first = upstream(&[
        delta(&json!({"content": "Searching."})),
        call(0, Some("c1"), Some("web_search"), "{\"query\":\"linnet\"}"),
        finish("tool_calls"),
    ]);
    feed(&mut stream, &first, 64, &mut out).unwrap();
    assert!(!stream.is_done());
    let searches = stream.begin_searches(&mut out);
    assert_eq!(searches, [Search { call_id: "srvtoolu_0".into(), query: "linnet".into() }]);
    stream.end_search(&searches[0], &Ok(vec![page()]), &mut out);
    translated.add_round(stream.next_round().unwrap());
    assert_eq!(translated.chat["tool_choice"], "auto");
    assert_eq!(
        translated.chat["messages"],
        json!([
            {"role": "user", "content": "Song?"},
            {"role": "assistant", "content": "Searching.", "tool_calls": [
                {"id": "srvtoolu_0", "type": "function", "function": {"name": "web_search", "arguments": "{\"query\":\"linnet\"}"}}]},
            {"role": "tool", "tool_call_id": "srvtoolu_0", "content": "Linnet (May 2026)\nhttps://b.example/linnet\nIt sings."},
        ])
    );
    translated.forbid_tools();
    assert_eq!(translated.chat["tool_choice"], "none");
    let text = "See https://b.example/linnet";
    let second = upstream(&[delta(&json!({"content": text})), finish("stop")]);
    feed(&mut stream, &second, 64, &mut out).unwrap();
    assert!(stream.is_done());
    assert_eq!(
        kinds(&events(&out)),
        [
            "message_start", "ping", "content_block_start", "content_block_delta",
            "content_block_stop", "content_block_start", "content_block_delta",
            "content_block_stop", "content_block_start", "content_block_stop",
            "content_block_start", "content_block_delta", "content_block_delta",
            "content_block_stop", "message_delta", "message_stop",
        ]
    );
    let message = stream.message();
    assert_eq!(
        message["content"],
        json!([
            {"type": "text", "text": "Searching."},
            {"type": "server_tool_use", "id": "srvtoolu_0", "name": "web_search", "input": {"query": "linnet"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_0", "content": [
                {"type": "web_search_result", "url": "https://b.example/linnet", "title": "Linnet",
                    "encrypted_content": opaque::encode("It sings."), "page_age": "May 2026"}]},
            {"type": "text", "text": text, "citations": [
                {"type": "web_search_result_location", "url": "https://b.example/linnet", "title": "Linnet",
                    "cited_text": "It sings.", "encrypted_index": ""}]},
        ])
    );
    assert_eq!(message["stop_reason"], "end_turn");
    assert_eq!(message["usage"]["server_tool_use"]["web_search_requests"], 1);

    // The next request carries the same messages on.
    let mut body =
        object(json!({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}));
    let turns = json!([{"role": "user", "content": "Song?"}, {"role": "assistant", "content": message["content"]}, {"role": "user", "content": "Thanks."}]);
    body.insert("messages".into(), turns);
    let chat = request(&body).unwrap().chat;
    let messages = chat["messages"].as_array().unwrap();
    assert_eq!(messages[..3], translated.chat["messages"].as_array().unwrap()[..]);
    assert_eq!(messages[3], json!({"role": "assistant", "content": text}));
}

#[test]
fn calls_of_the_client_end_the_message_after_the_search() {
    let mut stream = Stream::new(shape(), translated().tools, counted());
    let mut out = BytesMut::new();
    let chunks = [
        call(0, Some("c1"), Some("Read"), "{}"),
        call(1, Some("c2"), Some("web_search"), "{\"query\":\"x\"}"),
        finish("tool_calls"),
    ];
    feed(&mut stream, &upstream(&chunks), 64, &mut out).unwrap();
    let searches = stream.begin_searches(&mut out);
    stream.end_search(&searches[0], &Err(SearchError::Unavailable), &mut out);
    assert_eq!(stream.next_round(), None);
    stream.finish(&mut out);
    let message = stream.message();
    assert_eq!(message["stop_reason"], "tool_use");
    assert_eq!(message["content"][2]["content"]["error_code"], "unavailable");
    let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a"}]});
    let turns = json!([{"role": "assistant", "content": message["content"]}, result]);
    let chat = request(&object(json!({"messages": turns}))).unwrap().chat;
    let roles: Vec<&Value> =
        chat["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["assistant", "tool", "tool"]);
}

#[test]
fn a_message_never_ends_with_an_open_search() {
    let mut stream = Stream::new(shape(), translated().tools, counted());
    let mut out = BytesMut::new();
    let chunks =
        [call(0, Some("c1"), Some("web_search"), "{\"query\":\"x\"}"), finish("tool_calls")];
    feed(&mut stream, &upstream(&chunks), 64, &mut out).unwrap();
    stream.finish(&mut out);
    let message = stream.message();
    assert_eq!(message["content"][1]["content"]["error_code"], "max_uses_exceeded");
    assert_eq!(message["stop_reason"], "end_turn");
}

#[test]
fn searches_of_other_services_keep_titles_and_urls() {
    let turns = json!([{"role": "assistant", "content": [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
        {"type": "server_tool_use", "id": "s2", "name": "web_search", "input": {"query": "interrupted"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [
            {"type": "web_search_result", "url": "https://b.example", "title": "B", "encrypted_content": "EqgfCioI", "page_age": null}]},
        {"type": "text", "text": "B says so.", "citations": []}]}]);
    let chat = request(&object(json!({"messages": turns}))).unwrap().chat;
    assert_eq!(
        chat["messages"],
        json!([
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "s1", "type": "function", "function": {"name": "web_search", "arguments": "{\"query\":\"x\"}"}}]},
            {"role": "tool", "tool_call_id": "s1", "content": "B\nhttps://b.example"},
            {"role": "assistant", "content": "B says so."},
        ])
    );
}
