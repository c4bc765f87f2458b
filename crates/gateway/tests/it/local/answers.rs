//! Answers: whole and streamed, over both interfaces, and what a request can say about them.

use serde_json::{Value, json};

use super::{CHAT, MESSAGES, MODEL, question, service, streamed, text, with};
use crate::fixture::paid;
use crate::raw::events;
use crate::support::PRICE;

#[test]
fn streamed_and_whole_answers_have_equal_text_and_charge() {
    let (service, ada) = service("");
    // Another member, of whom nothing is kept that could be used again.
    let eve = service.holder("eve", 10 * PRICE);
    let asked = question("What is the capital of France?");
    let whole = service.post(CHAT, ada.key.as_str(), &asked);
    assert_eq!(whole.header("x-charge-micros"), PRICE.to_string());
    let whole = whole.good();
    assert_eq!(whole["object"], "chat.completion");
    assert_eq!(whole["model"], asked["model"]);
    let choice = &whole["choices"][0];
    assert_eq!(choice["message"]["role"], "assistant");
    assert!(!text(&whole).trim().is_empty(), "{whole}");
    let usage = &whole["usage"];
    let count = |name: &str| usage[name].as_u64().unwrap();
    assert!(count("prompt_tokens") > 10 && (1..=24).contains(&count("completion_tokens")));
    assert_eq!(count("total_tokens"), count("prompt_tokens") + count("completion_tokens"));
    assert_eq!(usage["prompt_tokens_details"]["cached_tokens"], 0);

    let more = json!({"stream": true, "stream_options": {"include_usage": true}});
    let stream = service.post(CHAT, eve.key.as_str(), &with(asked.clone(), &more));
    assert_eq!(stream.header("content-type"), "text/event-stream");
    assert_eq!(streamed(&stream), text(&whole));
    let events = events(stream.text());
    assert_eq!(events.last().unwrap(), "[DONE]");
    let (last, chunks) = events[..events.len() - 1].split_last().unwrap();
    assert_eq!((&last["usage"], &last["choices"]), (usage, &json!([])));
    assert_eq!(chunks[0]["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
    let finish = |chunk: &Value| chunk["choices"][0]["finish_reason"].clone();
    assert_eq!(finish(chunks.last().unwrap()), choice["finish_reason"]);
    assert!(chunks[..chunks.len() - 1].iter().all(|chunk| finish(chunk).is_null()));
    for chunk in chunks.iter().chain([last]) {
        assert_eq!(
            (&chunk["object"], &chunk["id"]),
            (&json!("chat.completion.chunk"), &last["id"])
        );
    }

    let plain = service.post(CHAT, ada.key.as_str(), &with(asked, &json!({"stream": true})));
    assert!(!plain.text().contains("usage"), "{}", plain.text());
    assert_eq!(paid(&service, &ada), 2 * PRICE);
}

#[test]
fn same_seed_gives_same_output() {
    let (service, ada) = service("");
    let free = json!({"temperature": 1.5, "top_p": 1});
    let say = |seed: u64| {
        let asked = with(with(question("Tell me a story."), &free), &json!({"seed": seed}));
        text(&service.post(CHAT, ada.key.as_str(), &asked).good()).to_owned()
    };
    let first = say(1);
    assert_eq!(say(1), first);
    assert!((2..6).any(|seed| say(seed) != first));
}

#[test]
fn an_answer_ends_at_stop_sequences_and_the_token_limit() {
    let (service, ada) = service("");
    let key = ada.key.as_str();
    let asked = with(question("Tell me about ships."), &json!({"temperature": 0}));
    let all = text(&service.post(CHAT, key, &asked).good()).to_owned();
    let word = all.split_whitespace().nth(4).unwrap();
    let stopped = service.post(CHAT, key, &with(asked.clone(), &json!({"stop": [word]}))).good();
    assert_eq!(text(&stopped), &all[..all.find(word).unwrap()]);
    assert_eq!(stopped["choices"][0]["finish_reason"], "stop");
    let short = service.post(CHAT, key, &with(asked, &json!({"max_completion_tokens": 3}))).good();
    assert_eq!(short["choices"][0]["finish_reason"], "length");
    assert_eq!(short["usage"]["completion_tokens"], 3);
    assert!(all.starts_with(text(&short)));
}

#[test]
fn messages_are_answered_streamed_and_counted() {
    let (service, ada) = service("");
    let key = ada.key.as_str();
    let asked = json!({"model": MODEL, "system": "Be brief.", "max_tokens": 16, "temperature": 0,
        "messages": [{"role": "user", "content": "Say hello."}]});
    let whole = service.post(MESSAGES, key, &asked).good();
    assert_eq!((&whole["type"], &whole["model"]), (&json!("message"), &json!(MODEL)));
    let said = whole["content"][0]["text"].as_str().unwrap();
    assert!(!said.is_empty(), "{whole}");
    let tokens = whole["usage"]["input_tokens"].as_u64().unwrap();
    assert!(tokens > 5, "{whole}");

    let stream = service.post(MESSAGES, key, &with(asked.clone(), &json!({"stream": true})));
    let events = events(stream.text());
    let deltas = events.iter().filter_map(|event| event["delta"]["text"].as_str());
    assert_eq!(deltas.collect::<String>(), said);
    assert_eq!(events.last().unwrap()["type"], "message_stop");
    let end = &events[events.len() - 2];
    assert_eq!(end["delta"]["stop_reason"], whole["stop_reason"]);
    assert_eq!(end["usage"]["output_tokens"], whole["usage"]["output_tokens"]);

    let counted = service.post("/v1/messages/count_tokens", key, &asked).good();
    assert!(counted["input_tokens"].as_u64().unwrap() > 3, "{counted}");
    assert_eq!(paid(&service, &ada), 2 * PRICE);
}

#[test]
fn responses_are_answered_and_streamed() {
    let (service, ada) = service("");
    let asked = json!({"model": MODEL, "instructions": "Be brief.", "input": "Say hello.",
        "max_output_tokens": 16, "temperature": 0});
    let whole = service.post("/v1/responses", ada.key.as_str(), &asked).good();
    assert_eq!(whole["object"], "response");
    let said = whole["output"][0]["content"][0]["text"].as_str().unwrap();
    assert!(!said.is_empty(), "{whole}");
    assert!(whole["usage"]["input_tokens"].as_u64().unwrap() > 5, "{whole}");

    let asked = with(asked, &json!({"stream": true}));
    let stream = service.post("/v1/responses", ada.key.as_str(), &asked);
    let events = events(stream.text());
    let delta = |event: &&Value| event["type"] == "response.output_text.delta";
    let deltas = events.iter().filter(delta).map(|event| event["delta"].as_str().unwrap());
    assert_eq!(deltas.collect::<String>(), said);
    let end = &events.last().unwrap()["response"];
    assert_eq!(end["usage"]["output_tokens"], whole["usage"]["output_tokens"]);
    assert_eq!(end["status"], whole["status"]);
    assert_eq!(paid(&service, &ada), 2 * PRICE);
}
