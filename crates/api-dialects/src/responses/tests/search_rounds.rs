//! Web searches between the rounds of one response.

use bytes::BytesMut;
use serde_json::{Value, json};

use super::super::super::{ChatTranslator, Search, SearchError, SearchResult, ToolTable, Usage};
use super::super::request;
use super::object;
use super::streaming::{events, feed, kinds, with_tools};
use crate::tests::chunks::{call, delta, finish, upstream};

fn tools() -> ToolTable {
    let body = json!({"input": "Hi", "max_tool_calls": 2, "tools": [
        {"type": "function", "name": "web_search"}, {"type": "web_search_preview", "filters": {"allowed_domains": ["b.example"]}}]});
    request(&object(body), &[]).unwrap().tools
}

/// The function of the search; the client has a function of the same name.
fn search_function() -> String {
    let body = json!({"input": "Hi", "tools": [{"type": "function", "name": "web_search"}, {"type": "web_search"}]});
    let chat = request(&object(body), &[]).unwrap().chat;
    chat["tools"][1]["function"]["name"].as_str().unwrap().to_owned()
}

fn counted_usage(tokens: u64) -> Value {
    json!({"choices": [], "usage": {"prompt_tokens": tokens, "completion_tokens": 1}})
}

#[test]
fn a_search_uses_two_rounds_of_one_response() {
    let page = SearchResult {
        url: "https://b.example/linnet".into(),
        title: "Linnet".into(),
        page_age: None,
        content: "It sings.".into(),
    };
    let function = search_function();
    let mut stream = with_tools(tools());
    let mut out = BytesMut::new();
    stream.start(&mut out);
    let first = upstream(&[
        delta(&json!({"content": "Searching."})),
        call(0, Some("c1"), Some(&function), "{\"query\":"),
        call(0, None, None, "\"linnet\"}"),
        finish("tool_calls"),
        counted_usage(5),
    ]);
    feed(&mut stream, &first, 64, &mut out).unwrap();
    assert!(!stream.is_done());
    let searches = stream.begin_searches(&mut out);
    assert_eq!(searches, [Search { call_id: "c1".into(), query: "linnet".into() }]);
    stream.end_search(&searches[0], &Ok(vec![page]), &mut out);
    assert_eq!(
        json!(stream.next_round().unwrap()),
        json!([
            {"role": "assistant", "content": "Searching.", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": function, "arguments": "{\"query\":\"linnet\"}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "Linnet\nhttps://b.example/linnet\nIt sings."},
        ])
    );
    let text = "Ö: https://b.example/linnet.";
    let second = upstream(&[delta(&json!({"content": text})), finish("stop"), counted_usage(9)]);
    feed(&mut stream, &second, 64, &mut out).unwrap();
    assert!(stream.is_done() && stream.next_round().is_none());

    let events = events(&out);
    assert_eq!(
        kinds(&events)[2..],
        [
            "output_item.added", "content_part.added", "output_text.delta", "output_text.done",
            "content_part.done", "output_item.done", "output_item.added",
            "web_search_call.in_progress", "web_search_call.searching",
            "web_search_call.completed", "output_item.done", "output_item.added",
            "content_part.added", "output_text.delta", "output_text.annotation.added",
            "output_text.done", "content_part.done", "output_item.done", "completed",
        ]
    );
    let response = stream.final_response().unwrap();
    assert_eq!(
        response["output"][1],
        json!({"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {
            "type": "search", "query": "linnet", "queries": ["linnet"],
            "sources": [{"type": "url", "url": "https://b.example/linnet"}]}})
    );
    assert_eq!(
        response["output"][2]["content"][0]["annotations"],
        json!([{"type": "url_citation", "start_index": 3, "end_index": 27,
            "url": "https://b.example/linnet", "title": "Linnet"}])
    );
    let usage = Usage { prompt_tokens: 14, completion_tokens: 2, ..Usage::default() };
    assert_eq!(stream.usage(), Some(usage));
    assert_eq!(response["usage"], usage.to_response());
    assert_eq!(tools().web_search().unwrap().max_uses, Some(2));
}

#[test]
fn a_failed_search_is_reported_to_the_model() {
    let mut stream = with_tools(tools());
    let mut out = BytesMut::new();
    let completion = json!({"choices": [{"finish_reason": "tool_calls", "message": {"tool_calls": [
        {"id": "c1", "function": {"name": search_function(), "arguments": "{\"query\":\"x\"}"}}]}}]});
    stream.add_completion(&completion, &mut out).unwrap();
    let searches = stream.begin_searches(&mut out);
    stream.end_search(&searches[0], &Err(SearchError::MaxUsesExceeded), &mut out);
    let messages = stream.next_round().unwrap();
    assert_eq!(messages[1]["content"], "Error: the search failed (max_uses_exceeded)");
    stream.finish(&mut out);
    assert_eq!(stream.final_response().unwrap()["output"][0]["status"], "failed");
}

#[test]
fn calls_of_the_client_come_before_a_search() {
    let mut stream = with_tools(tools());
    let mut out = BytesMut::new();
    let chunks = [
        call(0, Some("c1"), Some(&search_function()), "{\"query\":\"x\"}"),
        call(1, Some("c2"), Some("web_search"), "{}"),
        finish("tool_calls"),
    ];
    feed(&mut stream, &upstream(&chunks), 64, &mut out).unwrap();
    assert_eq!(stream.begin_searches(&mut out), []);
    stream.finish(&mut out);
    let output = &stream.final_response().unwrap()["output"];
    assert_eq!(
        (&output[0]["status"], &output[1]["type"], &output[1]["name"]),
        (&json!("failed"), &json!("function_call"), &json!("web_search"))
    );
}
