//! Tests of `token_estimate`.

use super::*;
use serde_json::json;

#[test]
fn estimated_length_matches_compact_json() {
    for value in [
        json!({}),
        json!([]),
        json!({"a": 1, "b": [true, false, null, -3, 0, 10, 1.5, "text"], "c": {"d": []}}),
    ] {
        assert_eq!(compact_bytes(&value), value.to_string().len(), "{value}");
    }
}

#[test]
fn four_bytes_are_a_token_plus_a_constant_per_tool() {
    assert_eq!(estimate_tokens("", "", &json!({})), 13);
    assert_eq!(estimate_tokens("abcd", "efgh", &json!({})), 15);
    assert_eq!(estimate_tokens("abcd", "efghi", &json!({})), 15);
    assert_eq!(estimate_tokens("abcd", "efghijk", &json!({})), 16);
}
