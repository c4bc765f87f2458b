//! Chat completions: what is sent, and what comes back piece by piece.

use serde_json::{Value, json};

use super::{Definition, Finish, PartialReply, Usage, add_arguments};
use crate::task::conversation::{Call, Conversation, Message};

/// The question.
pub(super) fn body(model: &str, conversation: &Conversation, tools: &[Definition]) -> Value {
    let messages: Vec<Value> = conversation.messages().iter().map(message).collect();
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

fn message(message: &Message) -> Value {
    match message {
        Message::System { text } => json!({"role": "system", "content": text}),
        Message::User { text } => json!({"role": "user", "content": text}),
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

/// Takes one piece of the answer. What is not understood is passed over.
pub(super) fn take(piece: &Value, growing: &mut PartialReply, hear: &mut (dyn FnMut(&str) + Send)) {
    if let Some(model) = piece["model"].as_str().filter(|model| !model.is_empty()) {
        growing.model = Some(model.to_owned());
    }
    if let Some(usage) = piece["usage"].as_object() {
        let of = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or_default();
        growing.usage = Usage { input: of("prompt_tokens"), output: of("completion_tokens") };
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
    // Plain servers may leave the mark of the end out.
    growing.is_complete = true;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grown(pieces: &[Value]) -> (PartialReply, String) {
        let (mut growing, mut heard) = (PartialReply::default(), String::new());
        for piece in pieces {
            take(piece, &mut growing, &mut |text: &str| heard.push_str(text));
        }
        (growing, heard)
    }

    #[test]
    fn text_and_usage_are_put_together() {
        let (growing, heard) = grown(&[
            json!({"model": "m-1", "choices": [{"delta": {"role": "assistant", "content": "Hel"}}]}),
            json!({"choices": [{"delta": {"content": "lo"}, "finish_reason": null}]}),
            json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
            json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}),
        ]);
        assert_eq!((growing.text.as_str(), heard.as_str()), ("Hello", "Hello"));
        assert_eq!(growing.usage, Usage { input: 7, output: 2 });
        assert_eq!(growing.model.as_deref(), Some("m-1"));
        assert!(growing.is_complete);
    }

    #[test]
    fn calls_in_pieces_are_put_together_by_their_place() {
        let piece = |calls: Value| json!({"choices": [{"delta": {"tool_calls": calls}}]});
        let (growing, _) = grown(&[
            piece(json!([{"index": 0, "id": "a", "function": {"name": "one", "arguments": ""}}])),
            piece(json!([{"index": 1, "id": "b", "function": {"name": "two", "arguments": "{"}}])),
            piece(json!([{"index": 0, "function": {"arguments": "{\"x\":"}}])),
            piece(json!([{"index": 1, "function": {"arguments": "}"}},
                         {"index": 0, "function": {"arguments": "1}"}}])),
        ]);
        let reply = growing.reply();
        let got: Vec<(&str, &str)> =
            reply.calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
        assert_eq!(got, [("one", "{\"x\":1}"), ("two", "{}")]);
    }

    #[test]
    fn nonsense_makes_no_call_and_no_panic() {
        let (growing, _) = grown(&[
            json!({"choices": "x"}),
            json!({"choices": [{"delta": {"tool_calls": [{"index": 4_000_000_000_u64}]}}]}),
            json!({"choices": [{"delta": {"tool_calls": [{"index": 3, "id": 7}]}}]}),
            json!([1, 2]),
            json!(null),
        ]);
        assert!(growing.reply().calls.is_empty());
    }

    #[test]
    fn two_calls_of_one_id_get_ids_of_their_own() {
        let call = |at: u32| json!({"index": at, "id": "same", "function": {"name": "t"}});
        let (growing, _) =
            grown(&[json!({"choices": [{"delta": {"tool_calls": [call(0), call(1)]}}]})]);
        let calls = growing.reply().calls;
        assert_eq!(calls.len(), 2);
        assert_ne!(calls[0].id, calls[1].id);
    }
}
