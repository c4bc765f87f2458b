//! Tests of `reference`.

use super::*;
use serde_json::json;

#[test]
fn only_the_keyword_is_renamed() {
    for (pointer, expected) in [
        ("#/definitions/X", "#/$defs/X"),
        ("#/definitions/definitions", "#/$defs/definitions"),
        ("#/properties/definitions", "#/properties/definitions"),
        ("#/properties/definitions/definitions/X", "#/properties/definitions/$defs/X"),
        ("#/items/definitions/X", "#/items/$defs/X"),
        ("#/anyOf/0/definitions/X", "#/anyOf/0/$defs/X"),
    ] {
        assert_eq!(with_defs(pointer), expected);
    }
}

#[test]
fn pointers_are_followed_through_escapes() {
    let schema = json!({"$defs": {"a/b": {"x": 1}, "c d": {}, "l": [{}]}});
    let schema = schema.as_object().unwrap();
    for pointer in ["#/$defs/a~1b", "#/$defs/c%20d", "#/$defs/l/0", "#/%24defs/l/0"] {
        assert!(is_resolvable(schema, pointer), "{pointer}");
    }
    for pointer in ["#/$defs/l/1", "#/$defs/a~1b/x", "#/nothing", "#anchor", ""] {
        assert!(!is_resolvable(schema, pointer), "{pointer}");
    }
}
