//! Chat completions: the request, and the streamed response.

use serde_json::{Value, json};

use super::{Definition, Finish, Reply, add_arguments};
use crate::attachment::{Attachment, MediaKind};
use crate::conversation::{Call, Message};

pub(super) fn body(model: &str, said: &[&Message], tools: &[Definition]) -> Value {
    let messages = messages(said);
    let mut body = json!({
        "model": model,
        "messages": messages,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    if !tools.is_empty() {
        body["tools"] = tools.iter().map(tool).collect();
    }
    body
}

/// A tool message takes only text, and nothing may come between the results of one round:
/// their attachments follow in a user message.
fn messages(said: &[&Message]) -> Vec<Value> {
    let (mut messages, mut attached) = (Vec::with_capacity(said.len()), Vec::new());
    for one in said {
        if !matches!(one, Message::Tool { .. }) {
            flush(&mut attached, &mut messages);
        }
        messages.push(message(one));
        if let Message::Tool { name, attachments, .. } = one
            && !attachments.is_empty()
        {
            let label = format!("Attachments of the result of {name}, sent by the tool:");
            attached.push(text_part(&label));
            attached.extend(attachments.iter().map(part));
        }
    }
    flush(&mut attached, &mut messages);
    messages
}

fn flush(attached: &mut Vec<Value>, messages: &mut Vec<Value>) {
    if !attached.is_empty() {
        messages.push(json!({"role": "user", "content": std::mem::take(attached)}));
    }
}

fn text_part(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn part(one: &Attachment) -> Value {
    match one.kind {
        MediaKind::Image => json!({"type": "image_url", "image_url": {"url": one.data_url()}}),
        MediaKind::Audio => json!({
            "type": "input_audio",
            "input_audio": {"data": one.data, "format": one.audio_format()},
        }),
        MediaKind::Document => json!({
            "type": "file",
            "file": {"filename": one.file_name(), "file_data": one.data_url()},
        }),
    }
}

fn message(message: &Message) -> Value {
    match message {
        Message::System { text } => json!({"role": "system", "content": text}),
        Message::User { text, attachments } if attachments.is_empty() => {
            json!({"role": "user", "content": text})
        }
        Message::User { text, attachments } => {
            let parts: Vec<Value> =
                std::iter::once(text_part(text)).chain(attachments.iter().map(part)).collect();
            json!({"role": "user", "content": parts})
        }
        Message::Assistant { text, calls } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, calls } => {
            let content = (!text.is_empty()).then_some(text);
            let calls: Vec<Value> = calls.iter().map(call).collect();
            json!({"role": "assistant", "content": content, "tool_calls": calls})
        }
        Message::Tool { id, text, .. } => {
            json!({"role": "tool", "tool_call_id": id, "content": text})
        }
    }
}

fn call(call: &Call) -> Value {
    let Call { id, name, arguments } = call;
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn tool(tool: &Definition) -> Value {
    json!({"type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": tool.parameters,
    }})
}

/// Processes one chunk of the answer. Unknown content is ignored.
pub(super) fn take(piece: &Value, growing: &mut Reply, hear: &mut (dyn FnMut(&str) + Send)) {
    if let Some(model) = piece["model"].as_str().filter(|model| !model.is_empty()) {
        growing.model = Some(model.to_owned());
    }
    if let Some(usage) = piece["usage"].as_object() {
        let of = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or_default();
        growing.input_tokens = of("prompt_tokens");
        growing.output_tokens = of("completion_tokens");
    }
    let choice = &piece["choices"][0];
    let delta = &choice["delta"];
    for said in ["content", "refusal"] {
        if let Some(text) = delta[said].as_str() {
            growing.say(text, hear);
        }
    }
    for (n, part) in delta["tool_calls"].as_array().into_iter().flatten().enumerate() {
        let at = part["index"].as_u64().and_then(|at| usize::try_from(at).ok()).unwrap_or(n);
        let Some(call) = growing.call(at) else { continue };
        if let Some(id) = part["id"].as_str().filter(|_| call.id.is_empty()) {
            id.clone_into(&mut call.id);
        }
        let function = &part["function"];
        if let Some(name) = function["name"].as_str().filter(|_| call.name.is_empty()) {
            name.clone_into(&mut call.name);
        }
        match &function["arguments"] {
            Value::String(piece) => add_arguments(call, piece),
            // Some servers send the object itself.
            whole @ Value::Object(_) => add_arguments(call, &whole.to_string()),
            _ => {}
        }
    }
    match choice["finish_reason"].as_str() {
        Some("length") => growing.finish = Finish::Length,
        Some("content_filter") => growing.finish = Finish::Filtered,
        Some(_) => growing.finish = Finish::Stop,
        None => return,
    }
    // Plain servers may omit the end marker.
    growing.is_complete = true;
}

#[cfg(test)]
mod tests;
