//! Compaction: a summary replaces a long conversation.

use serde_json::{Value, json};

use super::super::fields::Object;
use super::super::{Malformed, Translated, Untranslatable, Usage, opaque};
use super::request;

/// Prompt at the end of the conversation.
const PROMPT: &str = "Summarize this conversation for yourself, so that you can continue it without \
    the messages above. Keep the goals and constraints of the user, decisions, facts, names of \
    files, results of tools, and what is left to do. Answer with the summary alone.";

/// The chat completion request that summarizes a conversation.
pub fn compaction_request(body: &Object, earlier: &[Value]) -> Result<Translated, Untranslatable> {
    let mut body = body.clone();
    for field in ["tools", "tool_choice", "parallel_tool_calls", "text"] {
        body.remove(field);
    }
    let mut translated = request(&body, earlier)?;
    translated.add_round(vec![json!({ "role": "user", "content": PROMPT })]);
    translated.chat.insert("stream".to_owned(), false.into());
    Ok(translated)
}

/// The compacted conversation: the messages of the user, and a summary of everything.
pub fn compaction(
    completion: &Value,
    input: &[Value],
    id: &str,
    created: u64,
) -> Result<Value, Malformed> {
    let summary = completion["choices"][0]["message"]["content"].as_str().unwrap_or_default();
    if summary.is_empty() {
        return Err(Malformed::Missing("summary"));
    }
    let is_kept = |item: &&Value| item["role"] == "user";
    let mut output: Vec<Value> = input.iter().filter(is_kept).cloned().collect();
    output.push(json!({
        "type": "compaction", "id": format!("cmp_{id}"), "encrypted_content": opaque::encode(summary),
    }));
    let usage = completion.get("usage").map(Usage::of_chat);
    Ok(json!({
        "id": id, "object": "response.compaction", "created_at": created, "output": output,
        "usage": usage.map(|usage| usage.to_response()),
    }))
}

/// Replaces a summary of ours by a message, for an upstream that cannot read it.
pub fn reveal_summary(item: &mut Value) {
    if item["type"] != "compaction" {
        return;
    }
    if let Some(summary) = item["encrypted_content"].as_str().and_then(opaque::decode) {
        *item = json!({ "role": "user", "content": summary });
    }
}
