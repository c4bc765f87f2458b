//! The conversation: system text separated, turns of one role merged, parts as content blocks.

use serde_json::{Value, json};

use super::super::fields::{Node, Object, Result, objects, text};

pub(super) fn translate(chat: &Node<'_>) -> Result<(Vec<Value>, Vec<Value>)> {
    let mut system = Vec::new();
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in chat.objects("messages")? {
        let message = message?;
        let (role, blocks) = match message.text("role")? {
            "system" | "developer" => {
                system.extend(content(&message)?);
                continue;
            }
            "user" => ("user", content(&message)?),
            "assistant" => ("assistant", assistant(&message)?),
            "tool" => ("user", vec![tool_result(&message)?]),
            role => {
                let text = format!("this model does not support messages with the role {role}");
                return Err(message.error("role", text));
            }
        };
        match turns.last_mut() {
            Some((last, merged)) if *last == role => merged.extend(blocks),
            _ if blocks.is_empty() => {}
            _ => turns.push((role, blocks)),
        }
    }
    if turns.is_empty() {
        return Err(chat.error("messages", "must contain at least one message to answer"));
    }
    let turns = turns
        .into_iter()
        .map(|(role, content)| json!({ "role": role, "content": content }))
        .collect();
    Ok((system, turns))
}

/// The blocks of a message's content; an empty text is skipped.
fn content(message: &Node<'_>) -> Result<Vec<Value>> {
    match message.get("content") {
        None => Ok(Vec::new()),
        Some(Value::String(text)) if text.is_empty() => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![json!({ "type": "text", "text": text })]),
        Some(Value::Array(parts)) => {
            let mut blocks = Vec::with_capacity(parts.len());
            for part in objects(parts, message.place("content")) {
                blocks.extend(block(&part?)?);
            }
            Ok(blocks)
        }
        Some(_) => Err(message.error("content", "must be a string or a list of parts")),
    }
}

fn block(part: &Node<'_>) -> Result<Option<Value>> {
    let mut block = match part.text("type")? {
        "text" => match part.text("text")? {
            "" => return Ok(None),
            text => json!({ "type": "text", "text": text }),
        },
        "refusal" => json!({ "type": "text", "text": part.text("refusal")? }),
        "image_url" => {
            json!({ "type": "image", "source": source(&part.object("image_url")?, "url")? })
        }
        "file" => document(&part.object("file")?)?,
        kind => {
            let message = format!("this model does not support content of type {kind}");
            return Err(part.error("type", message));
        }
    };
    if let Some(cache) = part.get("cache_control") {
        block["cache_control"] = cache.clone();
    }
    Ok(Some(block))
}

/// The source of an image or a document whose URL is in a field.
fn source(part: &Node<'_>, name: &str) -> Result<Value> {
    let url = part.text(name)?;
    if url.starts_with("https://") || url.starts_with("http://") {
        return Ok(json!({ "type": "url", "url": url }));
    }
    match data_url(url) {
        Some((media_type, data)) => {
            Ok(json!({ "type": "base64", "media_type": media_type, "data": data }))
        }
        None => Err(part.error(name, "must be an http URL or a base64 data URL")),
    }
}

/// Media type and base64 text of `data:<media type>;base64,<text>`.
fn data_url(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let media_type = head.strip_suffix(";base64")?;
    let media_type = media_type.split(';').next().filter(|kind| !kind.is_empty())?;
    Some((media_type, data))
}

fn document(file: &Node<'_>) -> Result<Value> {
    if file.get("file_id").is_some() {
        return Err(file.error("file_id", "files must be sent with the request"));
    }
    let source = source(file, "file_data")?;
    if source["type"] == "base64" && source["media_type"] != "application/pdf" {
        return Err(file.error("file_data", "this model supports only PDF files"));
    }
    let mut document = json!({ "type": "document", "source": source });
    if let Some(name) = file.get("filename") {
        document["title"] = name.clone();
    }
    Ok(document)
}

fn assistant(message: &Node<'_>) -> Result<Vec<Value>> {
    let mut blocks = content(message)?;
    if let Some(refusal) = text(message.object, "refusal")
        && blocks.is_empty()
        && !refusal.is_empty()
    {
        blocks.push(json!({ "type": "text", "text": refusal }));
    }
    if message.get("function_call").is_some() {
        return Err(message.error("function_call", "put tool calls in tool_calls"));
    }
    for call in message.objects("tool_calls")? {
        blocks.push(tool_use(&call?)?);
    }
    Ok(blocks)
}

fn tool_use(call: &Node<'_>) -> Result<Value> {
    let id = call.text("id")?;
    let function = call.object("function")?;
    let name = function.text("name")?;
    let arguments = match function.text("arguments")?.trim() {
        "" => Ok(Object::new()),
        arguments => serde_json::from_str::<Object>(arguments),
    };
    let input = arguments.map_err(|_| function.error("arguments", "must be a JSON object"))?;
    Ok(json!({ "type": "tool_use", "id": id, "name": name, "input": input }))
}

fn tool_result(message: &Node<'_>) -> Result<Value> {
    let id = message.text("tool_call_id")?;
    let mut result = json!({ "type": "tool_result", "tool_use_id": id });
    let blocks = content(message)?;
    if !blocks.is_empty() {
        result["content"] = blocks.into();
    }
    Ok(result)
}
