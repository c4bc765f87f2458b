//! Chat messages under construction, in the order that chat completions require.

use serde_json::{Value, json};

/// Builds the `messages` of a chat completion request.
///
/// A tool message takes only text. Images and files of tool results follow in a user message,
/// after all results of the turn: no other message may come between a call and its result.
#[derive(Default)]
pub(crate) struct ChatMessages {
    messages: Vec<Value>,
    /// Media parts of tool results, added after the last result.
    media: Vec<Value>,
}

impl ChatMessages {
    pub(crate) fn push(&mut self, message: Value) {
        // Text after a call joins the call's message, whose results must come next.
        if message["role"] == "assistant"
            && message["content"].is_string()
            && let Some(last) = self.messages.last_mut()
            && last["role"] == "assistant"
            && last["content"].is_null()
            && last.get("tool_calls").is_some()
        {
            last["content"] = message["content"].clone();
            return;
        }
        self.flush_media();
        self.messages.push(message);
    }

    pub(crate) fn say(&mut self, role: &str, content: impl Into<Value>) {
        let content: Value = content.into();
        self.push(json!({ "role": role, "content": content }));
    }

    /// Adds a call to the previous assistant message, or to a new one.
    pub(crate) fn call(&mut self, id: &str, function: &str, arguments: &str) {
        let call = tool_call(id, function, arguments);
        match self.messages.last_mut() {
            Some(last) if last["role"] == "assistant" => match last.get_mut("tool_calls") {
                Some(Value::Array(calls)) => calls.push(call),
                _ => last["tool_calls"] = json!([call]),
            },
            _ => {
                self.push(json!({ "role": "assistant", "content": null, "tool_calls": [call] }));
            }
        }
    }

    /// Adds the result of a call, given as chat content parts.
    pub(crate) fn result(&mut self, id: &str, parts: Vec<Value>) {
        let (texts, media): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|part| part["type"] == "text");
        let content = match texts.is_empty() {
            true if media.is_empty() => "".into(),
            true => "The output is in the next user message.".into(),
            false => plain(texts),
        };
        self.messages.push(json!({ "role": "tool", "tool_call_id": id, "content": content }));
        if !media.is_empty() {
            let label = format!("Output of the tool call {id}:");
            self.media.push(json!({ "type": "text", "text": label }));
            self.media.extend(media);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(crate) fn into_messages(mut self) -> Vec<Value> {
        self.flush_media();
        self.messages
    }

    fn flush_media(&mut self) {
        if !self.media.is_empty() {
            let media = std::mem::take(&mut self.media);
            self.messages.push(json!({ "role": "user", "content": media }));
        }
    }
}

pub(crate) fn tool_call(id: &str, function: &str, arguments: &str) -> Value {
    json!({
        "id": id,
        "type": "function",
        "function": { "name": function, "arguments": arguments },
    })
}

/// Parts as message content; text-only parts become one string, which every server accepts.
pub(crate) fn plain(parts: Vec<Value>) -> Value {
    let texts: Option<Vec<&str>> = parts.iter().map(|part| part["text"].as_str()).collect();
    match texts {
        Some(texts) => texts.join("\n\n").into(),
        None => parts.into(),
    }
}
