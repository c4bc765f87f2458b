//! What both APIs can say survives the way there and back.

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use wire::sse::Splitter;

use super::super::super::{ChatTranslator, anthropic};
use super::super::{Stream, request};
use super::streaming::{completions, feed};
use super::{answer, counted, object, shape};
use crate::tests::chunks::upstream;

/// A model that takes an effort instead of a thinking budget.
const MODEL: &str = "claude-opus-5";

fn words() -> impl Strategy<Value = String> {
    "[a-zA-Zé🐦{}\"\\\\ \n]{0,20}[a-z]"
}

fn name() -> impl Strategy<Value = String> {
    "[a-z_-]{1,12}"
}

/// An object of arguments or properties.
fn fields() -> impl Strategy<Value = Value> {
    let value = prop_oneof![words().prop_map(Value::from), any::<i32>().prop_map(Value::from)];
    proptest::collection::btree_map(name(), value, 0..3)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

/// One exchange: a question with images and a file, an answer, calls and their results.
#[derive(Debug, Clone)]
struct Exchange {
    question: String,
    images: Vec<Value>,
    text: Option<String>,
    calls: Vec<(String, Value, String)>,
}

fn exchanges() -> impl Strategy<Value = Vec<Exchange>> {
    let image = prop_oneof![
        Just(
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}})
        ),
        Just(json!({"type": "image", "source": {"type": "url", "url": "https://b.example/1.png"}})),
        Just(
            json!({"type": "document", "title": "l.pdf", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}})
        ),
    ];
    let images = proptest::collection::vec(image, 0..3);
    let calls = proptest::collection::vec((name(), fields(), words()), 0..3);
    let exchange = (words(), images, proptest::option::of(words()), calls)
        .prop_map(|(question, images, text, calls)| Exchange { question, images, text, calls })
        .prop_filter("an answer says or calls something", |exchange| {
            exchange.text.is_some() || !exchange.calls.is_empty()
        });
    proptest::collection::vec(exchange, 1..4)
}

/// The exchanges as turns of the Messages API.
fn turns(exchanges: &[Exchange]) -> Vec<Value> {
    let text = |text: &str| json!({"type": "text", "text": text});
    let (mut turns, mut results) = (Vec::new(), Vec::new());
    for (n, exchange) in exchanges.iter().enumerate() {
        let mut question = std::mem::take(&mut results);
        question.push(text(&exchange.question));
        question.extend(exchange.images.iter().cloned());
        turns.push(json!({"role": "user", "content": question}));
        let mut answer: Vec<Value> = exchange.text.iter().map(|said| text(said)).collect();
        for (m, (name, input, result)) in exchange.calls.iter().enumerate() {
            let id = format!("toolu_{n}_{m}");
            answer.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
            results
                .push(json!({"type": "tool_result", "tool_use_id": id, "content": [text(result)]}));
        }
        turns.push(json!({"role": "assistant", "content": answer}));
    }
    results.push(text("Go on."));
    turns.push(json!({"role": "user", "content": results}));
    turns
}

/// A messages request in the form that `anthropic::request` writes.
fn requests() -> impl Strategy<Value = Map<String, Value>> {
    let tools = proptest::collection::btree_map(name(), (words(), fields()), 1..4);
    let choice = prop_oneof![Just("auto"), Just("any"), Just("none"), Just("tool")];
    let tools = proptest::option::of((tools, choice, any::<bool>()));
    let effort = prop_oneof![Just("low"), Just("medium"), Just("high"), Just("xhigh")];
    let settings =
        (proptest::option::of(words()), proptest::option::of(effort), any::<bool>(), 1_u32..9999);
    (exchanges(), tools, settings).prop_map(|(exchanges, tools, (system, effort, extras, max))| {
        let mut body =
            object(json!({"model": MODEL, "max_tokens": max, "messages": turns(&exchanges)}));
        if let Some(system) = system {
            body.insert("system".into(), json!([{"type": "text", "text": system}]));
        }
        if let Some(effort) = effort {
            body.insert("thinking".into(), json!({"type": "adaptive", "display": "summarized"}));
            body.insert("output_config".into(), json!({"effort": effort}));
        }
        if extras {
            body.extend(object(
                json!({"temperature": 0.5, "top_p": 0.25, "stop_sequences": ["END", "x"],
                "stream": true, "metadata": {"user_id": "m-7"}}),
            ));
            let config = body.entry("output_config").or_insert_with(|| json!({}));
            config["format"] = json!({"type": "json_schema", "schema": {"type": "object"}});
        }
        if let Some((tools, choice, one_at_a_time)) = tools {
            let mut chosen = json!({"type": choice});
            if choice == "tool" {
                chosen["name"] = tools.keys().next().unwrap().as_str().into();
            }
            if one_at_a_time && choice != "none" {
                chosen["disable_parallel_tool_use"] = true.into();
            }
            let tools: Vec<Value> = tools
                .into_iter()
                .map(|(name, (description, properties))| {
                    json!({"name": name, "description": description, "strict": true,
                    "input_schema": {"type": "object", "properties": properties}})
                })
                .collect();
            body.extend(object(json!({"tools": tools, "tool_choice": chosen})));
        }
        body
    })
}

