//! Tests of `validate`.

use serde_json::json;

use super::*;

#[test]
fn the_first_violation_is_reported_with_its_path() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 3},
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1},
            "size": {"type": ["integer", "null"], "minimum": 0},
            "in": {"$ref": "#/$defs/point"},
        },
        "required": ["name"],
        "additionalProperties": false,
        "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}}}},
    });
    for good in [
        json!({"name": "abc", "tags": ["a"], "size": 2.0, "in": {"x": 1.5, "y": true}}),
        json!({"name": "", "size": null}),
    ] {
        assert_eq!(violation(&schema, &good), None);
    }
    for (bad, told) in [
        (json!([]), "the value must be object, found array"),
        (json!({}), "the value lacks `name`"),
        (json!({"name": 1}), "`name` must be string, found number"),
        (json!({"name": "abcd"}), "`name` is too long"),
        (json!({"name": "a", "tags": []}), "`tags` is too short"),
        (json!({"name": "a", "tags": ["c"]}), "`tags.0` is none of the allowed values"),
        (json!({"name": "a", "size": 1.5}), "`size` must be integer or null, found number"),
        (json!({"name": "a", "size": -1}), "`size` is too small"),
        (json!({"name": "a", "in": {"x": "1"}}), "`in.x` must be number, found string"),
        (json!({"name": "a", "more": 1}), "`more` is not allowed"),
    ] {
        assert_eq!(violation(&schema, &bad).as_deref(), Some(told), "{bad}");
    }
}

#[test]
fn combined_schemas_are_validated() {
    let schema = json!({
        "oneOf": [{"type": "string"}, {"const": 1}],
        "not": {"const": "no"},
        "anyOf": [{"minLength": 2}, {"type": "number"}],
        "allOf": [true, {}],
    });
    for good in [json!("yes"), json!(1.0)] {
        assert_eq!(violation(&schema, &good), None, "{good}");
    }
    for bad in [json!("no"), json!(2), json!("x"), json!(null)] {
        assert!(violation(&schema, &bad).is_some(), "{bad}");
    }
}

#[test]
fn validation_of_hostile_schemas_terminates() {
    let value = json!({"a": {"a": {"a": 1}}});
    for schema in [
        json!({"$ref": "#"}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}}),
        json!({"$ref": "https://example.com/schema"}),
        json!({"type": 7, "required": "x", "properties": [], "enum": {}}),
        json!("x"),
    ] {
        assert_eq!(violation(&schema, &value), None, "{schema}");
    }
    let deep = (0..100_000).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    let schema =
        json!({"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}});
    assert_eq!(violation(&schema, &deep), None);
    // A value that deep cannot be dropped recursively.
    std::mem::forget(deep);
}
