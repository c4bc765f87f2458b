//! A real model that the service computes itself: nothing here is scripted.

mod answers;
mod conversations;
mod files;
mod model_list;
mod overload;
mod rejections;
mod research;

use agent_test_support::weights;
use serde_json::{Value, json};

use crate::fixture::with_providers;
use crate::raw::{Raw, events};
use crate::support::{Answer, Holder, PRICE, Running};

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";
const MODEL: &str = "here/smol";

/// One entry of `providers`: the model, and what else is said of its provider.
fn provider(more: &str) -> String {
    format!(
        "  here: {{kind: local, models: {{smol: {{path: \"{}\"}}}}{more}}}\n",
        weights::smollm2().display()
    )
}

/// A service that has only this model, and a member who can pay for many requests.
fn service(more: &str) -> (Running, Holder) {
    let service = Running::start(&with_providers(&[provider(more)], ""));
    let ada = service.holder("ada", 1000 * PRICE);
    (service, ada)
}

/// A short question that always gets the same answer.
fn question(words: &str) -> Value {
    json!({
        "model": MODEL, "max_tokens": 24, "seed": 7,
        "messages": [{"role": "user", "content": words}],
    })
}

/// The same with other fields.
fn with(mut body: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

/// A question with an answer that takes long, as a stream.
fn long_stream() -> Value {
    let more = json!({"stream": true, "max_tokens": 1800, "temperature": 1.2});
    with(question("Write a very long story about a ship, with many chapters."), &more)
}

/// Waits for the first event of a stream; comments before it say only that it is worked on.
fn begun(raw: &mut Raw) {
    while !raw.piece().unwrap().starts_with(b"data: ") {}
}

/// The words of a whole answer.
fn text(answer: &Value) -> &str {
    answer["choices"][0]["message"]["content"].as_str().unwrap()
}

/// The words of a stream.
fn streamed(answer: &Answer) -> String {
    let events = events(answer.text());
    let words = events.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str());
    words.collect()
}