proptest! {
    #[test]
    fn a_messages_request_survives_chat_completions(body in requests()) {
        let chat = request(&body).unwrap().chat;
        prop_assert_eq!(anthropic::request(&chat, MODEL, 1).unwrap(), Value::Object(body));
    }

    #[test]
    fn a_chat_request_survives_the_messages_api(body in requests()) {
        // Every chat request that says only what messages can say is the translation of one.
        let chat = request(&body).unwrap().chat;
        let messages = object(anthropic::request(&chat, MODEL, 1).unwrap());
        prop_assert_eq!(request(&messages).unwrap().chat, chat);
    }

    #[test]
    fn thinking_of_earlier_turns_changes_nothing_else(body in requests(), thought in words()) {
        // Chat completions have no thoughts in their input, and nobody else can sign one.
        let mut thinking = body.clone();
        for content in contents(&mut thinking, "assistant") {
            let signed = json!({"type": "thinking", "thinking": thought, "signature": "c2ln"});
            content.insert(0, signed);
            content.push(json!({"type": "redacted_thinking", "data": "cmVk"}));
        }
        prop_assert_eq!(request(&thinking).unwrap().chat, request(&body).unwrap().chat);
    }

    #[test]
    fn media_and_failures_of_results_survive_chat_completions(
        body in requests(),
        has_failed in any::<bool>(),
    ) {
        let mut body = body;
        let mut results = 0;
        for content in contents(&mut body, "user") {
            for result in content.iter_mut().filter(|block| block["type"] == "tool_result") {
                let data = format!("iVBO{results}");
                let source = json!({"type": "base64", "media_type": "image/png", "data": data});
                let image = json!({"type": "image", "source": source});
                result["content"].as_array_mut().unwrap().push(image);
                result["is_error"] = has_failed.into();
                results += 1;
            }
        }
        let chat = request(&body).unwrap().chat;
        let mut back = object(anthropic::request(&chat, MODEL, 1).unwrap());
        prop_assert_eq!(sources(&back["messages"]), sources(&body["messages"]));
        // Chat messages mark no failures: the text says it.
        let failed = contents(&mut back, "user").into_iter().flatten().filter(|block| {
            block["content"][0]["text"].as_str().is_some_and(|text| text.starts_with("Error"))
        });
        prop_assert_eq!(failed.count(), if has_failed { results } else { 0 });
    }

    #[test]
    fn a_completion_survives_the_messages_api((completion, _) in completions()) {
        let back = anthropic::answer(&answer(&completion).unwrap(), "c", 1).unwrap();
        let (there, back) = (ModelOutput::of(&completion), ModelOutput::of(&back));
        prop_assert_eq!(there, back);
    }

    #[test]
    fn a_stream_survives_the_messages_api((completion, chunks) in completions()) {
        let (mut events, mut back) = (BytesMut::new(), BytesMut::new());
        let mut stream = Stream::new(shape(), super::super::super::ToolTable::default(), counted());
        stream.start(&mut events);
        feed(&mut stream, &upstream(&chunks), 100, &mut events).unwrap();
        let mut chat = anthropic::Stream::new("c", 1, true);
        each_event(events.freeze(), |event| chat.feed(event, &mut back).unwrap());
        prop_assert_eq!(chat.usage(), stream.usage());
        prop_assert!(chat.is_done());
        let mut said = ModelOutput::default();
        each_event(back.freeze(), |event| said.add(&event.data()));
        prop_assert_eq!(said, ModelOutput::of(&completion));
    }
}

/// The blocks of all turns of a role.
fn contents<'a>(body: &'a mut Map<String, Value>, role: &str) -> Vec<&'a mut Vec<Value>> {
    let turns = body["messages"].as_array_mut().unwrap();
    let turns = turns.iter_mut().filter(|turn| turn["role"] == role);
    turns.map(|turn| turn["content"].as_array_mut().unwrap()).collect()
}

/// The images and documents of a conversation, in order.
fn sources(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().flat_map(sources).collect(),
        Value::Object(block) => match block.get("source") {
            Some(source) => vec![source],
            None => block.values().flat_map(sources).collect(),
        },
        _ => Vec::new(),
    }
}

fn each_event(bytes: Bytes, mut then: impl FnMut(&wire::sse::Event)) {
    let mut splitter = Splitter::new(1 << 20);
    splitter.push(bytes);
    while let Some(event) = splitter.next() {
        then(&event.unwrap());
    }
    assert!(splitter.is_clean());
}

/// What a completion says, whether streamed or whole.
#[derive(Debug, Default, PartialEq)]
struct ModelOutput {
    thought: String,
    text: String,
    calls: Vec<(String, String, String)>,
    finish: String,
}

impl ModelOutput {
    fn of(completion: &Value) -> Self {
        let mut said = Self::default();
        let choice = &completion["choices"][0];
        said.choice(&choice["message"], choice);
        // `tool_calls` without a call is `stop`, and a call is `tool_calls`.
        match said.finish.as_str() {
            "length" => {}
            _ if said.calls.is_empty() => said.finish = "stop".into(),
            _ => said.finish = "tool_calls".into(),
        }
        said
    }

    /// Adds a chunk of a stream.
    fn add(&mut self, data: &[u8]) {
        if data != b"[DONE]" {
            let chunk: Value = serde_json::from_slice(data).unwrap();
            if let Some(choice) = chunk["choices"].get(0) {
                self.choice(&choice["delta"], choice);
            }
        }
    }

    fn choice(&mut self, delta: &Value, choice: &Value) {
        self.thought.push_str(delta["reasoning_content"].as_str().unwrap_or_default());
        self.text.push_str(delta["content"].as_str().unwrap_or_default());
        self.finish.push_str(choice["finish_reason"].as_str().unwrap_or_default());
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let arguments = call["function"]["arguments"].as_str().unwrap();
            match call["id"].as_str() {
                Some(id) => {
                    let name = call["function"]["name"].as_str().unwrap();
                    self.calls.push((id.into(), name.into(), arguments.into()));
                }
                None => self.calls.last_mut().unwrap().2.push_str(arguments),
            }
        }
    }
}
