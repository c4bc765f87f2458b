//! Tests of `generated_answer`.

use super::*;

#[test]
fn values_match_client_schemas() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "kind": {"enum": ["a", "b"]},
            "list": {"type": "array", "items": {"$ref": "#/$defs/Step"}},
            "maybe": {"anyOf": [{"type": "integer", "minimum": 3}, {"type": "null"}]},
        },
        "$defs": {"Step": {"type": "object", "properties": {"done": {"type": "boolean"}}}},
    });
    let expected = json!({"name": "word", "kind": "a", "list": [{"done": true}], "maybe": 3});
    assert_eq!(fitting(&schema, &schema, 0), expected);
}

#[test]
fn recursive_schema_terminates() {
    let schema = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
    assert!(fitting(&schema, &schema, 0).is_object());
}
