//! An estimate of the input tokens of a messages or chat completion request.

use serde_json::Value;

use super::super::fields::Object;

/// Average bytes of English text, code or JSON per token.
const BYTES_PER_TOKEN: usize = 4;
/// Tokens of a typical image.
const IMAGE_TOKENS: usize = 1600;
/// Bytes of base64 in a PDF per token; a page of text takes about 2,000 tokens.
const PDF_BYTES_PER_TOKEN: usize = 50;
/// Overhead of each message, block and tool.
const FRAME_TOKENS: usize = 4;

/// Estimates the tokens of the prompt, for upstreams that cannot count them.
///
/// The tokenizer of the upstream is unknown, so the result can be wrong by a third.
pub fn estimate_input_tokens(body: &Object) -> u64 {
    let fields = ["system", "messages", "tools", "output_config"];
    let tokens: usize = fields.iter().filter_map(|name| body.get(*name)).map(tokens).sum();
    tokens as u64
}

fn tokens(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len().div_ceil(BYTES_PER_TOKEN),
        Value::Array(items) => items.iter().map(|item| FRAME_TOKENS + tokens(item)).sum(),
        Value::Object(object) => match object.get("type").and_then(Value::as_str) {
            Some("image" | "image_url") => IMAGE_TOKENS,
            Some("base64") => {
                let data = object.get("data").and_then(Value::as_str).unwrap_or_default();
                data.len().div_ceil(PDF_BYTES_PER_TOKEN)
            }
            // A client sends thinking back, but the model does not read it.
            Some("thinking" | "redacted_thinking") => 0,
            _ => object
                .iter()
                .filter(|(name, _)| *name != "cache_control" && *name != "type")
                .map(|(name, value)| name.len() / BYTES_PER_TOKEN + tokens(value))
                .sum(),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}
