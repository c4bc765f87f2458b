//! What was computed of a conversation is used again for its next turn, and for nobody else.

use serde_json::{Value, json};

use super::{CHAT, question, service, text};
use crate::support::{Holder, PRICE, Running};

fn cached(service: &Running, holder: &Holder, asked: &Value) -> (u64, u64) {
    let answer = service.post(CHAT, holder.key.as_str(), asked).good();
    let usage = &answer["usage"];
    let count = |place: &str| usage.pointer(place).unwrap().as_u64().unwrap();
    (count("/prompt_tokens_details/cached_tokens"), count("/prompt_tokens"))
}

#[test]
fn next_turn_reuses_the_cache_of_its_member_only() {
    let (service, ada) = service("");
    let eve = service.holder("eve", 10 * PRICE);
    let mut asked = question("My name is Ada, and I live in a small house by the sea. Who am I?");
    let first = service.post(CHAT, ada.key.as_str(), &asked).good();
    let before = first["usage"]["prompt_tokens"].as_u64().unwrap();
    let messages = asked["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": text(&first)}));
    messages.push(json!({"role": "user", "content": "And where do I live?"}));
    let (of_eve, _) = cached(&service, &eve, &asked);
    assert_eq!(of_eve, 0, "what was computed for ada was used for eve");
    let (again, all) = cached(&service, &ada, &asked);
    assert!(again >= before && again < all, "{again} of {all}, {before} before");
}
