//! Any JSON as a request of the Messages or the Responses API: translating it never panics, and a
//! chat completion request that comes out has only functions with legal, distinct names.
#![no_main]

use std::collections::BTreeSet;

use api_dialects::{MAX_FUNCTION_NAME_BYTES, Translated, anthropic, messages, responses};
use serde_json::Value;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(Value::Object(mut body)) = serde_json::from_slice(bytes) else { return };
    let _ = messages::estimate_input_tokens(&body);
    let earlier = responses::input_items(&body, |prefix| format!("{prefix}_1"));
    let requests = [
        messages::request(&body),
        responses::request(&body, &[]),
        responses::request(&body, &earlier),
    ];
    for Translated { chat, .. } in requests.into_iter().flatten() {
        check_functions(chat.get("tools"));
        assert!(
            chat.get("messages").and_then(Value::as_array).is_some_and(|list| !list.is_empty())
        );
        if let Ok(Value::Object(mut message)) = anthropic::request(&chat, "claude-opus-5", 1) {
            let _ = messages::request(&message);
            messages::remove_own_blocks(&mut message);
        }
    }
    if messages::remove_own_blocks(&mut body) {
        assert!(!messages::remove_own_blocks(&mut body));
    }
});

fn check_functions(tools: Option<&Value>) {
    let mut names = BTreeSet::new();
    for tool in tools.and_then(Value::as_array).into_iter().flatten() {
        let name = tool["function"]["name"].as_str().unwrap_or_default();
        assert!(name.len() <= MAX_FUNCTION_NAME_BYTES);
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)));
        assert!(names.insert(name));
    }
}
