//! What a tool costs in every request that offers it.

use serde_json::Value;

/// Bytes of compact JSON that make about one token.
const BYTES_PER_TOKEN: usize = 4;
/// Tokens that a model API adds around each tool.
const TOKENS_AROUND_A_TOOL: usize = 12;

/// About how many tokens a tool costs.
///
/// It is a rule of thumb, for comparing servers and noticing the costly ones: the bytes of name,
/// description and schema as compact JSON, four to a token and rounded up, and a dozen for what
/// an API writes around each tool. Four bytes is the usual figure for English text; punctuation
/// of JSON makes real counts somewhat higher and repeated keywords somewhat lower, and
/// tokenizers differ by as much. No tokenizer is asked: the figure must be the same everywhere
/// and cost nothing.
pub fn estimate_tokens(name: &str, description: &str, schema: &Value) -> u32 {
    tokens_of_bytes(name.len() + description.len() + compact_bytes(schema))
}

/// The same, when the bytes are known.
pub(crate) fn tokens_of_bytes(bytes: usize) -> u32 {
    let tokens = bytes.div_ceil(BYTES_PER_TOKEN) + TOKENS_AROUND_A_TOOL;
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

/// The length of a value as compact JSON; escapes in strings count as one byte.
pub(super) fn compact_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => match number.as_u64() {
            Some(number) => number.checked_ilog10().map_or(1, |digits| digits as usize + 1),
            None => number.to_string().len(),
        },
        Value::String(text) => text.len() + 2,
        // Brackets, and commas between.
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
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_length_is_that_of_compact_json() {
        for value in [
            json!({}),
            json!([]),
            json!({"a": 1, "b": [true, false, null, -3, 0, 10, 1.5, "text"], "c": {"d": []}}),
        ] {
            assert_eq!(compact_bytes(&value), value.to_string().len(), "{value}");
        }
    }

    #[test]
    fn four_bytes_are_a_token_and_each_tool_has_a_price_of_its_own() {
        assert_eq!(estimate_tokens("", "", &json!({})), 13);
        assert_eq!(estimate_tokens("abcd", "efgh", &json!({})), 15);
        assert_eq!(estimate_tokens("abcd", "efghi", &json!({})), 15);
        assert_eq!(estimate_tokens("abcd", "efghijk", &json!({})), 16);
    }
}
