//! Correct answers in the three forms.

use serde_json::{Value, json};

use super::super::Upstream;
use super::{CHAT, Form, MESSAGES, RESPONSES, ask, body, exchange};

/// The text of a whole answer.
fn said(path: &str, answer: &Value) -> String {
    let text = match path {
        CHAT => &answer["choices"][0]["message"]["content"],
        RESPONSES => &answer["output"][0]["content"][0]["text"],
        _ => &answer["content"][0]["text"],
    };
    text.as_str().unwrap_or_default().to_owned()
}

/// The joined text of a stream.
fn streamed(path: &str, events: &[Value]) -> String {
    let piece = |event: &Value| match path {
        CHAT => event["choices"][0]["delta"]["content"].as_str().map(str::to_owned),
        RESPONSES if event["type"] == "response.output_text.delta" => {
            event["delta"].as_str().map(str::to_owned)
        }
        _ => event["delta"]["text"].as_str().map(str::to_owned),
    };
    events.iter().filter_map(piece).collect()
}

#[test]
fn every_dialect_returns_the_same_text() {
    let upstream = Upstream::start();
    for path in [CHAT, RESPONSES, MESSAGES] {
        assert_eq!(said(path, &ask(&upstream, path, "echo", Form::Whole).json()), "one two three");
        for model in ["echo", "shatter", "unknown"] {
            let stream = ask(&upstream, path, model, Form::NumberedEvents);
            assert!(stream.is_whole() && stream.head().contains("text/event-stream"));
            assert_eq!(streamed(path, &stream.events()), "one two three", "{path} {model}");
        }
    }
}

#[test]
fn events_have_the_documented_order() {
    let upstream = Upstream::start();
    let types = |path| -> Vec<String> {
        let events = ask(&upstream, path, "chunks-1", Form::NumberedEvents).events();
        events.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        types(MESSAGES),
        [
            "message_start", "content_block_start", "ping", "content_block_delta",
            "content_block_stop", "message_delta", "message_stop"
        ]
    );
    assert_eq!(
        types(RESPONSES).iter().map(|name| &name["response.".len()..]).collect::<Vec<_>>(),
        [
            "created", "in_progress", "output_item.added", "content_part.added",
            "output_text.delta", "output_text.done", "content_part.done", "output_item.done",
            "completed"
        ]
    );
    let events = ask(&upstream, RESPONSES, "chunks-3", Form::NumberedEvents).events();
    let numbers: Vec<&Value> = events.iter().map(|event| &event["sequence_number"]).collect();
    assert_eq!(json!(numbers), json!((0..events.len()).collect::<Vec<_>>()));
}

#[test]
fn chat_stream_has_usage_only_if_requested() {
    let upstream = Upstream::start();
    let mut body = body(CHAT, "echo", "one two", Form::NumberedEvents);
    let events = exchange(&upstream, CHAT, &body).events();
    assert!(events.iter().all(|event| event.get("usage").is_none()));
    body["stream_options"] = json!({"include_usage": true});
    let events = exchange(&upstream, CHAT, &body).events();
    let usage = &events[events.len() - 2];
    assert_eq!((&usage["choices"], &usage["usage"]["total_tokens"]), (&json!([]), &json!(4)));
    assert_eq!(events.last().unwrap(), "[DONE]");
}

#[test]
fn tool_is_called_and_its_result_is_used() {
    let upstream = Upstream::start();
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let mut chat = body(CHAT, "echo", "use the tool now", Form::Whole);
    chat["tools"] =
        json!([{"type": "function", "function": {"name": "weather", "parameters": schema}}]);
    let answer = exchange(&upstream, CHAT, &chat).json();
    let call = answer["choices"][0]["message"]["tool_calls"][0].clone();
    assert_eq!(call["function"], json!({"name": "weather", "arguments": "{\"city\":\"word\"}"}));
    let messages = chat["messages"].as_array_mut().unwrap();
    messages.push(answer["choices"][0]["message"].clone());
    messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": "rain"}));
    let answer = exchange(&upstream, CHAT, &chat).json();
    assert_eq!(said(CHAT, &answer), "tool said: rain");
    chat["messages"][2]["tool_call_id"] = "another".into();
    assert_eq!(exchange(&upstream, CHAT, &chat).status(), 400);

    let mut messages = body(MESSAGES, "echo", "use both tools", Form::NumberedEvents);
    messages["tools"] = json!([{"name": "weather", "input_schema": schema},
        {"name": "time", "input_schema": schema}]);
    let events = exchange(&upstream, MESSAGES, &messages).events();
    let started = events.iter().filter(|event| event["content_block"]["type"] == "tool_use");
    assert_eq!(started.count(), 2);
    let json: String =
        events.iter().filter_map(|event| event["delta"]["partial_json"].as_str()).collect();
    assert_eq!(json, "{\"city\":\"word\"}{\"city\":\"word\"}");

    let mut responses = body(RESPONSES, "echo", "hello", Form::NumberedEvents);
    responses["tools"] = json!([{"type": "function", "name": "weather", "parameters": schema}]);
    responses["tool_choice"] = "required".into();
    let events = exchange(&upstream, RESPONSES, &responses).events();
    let done = events.iter().find(|event| event["type"] == "response.function_call_arguments.done");
    assert_eq!(done.unwrap()["arguments"], "{\"city\":\"word\"}");
}

#[test]
fn answers_match_schemas_and_count_images() {
    let upstream = Upstream::start();
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let mut chat = body(CHAT, "echo", "hello", Form::Whole);
    chat["response_format"] =
        json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}});
    assert_eq!(said(CHAT, &exchange(&upstream, CHAT, &chat).json()), "{\"n\":1}");
    let mut responses = body(RESPONSES, "echo", "hello", Form::Whole);
    responses["text"] = json!({"format": {"type": "json_schema", "name": "x", "schema": schema}});
    assert_eq!(said(RESPONSES, &exchange(&upstream, RESPONSES, &responses).json()), "{\"n\":1}");
    let mut chat = body(CHAT, "echo", "", Form::Whole);
    let image = json!({"type": "image_url", "image_url": {"url": "data:,"}});
    chat["messages"][0]["content"] = json!([{"type": "text", "text": "what"}, image, image]);
    assert_eq!(said(CHAT, &exchange(&upstream, CHAT, &chat).json()), "I saw 2 images");
}

#[test]
fn messages_interface_rejects_invalid_requests() {
    let upstream = Upstream::start();
    let good = body(MESSAGES, "echo", "hello", Form::Whole);
    assert_eq!(exchange(&upstream, MESSAGES, &good).status(), 200);
    let result = json!([{"role": "user", "content":
        [{"type": "tool_result", "tool_use_id": "nobody", "content": "x"}]}]);
    for (field, wrong) in [
        ("max_tokens", Value::Null),
        ("frequency_penalty", json!(1)),
        ("temperature", json!(1.5)),
        ("messages", json!([{"role": "system", "content": "x"}])),
        ("messages", json!([{"role": "user", "content": ""}])),
        ("messages", json!([{"role": "assistant", "content": "x"}])),
        ("messages", json!([{"role": "user", "content": [{"type": "image_url"}]}])),
        ("messages", result),
        ("tools", json!([{"name": "x", "parameters": {}}])),
    ] {
        let mut body = good.clone();
        body[field] = wrong;
        let answer = exchange(&upstream, MESSAGES, &body);
        assert_eq!(answer.status(), 400, "{body}");
        assert_eq!(answer.json()["error"]["type"], "invalid_request_error");
    }
}
