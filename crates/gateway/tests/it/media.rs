//! Making media: what is made can be had, what is not good costs nothing.

mod artifacts;
mod bucket;
mod disconnects;
mod espeak;
mod generation;

use agent_test_support::upstream::Upstream;
use serde_json::{Value, json};

use crate::fixture::{provider, with_providers};
use crate::support::{Answer, Holder, PRICE, Running};

/// What a run costs in these tests.
pub(crate) const MEDIA_PRICE: i64 = 7000;

const MODELS: &str = "kind: openai, health: false, models: {\
    paint: {capabilities: [image], price_micros: 7000}, \
    speak: {capabilities: [speech], price_micros: 7000}, \
    echo: {}}";

/// A `gateway.yaml` whose provider `up` paints, speaks and chats.
pub(crate) fn text(upstream: &Upstream, rest: &str) -> String {
    with_providers(&[provider("up", upstream, MODELS)], rest)
}

/// A service with it, and a member who can pay for many requests.
pub(crate) fn service(upstream: &Upstream) -> (Running, Holder) {
    service_with(upstream, "")
}

pub(crate) fn service_with(upstream: &Upstream, rest: &str) -> (Running, Holder) {
    let running = Running::start(&text(upstream, rest));
    let holder = running.holder("ada", 1000 * PRICE);
    (running, holder)
}

pub(crate) fn paint(prompt: &str) -> Value {
    json!({"model": "up/paint", "input": {"prompt": prompt}})
}

pub(crate) fn speak(text: &str) -> Value {
    json!({"model": "up/speak", "input": {"text": text, "response_format": "wav"}})
}

pub(crate) fn run(service: &Running, holder: &Holder, body: &Value) -> Answer {
    service.post("/v1/media/run", holder.key.as_str(), body)
}

/// The path of an artifact's address.
pub(crate) fn path_of(artifact: &Value) -> String {
    let url = artifact["url"].as_str().unwrap();
    url[url.find("/v1/").unwrap()..].to_owned()
}

/// All files below the folder of artifacts.
pub(crate) fn stored(service: &Running) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut folders = vec![service.folder.path().join("artifacts")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                found.push(std::fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}
