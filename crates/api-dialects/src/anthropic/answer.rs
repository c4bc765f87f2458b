//! A whole message as a chat completion.

use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::super::chat_messages::tool_call;
use super::super::{Malformed, Usage};

/// Converts a message into a chat completion.
pub fn answer(message: &Value, id: &str, created: u64) -> Result<Value, Malformed> {
    if message.get("type").and_then(Value::as_str) != Some("message") {
        return Err(Malformed::Missing("message"));
    }
    let blocks = message.get("content").and_then(Value::as_array);
    let (mut content, mut thinking, mut calls) = (None::<String>, None::<String>, Vec::new());
    for block in blocks.ok_or(Malformed::Missing("content"))? {
        let text = |name: &'static str| {
            block.get(name).and_then(Value::as_str).ok_or(Malformed::Missing(name))
        };
        match text("type")? {
            "text" => content.get_or_insert_default().push_str(text("text")?),
            "thinking" => thinking.get_or_insert_default().push_str(text("thinking")?),
            "tool_use" => {
                let input = block.get("input").ok_or(Malformed::Missing("input"))?;
                calls.push(tool_call(text("id")?, text("name")?, &input.to_string()));
            }
            // Chat has no redacted thinking and no server-side tool results.
            _ => {}
        }
    }
    let mut answer = json!({
        "role": "assistant",
        "content": content,
        "refusal": message.pointer("/stop_details/explanation").filter(|text| text.is_string()),
    });
    if let Some(thinking) = thinking {
        answer["reasoning_content"] = thinking.into();
    }
    if !calls.is_empty() {
        answer["tool_calls"] = calls.into();
    }
    let reason = message.get("stop_reason").and_then(Value::as_str).unwrap_or_default();
    let model = message.get("model").and_then(Value::as_str).ok_or(Malformed::Missing("model"))?;
    // An answer without usage is still valid.
    let counts = message.get("usage").and_then(|usage| Counts::deserialize(usage).ok());
    let mut completion = json!({
        "id": id,
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [{
            "index": 0,
            "message": answer,
            "logprobs": null,
            "finish_reason": finish_reason(reason),
        }],
    });
    if let Some(counts) = counts {
        completion["usage"] = counts.usage().to_chat();
    }
    Ok(completion)
}

/// The `finish_reason` of chat completions.
pub(super) fn finish_reason(stop_reason: &str) -> &'static str {
    match stop_reason {
        "max_tokens" | "model_context_window_exceeded" => "length",
        "tool_use" => "tool_calls",
        "refusal" => "content_filter",
        // `end_turn`, `stop_sequence`, and `pause_turn`: the turn is over for the client.
        _ => "stop",
    }
}

/// The counts of a message or of a stream event; in a stream, later ones replace earlier ones.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(super) struct Counts {
    #[serde(default, deserialize_with = "plausible")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "plausible")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "plausible")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "plausible")]
    cache_read_input_tokens: Option<u64>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
struct OutputDetails {
    #[serde(default, deserialize_with = "plausible")]
    thinking_tokens: Option<u64>,
}

/// A count; `None` if the value is invalid.
fn plausible<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_u64())
}

impl Counts {
    /// Merges the counts of a later event.
    pub(super) fn update(&mut self, later: Self) {
        self.input_tokens = later.input_tokens.or(self.input_tokens);
        self.output_tokens = later.output_tokens.or(self.output_tokens);
        self.cache_creation_input_tokens =
            later.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.cache_read_input_tokens =
            later.cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.output_tokens_details = later.output_tokens_details.or(self.output_tokens_details);
    }

    /// The counts in chat completions terms, whose prompt includes cached tokens.
    pub(super) fn usage(&self) -> Usage {
        let written = self.cache_creation_input_tokens.unwrap_or(0);
        let read = self.cache_read_input_tokens.unwrap_or(0);
        let fresh = self.input_tokens.unwrap_or(0);
        Usage {
            prompt_tokens: fresh.saturating_add(written).saturating_add(read),
            completion_tokens: self.output_tokens.unwrap_or(0),
            cached_tokens: read,
            cache_write_tokens: written,
            reasoning_tokens: self
                .output_tokens_details
                .and_then(|details| details.thinking_tokens)
                .unwrap_or(0),
        }
    }
}
