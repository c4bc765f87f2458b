//! The history of a conversation for an upstream with a native Messages API.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::fields::Object;
use super::super::opaque;

/// Removes blocks that only this service can read, and returns whether there were any.
///
/// An earlier answer of another kind of upstream has thinking without a signature and searches with
/// our own `encrypted_content`; Anthropic refuses both.
pub fn remove_own_blocks(body: &mut Object) -> bool {
    let Some(Value::Array(messages)) = body.get_mut("messages") else { return false };
    let mut removed = false;
    messages.retain_mut(|message| {
        let Some(Value::Array(blocks)) = message.get_mut("content") else { return true };
        let searches: BTreeSet<String> = blocks
            .iter()
            .filter(|block| is_own_result(block))
            .filter_map(|block| block["tool_use_id"].as_str().map(str::to_owned))
            .collect();
        let is_own = |id: &Value| id.as_str().is_some_and(|id| searches.contains(id));
        let before = blocks.len();
        blocks.retain(|block| match block["type"].as_str() {
            Some("thinking") => block["signature"].as_str().is_some_and(|sign| !sign.is_empty()),
            Some("server_tool_use") => !is_own(&block["id"]),
            Some("web_search_tool_result") => !is_own(&block["tool_use_id"]),
            _ => true,
        });
        removed |= blocks.len() < before;
        before == 0 || !blocks.is_empty()
    });
    removed
}

fn is_own_result(block: &Value) -> bool {
    let is_own = |result: &Value| {
        result["encrypted_content"].as_str().is_some_and(|text| opaque::decode(text).is_some())
    };
    block["type"] == "web_search_tool_result"
        && block["content"].as_array().is_some_and(|results| results.iter().all(is_own))
}
