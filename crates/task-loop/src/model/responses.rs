//! Responses API: the request, and the streamed response.

use serde_json::{Value, json};

use super::{Definition, Finish, Reply, add_arguments};
use crate::attachment::{Attachment, MediaKind};
use crate::conversation::{Call, Message};
use crate::member::MemberError;

/// The request body. Nothing is stored: the conversation is ours.
pub(super) fn body(model: &str, said: &[&Message], tools: &[Definition]) -> Value {
    let input: Vec<Value> = said.iter().flat_map(|message| items(message)).collect();
    let mut body = json!({"model": model, "input": input, "stream": true, "store": false});
    if !tools.is_empty() {
        body["tools"] = tools.iter().map(tool).collect();
    }
    body
}

fn items(message: &Message) -> Vec<Value> {
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    let with = |text: &str, attachments: &[Attachment]| match attachments {
        [] => json!(text),
        attached => {
            let text = json!({"type": "input_text", "text": text});
            std::iter::once(text).chain(attached.iter().map(part)).collect()
        }
    };
    match message {
        Message::System { text } => vec![said("system", text)],
        Message::User { text, attachments } => {
            vec![json!({"role": "user", "content": with(text, attachments)})]
        }
        Message::Assistant { text, calls } => {
            let text = (!text.is_empty()).then(|| said("assistant", text));
            text.into_iter().chain(calls.iter().map(call)).collect()
        }
        Message::Tool { id, text, attachments, .. } => {
            let output = with(text, attachments);
            vec![json!({"type": "function_call_output", "call_id": id, "output": output})]
        }
    }
}

fn part(one: &Attachment) -> Value {
    match one.kind {
        MediaKind::Image => json!({"type": "input_image", "image_url": one.data_url()}),
        MediaKind::Audio => json!({
            "type": "input_audio",
            "input_audio": {"data": one.data, "format": one.audio_format()},
        }),
        MediaKind::Document => json!({
            "type": "input_file", "filename": one.file_name(), "file_data": one.data_url(),
        }),
    }
}

fn call(call: &Call) -> Value {
    let Call { id, name, arguments } = call;
    json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments})
}

fn tool(tool: &Definition) -> Value {
    json!({
        "type": "function", "name": tool.name, "description": tool.description,
        "parameters": tool.parameters, "strict": false,
    })
}

/// Processes one event of the answer. Unknown content is ignored.
pub(super) fn take(
    event: &Value,
    growing: &mut Reply,
    hear: &mut (dyn FnMut(&str) + Send),
) -> Result<(), MemberError> {
    match event["type"].as_str().unwrap_or_default() {
        "response.output_text.delta" | "response.refusal.delta" => {
            growing.say(event["delta"].as_str().unwrap_or_default(), hear);
        }
        "response.output_item.done" if event["item"]["type"] == "function_call" => {
            let item = &event["item"];
            let at = growing.calls.len();
            if let Some(call) = growing.call(at) {
                item["call_id"].as_str().unwrap_or_default().clone_into(&mut call.id);
                item["name"].as_str().unwrap_or_default().clone_into(&mut call.name);
                add_arguments(call, item["arguments"].as_str().unwrap_or_default());
            }
        }
        "response.completed" => end(&event["response"], growing, Finish::Stop),
        "response.incomplete" => {
            let reason = event["response"]["incomplete_details"]["reason"].as_str();
            let is_filtered = reason == Some("content_filter");
            let finish = if is_filtered { Finish::Filtered } else { Finish::Length };
            end(&event["response"], growing, finish);
        }
        "response.failed" => return Err(MemberError::in_stream(&event["response"]["error"])),
        "error" => return Err(MemberError::in_stream(event)),
        _ => {}
    }
    Ok(())
}

fn end(response: &Value, growing: &mut Reply, finish: Finish) {
    let usage = &response["usage"];
    let of = |key: &str| usage[key].as_u64().unwrap_or_default();
    (growing.input_tokens, growing.output_tokens) = (of("input_tokens"), of("output_tokens"));
    growing.model = response["model"].as_str().map(str::to_owned);
    growing.finish = finish;
    growing.is_complete = true;
}

#[cfg(test)]
mod tests;
