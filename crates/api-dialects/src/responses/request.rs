//! A Responses request as a chat completion request: top-level fields.

use serde_json::{Value, json};

use super::super::fields::{Node, Object, Result, copy, present};
use super::super::{Malformed, Translated, Untranslatable, Usage, opaque};
use super::conversation;
use super::tools::Offered;

/// Fields with the same meaning in a chat completion request.
const PASSED: &[&str] = &[
    "frequency_penalty", "logit_bias", "model", "parallel_tool_calls", "presence_penalty",
    "safety_identifier", "seed", "service_tier", "stop", "temperature", "top_p", "user",
];

/// Settings outside both APIs that chat completions servers support.
const EXTENSIONS: &[&str] =
    &["chat_template_kwargs", "min_p", "repetition_penalty", "thinking", "top_k"];

/// Fields that a chat completion cannot honour.
const UNMET: &[&str] = &["context_management", "conversation", "moderation", "prompt"];

/// Converts a Responses request that continues `earlier` to a chat completion request.
///
/// `earlier` are the items, input and output, of earlier responses, oldest first. Fields
/// without a meaning for a chat completion are left out, `prompt_cache_key` too: it changes no
/// answer, and servers that check their fields refuse it.
pub fn request(body: &Object, earlier: &[Value]) -> Result<Translated> {
    let mut chat = passed_through(body)?;
    let mut offered = Offered::collect(body, earlier)?;
    let messages = conversation::translate(body, earlier, &offered.tools.table)?;
    chat.insert("messages".into(), messages.into());
    offered.write(body, &mut chat)?;
    if let Some(format) = text_format(body)? {
        chat.insert("response_format".into(), format);
    }
    let nested = [("text", "verbosity", "verbosity"), ("reasoning", "effort", "reasoning_effort")];
    for (object, field, name) in nested {
        if let Some(value) = present(body, object).and_then(|object| object.get(field))
            && !value.is_null()
        {
            chat.insert(name.into(), value.clone());
        }
    }
    copy(body, &mut chat, &[("max_output_tokens", "max_completion_tokens")]);
    if Node::root(body).flag("stream")? == Some(true) {
        chat.insert("stream".into(), true.into());
        chat.insert("stream_options".into(), json!({ "include_usage": true }));
    }
    Ok(Translated { chat, tools: offered.tools.table })
}

fn passed_through(body: &Object) -> Result<Object> {
    let asks = |name: &&&str| present(body, name).is_some();
    if let Some(name) = UNMET.iter().find(asks) {
        return Err(Untranslatable::new(*name, "not available for this model"));
    }
    if present(body, "top_logprobs").is_some_and(|count| count.as_u64() != Some(0)) {
        return Err(Untranslatable::new("top_logprobs", "not available for this model"));
    }
    let included = Node::root(body).list("include")?;
    if included.iter().any(|wish| wish == "message.output_text.logprobs") {
        let message = "this model does not support log probabilities here";
        return Err(Untranslatable::new("include", message));
    }
    let passed = PASSED
        .iter()
        .chain(EXTENSIONS)
        .filter_map(|name| present(body, name).map(|value| ((*name).to_owned(), value.clone())));
    Ok(passed.collect())
}

fn text_format(body: &Object) -> Result<Option<Value>> {
    let Some(text) = Node::root(body).optional_object("text")? else { return Ok(None) };
    let Some(format) = text.optional_object("format")? else { return Ok(None) };
    match format.text("type")? {
        "text" => Ok(None),
        "json_object" => Ok(Some(json!({ "type": "json_object" }))),
        "json_schema" => {
            let mut schema = Object::new();
            schema.insert("name".into(), format.text("name")?.into());
            let fields =
                [("description", "description"), ("schema", "schema"), ("strict", "strict")];
            copy(format.object, &mut schema, &fields);
            Ok(Some(json!({ "type": "json_schema", "json_schema": schema })))
        }
        kind => {
            let message = format!("this model does not support responses of type {kind}");
            Err(format.error("type", message))
        }
    }
}

/// Prompt at the end of the conversation.
const PROMPT: &str = "Summarize this conversation for yourself, so that you can continue it without \
    the messages above. Keep the goals and constraints of the user, decisions, facts, names of \
    files, results of tools, and what is left to do. Answer with the summary alone.";

/// The chat completion request that summarizes a conversation.
pub fn compaction_request(body: &Object, earlier: &[Value]) -> Result<Translated> {
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

/// The request's input as items with ids, for listing and for later responses.
///
/// `ids` makes an id for a prefix such as `msg`; an item with an id keeps it.
pub fn input_items(body: &Object, mut ids: impl FnMut(&str) -> String) -> Vec<Value> {
    match present(body, "input") {
        Some(Value::String(text)) => vec![json!({
            "id": ids("msg"),
            "type": "message",
            "status": "completed",
            "role": "user",
            "content": [{ "type": "input_text", "text": text }],
        })],
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(Value::as_object)
            .filter_map(|item| full_item(item, &mut ids))
            .collect(),
        _ => Vec::new(),
    }
}

pub fn output_items(response: &Value) -> &[Value] {
    response.get("output").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The item with all fields of its listing; a reference is not an item.
fn full_item(item: &Object, ids: &mut impl FnMut(&str) -> String) -> Option<Value> {
    let mut item = item.clone();
    if present(&item, "type").is_none() {
        item.insert("type".into(), "message".into());
    }
    let prefix = match item["type"].as_str() {
        Some("message") if item.contains_key("role") => "msg",
        Some("message" | "item_reference") | None => return None,
        Some("function_call") => "fc",
        Some("function_call_output") => "fco",
        Some("reasoning") => "rs",
        Some(_) => "item",
    };
    if present(&item, "id").is_none() {
        item.insert("id".into(), ids(prefix).into());
    }
    if prefix != "rs" && present(&item, "status").is_none() {
        item.insert("status".into(), "completed".into());
    }
    if prefix == "msg" {
        full_content(&mut item);
    }
    Some(item.into())
}

fn full_content(item: &mut Object) {
    let assistant = item.get("role").is_some_and(|role| role == "assistant");
    match item.get_mut("content") {
        Some(Value::Array(parts)) => {
            for part in parts.iter_mut().filter_map(Value::as_object_mut) {
                if part.get("type").is_some_and(|kind| kind == "input_image") {
                    part.entry("detail").or_insert_with(|| "auto".into());
                }
            }
        }
        Some(Value::String(text)) => {
            let part = if assistant {
                json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
            } else {
                json!({ "type": "input_text", "text": text })
            };
            item.insert("content".into(), json!([part]));
        }
        _ => {}
    }
}
