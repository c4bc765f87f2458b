//! Estimate of the tokens that a tool costs in every request.

use serde_json::Value;

const BYTES_PER_TOKEN: usize = 4;
const TOKENS_AROUND_A_TOOL: usize = 12;

/// Estimates the tokens that a tool costs.
///
/// A rule of thumb to compare servers: four bytes of name, description and compact JSON schema
/// per token, rounded up, plus a dozen for what an API adds around each tool. Tokenizers
/// differ by more than this error; the estimate must be the same everywhere and cheap.
pub fn estimate_tokens(name: &str, description: &str, schema: &Value) -> u32 {
    tokens_of_bytes(name.len() + description.len() + compact_bytes(schema))
}

pub(crate) fn tokens_of_bytes(bytes: usize) -> u32 {
    let tokens = bytes.div_ceil(BYTES_PER_TOKEN) + TOKENS_AROUND_A_TOOL;
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

/// The length as compact JSON; escapes in strings count as one byte.
pub(super) fn compact_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => match number.as_u64() {
            Some(number) => number.checked_ilog10().map_or(1, |digits| digits as usize + 1),
            None => number.to_string().len(),
        },
        Value::String(text) => text.len() + 2,
        // Brackets and commas.
        Value::Array(list) => {
            list.iter().map(|inner| compact_bytes(inner) + 1).sum::<usize>().max(1) + 1
        }
        Value::Object(object) => {
            let fields = object.iter().map(|(key, inner)| key.len() + compact_bytes(inner) + 4);
            fields.sum::<usize>().max(1) + 1
        }
    }
}

#[cfg(test)]
mod tests;
