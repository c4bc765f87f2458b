//! Items of a response: its input in full form, and its output.

use serde_json::{Value, json};

use super::super::fields::{Object, present};

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
