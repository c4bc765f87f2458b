//! Items as chat messages: instructions, the earlier responses, the new input.

use serde_json::{Value, json};

use super::super::Untranslatable;
use super::super::fields::{Object, object_at, present, text_at};

/// The chat messages of a request that continues `earlier`.
pub(super) fn translate(body: &Object, earlier: &[Value]) -> Result<Vec<Value>, Untranslatable> {
    let mut conversation = Conversation { earlier, messages: Vec::new() };
    match present(body, "instructions") {
        None => {}
        Some(Value::String(text)) => conversation.say("system", text),
        Some(_) => return Err(Untranslatable::new("instructions", "a string is needed here")),
    }
    for item in earlier {
        conversation.add(item, "previous_response_id")?;
    }
    match present(body, "input") {
        None => {}
        Some(Value::String(text)) => conversation.say("user", text),
        Some(Value::Array(items)) => {
            for (n, item) in items.iter().enumerate() {
                conversation.add(item, &format!("input[{n}]"))?;
            }
        }
        Some(_) => {
            return Err(Untranslatable::new("input", "a string or a list of items is needed here"));
        }
    }
    if conversation.messages.is_empty() {
        return Err(Untranslatable::new("input", "there is nothing in it to answer"));
    }
    Ok(conversation.messages)
}

struct Conversation<'a> {
    earlier: &'a [Value],
    messages: Vec<Value>,
}

impl Conversation<'_> {
    fn say(&mut self, role: &str, text: &str) {
        self.messages.push(json!({ "role": role, "content": text }));
    }

    fn add(&mut self, item: &Value, place: &str) -> Result<(), Untranslatable> {
        let item = object_at(item, place)?;
        match present(item, "type").and_then(Value::as_str) {
            Some("message") => self.message(item, place),
            None if item.contains_key("role") => self.message(item, place),
            Some("function_call") => self.call(item, place),
            Some("function_call_output") => self.call_output(item, place),
            // What a model thought before is not for another request to repeat.
            Some("reasoning") => Ok(()),
            None | Some("item_reference") => self.reference(item, place),
            Some(kind) => {
                let message = format!("items of the type {kind} are not available for this model");
                Err(Untranslatable::new(format!("{place}.type"), message))
            }
        }
    }

    fn message(&mut self, item: &Object, place: &str) -> Result<(), Untranslatable> {
        let role = match text_at(item, "role", place)? {
            // Servers that speak only chat completions often know no developer.
            "developer" => "system",
            role @ ("system" | "user" | "assistant") => role,
            role => {
                let message = format!("there is no role {role}");
                return Err(Untranslatable::new(format!("{place}.role"), message));
            }
        };
        let place = format!("{place}.content");
        let message = match (role, item.get("content")) {
            (_, Some(Value::String(text))) => json!({ "role": role, "content": text }),
            ("assistant", Some(Value::Array(parts))) => said(parts, &place)?,
            (_, Some(Value::Array(parts))) => {
                json!({ "role": role, "content": content(parts, &place)? })
            }
            _ => return Err(Untranslatable::new(place, "a string or a list is needed here")),
        };
        self.messages.push(message);
        Ok(())
    }

    /// Calls belong to the assistant message before them.
    fn call(&mut self, item: &Object, place: &str) -> Result<(), Untranslatable> {
        let call = json!({
            "id": text_at(item, "call_id", place)?,
            "type": "function",
            "function": {
                "name": text_at(item, "name", place)?,
                "arguments": text_at(item, "arguments", place)?,
            },
        });
        match self.messages.last_mut() {
            Some(last) if last["role"] == "assistant" => match last.get_mut("tool_calls") {
                Some(Value::Array(calls)) => calls.push(call),
                _ => last["tool_calls"] = json!([call]),
            },
            _ => self.messages.push(json!({
                "role": "assistant", "content": null, "tool_calls": [call],
            })),
        }
        Ok(())
    }

    fn call_output(&mut self, item: &Object, place: &str) -> Result<(), Untranslatable> {
        let id = text_at(item, "call_id", place)?;
        let place = format!("{place}.output");
        let content = match item.get("output") {
            Some(Value::String(text)) => text.as_str().into(),
            Some(Value::Array(parts)) => content(parts, &place)?,
            _ => return Err(Untranslatable::new(place, "a string or a list is needed here")),
        };
        self.messages.push(json!({ "role": "tool", "tool_call_id": id, "content": content }));
        Ok(())
    }

    /// An item of the responses before is in the conversation already.
    fn reference(&self, item: &Object, place: &str) -> Result<(), Untranslatable> {
        let id = text_at(item, "id", place)?;
        if self.earlier.iter().any(|item| item["id"] == id) {
            return Ok(());
        }
        let message = "no item of this id in the responses this one continues";
        Err(Untranslatable::new(format!("{place}.id"), message))
    }
}

