//! The conversation: system text apart, turns of one role merged, parts as content blocks.

use serde_json::{Value, json};

use super::super::Untranslatable;
use super::super::fields::{Object, object_at, present, text_at};

/// The system blocks and the turns of a conversation.
pub(super) fn translate(messages: &[Value]) -> Result<(Vec<Value>, Vec<Value>), Untranslatable> {
    let mut system = Vec::new();
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for (n, message) in messages.iter().enumerate() {
        let place = format!("messages[{n}]");
        let message = object_at(message, &place)?;
        let (role, blocks) = match text_at(message, "role", &place)? {
            "system" | "developer" => {
                system.extend(content(message, &place)?);
                continue;
            }
            "user" => ("user", content(message, &place)?),
            "assistant" => ("assistant", assistant(message, &place)?),
            "tool" => ("user", vec![tool_result(message, &place)?]),
            role => {
                let text = format!("this model does not support messages with the role {role}");
                return Err(Untranslatable::new(format!("{place}.role"), text));
            }
        };
        match turns.last_mut() {
            Some((last, merged)) if *last == role => merged.extend(blocks),
            _ if blocks.is_empty() => {}
            _ => turns.push((role, blocks)),
        }
    }
    if turns.is_empty() {
        return Err(Untranslatable::new("messages", "must contain at least one message to answer"));
    }
    let turns = turns
        .into_iter()
        .map(|(role, content)| json!({ "role": role, "content": content }))
        .collect();
    Ok((system, turns))
}

/// The blocks of a message's content; text without a character in it is no block.
fn content(message: &Object, place: &str) -> Result<Vec<Value>, Untranslatable> {
    let place = format!("{place}.content");
    match present(message, "content") {
        None => Ok(Vec::new()),
        Some(Value::String(text)) if text.is_empty() => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![json!({ "type": "text", "text": text })]),
        Some(Value::Array(parts)) => {
            let mut blocks = Vec::with_capacity(parts.len());
            for (n, part) in parts.iter().enumerate() {
                blocks.extend(block(part, &format!("{place}[{n}]"))?);
            }
            Ok(blocks)
        }
        Some(_) => Err(Untranslatable::new(place, "must be a string or a list of parts")),
    }
}

fn block(part: &Value, place: &str) -> Result<Option<Value>, Untranslatable> {
    let part = object_at(part, place)?;
    let mut block = match text_at(part, "type", place)? {
        "text" => match text_at(part, "text", place)? {
            "" => return Ok(None),
            text => json!({ "type": "text", "text": text }),
        },
        "refusal" => json!({ "type": "text", "text": text_at(part, "refusal", place)? }),
        "image_url" => {
            let place = format!("{place}.image_url");
            let image = part.get("image_url").unwrap_or(&Value::Null);
            let url = text_at(object_at(image, &place)?, "url", &place)?;
            json!({ "type": "image", "source": source(url, &format!("{place}.url"))? })
        }
        "file" => document(part, &format!("{place}.file"))?,
        kind => {
            let message = format!("this model does not support content of type {kind}");
            return Err(Untranslatable::new(format!("{place}.type"), message));
        }
    };
    if let Some(cache) = present(part, "cache_control") {
        block["cache_control"] = cache.clone();
    }
    Ok(Some(block))
}

/// Where the bytes of an image or a document are.
fn source(url: &str, place: &str) -> Result<Value, Untranslatable> {
    if url.starts_with("https://") || url.starts_with("http://") {
        return Ok(json!({ "type": "url", "url": url }));
    }
    match data_url(url) {
        Some((media_type, data)) => {
            Ok(json!({ "type": "base64", "media_type": media_type, "data": data }))
        }
        None => Err(Untranslatable::new(place, "must be an http URL or a base64 data URL")),
    }
}

/// Media type and base64 text of `data:<media type>;base64,<text>`.
fn data_url(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let media_type = head.strip_suffix(";base64")?;
    let media_type = media_type.split(';').next().filter(|kind| !kind.is_empty())?;
    Some((media_type, data))
}

fn document(part: &Object, place: &str) -> Result<Value, Untranslatable> {
    let file = object_at(part.get("file").unwrap_or(&Value::Null), place)?;
    if present(file, "file_id").is_some() {
        let message = "files must be sent with the request";
        return Err(Untranslatable::new(format!("{place}.file_id"), message));
    }
    let data = text_at(file, "file_data", place)?;
    let place = format!("{place}.file_data");
    let source = source(data, &place)?;
    if source["type"] == "base64" && source["media_type"] != "application/pdf" {
        return Err(Untranslatable::new(place, "this model supports only PDF files"));
    }
    let mut document = json!({ "type": "document", "source": source });
    if let Some(name) = present(file, "filename") {
        document["title"] = name.clone();
    }
    Ok(document)
}

fn assistant(message: &Object, place: &str) -> Result<Vec<Value>, Untranslatable> {
    let mut blocks = content(message, place)?;
    if let Some(refusal) = present(message, "refusal").and_then(Value::as_str)
        && blocks.is_empty()
        && !refusal.is_empty()
    {
        blocks.push(json!({ "type": "text", "text": refusal }));
    }
    if present(message, "function_call").is_some() {
        let message = "put tool calls in tool_calls";
        return Err(Untranslatable::new(format!("{place}.function_call"), message));
    }
    let calls = match present(message, "tool_calls") {
        None => &[][..],
        Some(Value::Array(calls)) => calls,
        Some(_) => {
            let place = format!("{place}.tool_calls");
            return Err(Untranslatable::new(place, "must be a list"));
        }
    };
    for (n, call) in calls.iter().enumerate() {
        blocks.push(tool_use(call, &format!("{place}.tool_calls[{n}]"))?);
    }
    Ok(blocks)
}

fn tool_use(call: &Value, place: &str) -> Result<Value, Untranslatable> {
    let call = object_at(call, place)?;
    let id = text_at(call, "id", place)?;
    let place = format!("{place}.function");
    let function = object_at(call.get("function").unwrap_or(&Value::Null), &place)?;
    let name = text_at(function, "name", &place)?;
    let arguments = match text_at(function, "arguments", &place)?.trim() {
        "" => Ok(Object::new()),
        arguments => serde_json::from_str::<Object>(arguments),
    };
    let input = arguments
        .map_err(|_| Untranslatable::new(format!("{place}.arguments"), "must be a JSON object"))?;
    Ok(json!({ "type": "tool_use", "id": id, "name": name, "input": input }))
}

fn tool_result(message: &Object, place: &str) -> Result<Value, Untranslatable> {
    let id = text_at(message, "tool_call_id", place)?;
    let mut result = json!({ "type": "tool_result", "tool_use_id": id });
    let blocks = content(message, place)?;
    if !blocks.is_empty() {
        result["content"] = blocks.into();
    }
    Ok(result)
}
