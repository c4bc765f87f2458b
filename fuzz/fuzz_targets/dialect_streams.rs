//! Any chat stream carried over to the Messages and the Responses API, and any stream of messages
//! carried over to chat chunks: however it is cut, the same bytes come out, every block and item is
//! closed, and searches always end.
#![no_main]

use api_dialects::{
    ChatTranslator, SearchError, ToolTable, Translated, anthropic, messages, responses,
};
use bytes::{Bytes, BytesMut};
use serde_json::{Map, Value, json};
use wire::sse::Splitter;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&step, text)) = bytes.split_first() else { return };
    let step = usize::from(step) + 1;
    let chunks = carried_to_chat(text, step);
    assert_eq!(chunks, carried_to_chat(text, 1));
    let body = body();
    let Ok(Translated { tools, .. }) = messages::request(&body) else { return };
    let message = carried_to_messages(&body, &tools, text, step);
    assert_eq!(message, carried_to_messages(&body, &tools, text, 1));
    check_blocks(message);
    let Ok(Translated { tools, .. }) = responses::request(&body, &[]) else { return };
    assert_eq!(
        carried_to_responses(&body, &tools, text, step),
        carried_to_responses(&body, &tools, text, 1)
    );
});

/// One body for both APIs, with a web search and a free-form tool.
fn body() -> Map<String, Value> {
    let body = json!({
        "model": "m", "thinking": {"type": "adaptive"}, "input": "Hi",
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [{"type": "web_search_20250305", "name": "web_search"}, {"type": "custom", "name": "f"}],
    });
    body.as_object().cloned().unwrap_or_default()
}

fn carried_to_messages(
    body: &Map<String, Value>,
    tools: &ToolTable,
    text: &[u8],
    step: usize,
) -> BytesMut {
    let shape = messages::Shape::new(body, "msg_1");
    let mut stream = messages::Stream::new(shape, tools.clone(), |prefix| format!("{prefix}_1"));
    let mut out = BytesMut::new();
    stream.start(&mut out);
    each_event(text, step, |event| stream.feed(event, &mut out).is_ok());
    for search in stream.begin_searches(&mut out) {
        stream.end_search(&search, &Err(SearchError::Unavailable), &mut out);
    }
    let _ = stream.next_round();
    stream.finish(&mut out);
    assert!(stream.is_done());
    out
}

fn carried_to_responses(
    body: &Map<String, Value>,
    tools: &ToolTable,
    text: &[u8],
    step: usize,
) -> BytesMut {
    let shape = responses::Shape::new(body, "resp_1", 1);
    let mut stream = responses::Stream::new(shape, tools.clone(), |prefix| format!("{prefix}_1"));
    let mut out = BytesMut::new();
    stream.start(&mut out);
    each_event(text, step, |event| stream.feed(event, &mut out).is_ok());
    for search in stream.begin_searches(&mut out) {
        stream.end_search(&search, &Ok(Vec::new()), &mut out);
    }
    let _ = stream.next_round();
    stream.finish(&mut out);
    assert!(stream.final_response().is_some());
    out
}

/// The chunks of a stream of messages: valid JSON, and an end marker only at the end.
fn carried_to_chat(text: &[u8], step: usize) -> BytesMut {
    let mut stream = anthropic::Stream::new("chatcmpl-1", 1, true);
    let mut out = BytesMut::new();
    each_event(text, step, |event| stream.feed(event, &mut out).is_ok());
    let mut is_over = false;
    // A chunk is longer than the event that it carries over.
    let mut splitter = Splitter::new(1 << 24);
    splitter.push(out.clone().freeze());
    while let Some(Ok(event)) = splitter.next() {
        assert!(!is_over);
        is_over = &*event.data() == b"[DONE]";
        let chunk: Value = serde_json::from_slice(&event.data()).unwrap_or_default();
        assert!(is_over || chunk["choices"].is_array());
    }
    assert_eq!(is_over, stream.is_done());
    out
}

fn each_event(text: &[u8], step: usize, mut feed: impl FnMut(&wire::sse::Event) -> bool) {
    let mut splitter = Splitter::new(1 << 16);
    for piece in text.chunks(step) {
        splitter.push(Bytes::copy_from_slice(piece));
        while let Some(Ok(event)) = splitter.next() {
            if !feed(&event) {
                return;
            }
        }
    }
}

/// Blocks follow each other: each is closed before the next one starts.
fn check_blocks(out: BytesMut) {
    let (mut open, mut next) = (None, 0);
    let mut splitter = Splitter::new(1 << 24);
    splitter.push(out.freeze());
    while let Some(Ok(event)) = splitter.next() {
        let data: Value = serde_json::from_slice(&event.data()).unwrap_or_default();
        let index = data["index"].as_u64();
        match event.name() {
            Some("content_block_start") => {
                assert_eq!((open, index), (None, Some(next)));
                open = index;
            }
            Some("content_block_delta") => assert_eq!(index, open),
            Some("content_block_stop") => {
                assert_eq!(index, open.take());
                next += 1;
            }
            _ => assert_eq!(open, None),
        }
    }
}