/// An assistant message: its texts in one, its refusal apart.
fn said(parts: &[Value], place: &str) -> Result<Value, Untranslatable> {
    let mut text = String::new();
    let mut refusal = None;
    for (n, part) in parts.iter().enumerate() {
        let place = format!("{place}[{n}]");
        let part = object_at(part, &place)?;
        match text_at(part, "type", &place)? {
            "output_text" | "input_text" | "text" => text.push_str(text_at(part, "text", &place)?),
            "refusal" => refusal = Some(text_at(part, "refusal", &place)?),
            kind => return Err(unknown_part(kind, &place)),
        }
    }
    let content = if text.is_empty() && refusal.is_some() { Value::Null } else { text.into() };
    let mut message = json!({ "role": "assistant", "content": content });
    if let Some(refusal) = refusal {
        message["refusal"] = refusal.into();
    }
    Ok(message)
}

/// Parts as chat content; one text alone is a plain string, which every server takes.
fn content(parts: &[Value], place: &str) -> Result<Value, Untranslatable> {
    let mut content = Vec::with_capacity(parts.len());
    for (n, part) in parts.iter().enumerate() {
        let place = format!("{place}[{n}]");
        content.push(chat_part(object_at(part, &place)?, &place)?);
    }
    match content.as_mut_slice() {
        [only] if only["type"] == "text" => Ok(only["text"].take()),
        _ => Ok(content.into()),
    }
}

fn chat_part(part: &Object, place: &str) -> Result<Value, Untranslatable> {
    match text_at(part, "type", place)? {
        "input_text" | "output_text" | "text" => {
            Ok(json!({ "type": "text", "text": text_at(part, "text", place)? }))
        }
        "refusal" => Ok(json!({ "type": "text", "text": text_at(part, "refusal", place)? })),
        "input_image" => {
            no_stored_file(part, place)?;
            let mut image = json!({ "url": text_at(part, "image_url", place)? });
            if let Some(detail) = present(part, "detail") {
                image["detail"] = detail.clone();
            }
            Ok(json!({ "type": "image_url", "image_url": image }))
        }
        "input_file" => {
            no_stored_file(part, place)?;
            if present(part, "file_url").is_some() {
                let message = "files must be sent with the request";
                return Err(Untranslatable::new(format!("{place}.file_url"), message));
            }
            let mut file = json!({ "file_data": text_at(part, "file_data", place)? });
            if let Some(name) = present(part, "filename") {
                file["filename"] = name.clone();
            }
            Ok(json!({ "type": "file", "file": file }))
        }
        "input_audio" => {
            let audio = part.get("input_audio").unwrap_or(&Value::Null);
            Ok(json!({ "type": "input_audio", "input_audio": audio }))
        }
        kind => Err(unknown_part(kind, place)),
    }
}

fn no_stored_file(part: &Object, place: &str) -> Result<(), Untranslatable> {
    if present(part, "file_id").is_none() {
        return Ok(());
    }
    let message = "files must be sent with the request";
    Err(Untranslatable::new(format!("{place}.file_id"), message))
}

fn unknown_part(kind: &str, place: &str) -> Untranslatable {
    let message = format!("content of the type {kind} is not available for this model");
    Untranslatable::new(format!("{place}.type"), message)
}
