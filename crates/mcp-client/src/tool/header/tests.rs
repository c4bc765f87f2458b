//! Tests of `header`.

use super::*;
use serde_json::json;

#[test]
fn values_are_encoded_as_the_specification_shows() {
    for (value, expected) in [
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("", ""),
        ("a\tb", "a\tb"),
        ("=?base64?x", "=?base64?x"),
    ] {
        assert_eq!(header_value(value), expected);
    }
}

#[test]
fn header_annotations_are_found_only_under_properties() {
    let schema = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "x-mcp-header": {"type": "string"},
        "deep": {"type": "object", "properties": {
            "level": {"type": ["integer", "null"], "x-mcp-header": "Level"}}},
        "data": {"default": {"x-mcp-header": "no"}, "enum": [{"x-mcp-header": "no"}]},
    }});
    let mut found = header_params(&schema).unwrap();
    found.sort_by(|a, b| a.header.cmp(&b.header));
    let path = |names: &[&str]| names.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        found,
        [
            HeaderParam { header: "Level".into(), path: path(&["deep", "level"]) },
            HeaderParam { header: "Region".into(), path: path(&["region"]) },
        ]
    );
}

#[test]
fn invalid_header_annotations_are_rejected_with_the_reason() {
    let on = |property: Value| json!({"properties": {"a": property}});
    for (schema, reason) in [
        (on(json!({"type": "string", "x-mcp-header": ""})), "empty"),
        (on(json!({"type": "string", "x-mcp-header": "a b"})), "not a valid header name"),
        (on(json!({"type": "string", "x-mcp-header": "a\r\nb"})), "not a valid header name"),
        (on(json!({"type": "string", "x-mcp-header": "é"})), "not a valid header name"),
        (on(json!({"type": "string", "x-mcp-header": 3})), "not a string"),
        (on(json!({"type": "number", "x-mcp-header": "A"})), "not a string, integer"),
        (on(json!({"type": "object", "x-mcp-header": "A"})), "not a string, integer"),
        (on(json!({"x-mcp-header": "A"})), "not a string, integer"),
        (on(json!({"items": {"type": "string", "x-mcp-header": "A"}})), "below `items`"),
        (on(json!({"anyOf": [{"type": "string", "x-mcp-header": "A"}]})), "below `anyOf`"),
        (
            json!({"$defs": {"X": {"type": "string", "x-mcp-header": "A"}}}),
            "through `properties` only",
        ),
        (json!({"if": {"properties": {"b": {"x-mcp-header": "A"}}}}), "through `properties` only"),
        (json!({"x-mcp-header": "A"}), "on the schema itself"),
        (
            json!({"properties": {
                "a": {"type": "string", "x-mcp-header": "Same"},
                "b": {"type": "string", "x-mcp-header": "sAME"},
            }}),
            "twice",
        ),
    ] {
        let refused = header_params(&schema).unwrap_err();
        assert!(refused.contains(reason), "{schema}: {refused}");
    }
}

#[test]
fn headers_follow_the_arguments() {
    let one = HeaderParam { header: "X".into(), path: vec!["a".into(), "b".into()] };
    for (arguments, expected) in [
        (json!({"a": {"b": "v"}}), Some("v")),
        (json!({"a": {"b": -7}}), Some("-7")),
        (json!({"a": {"b": 42.0}}), Some("42")),
        (json!({"a": {"b": false}}), Some("false")),
        (json!({"a": {"b": null}}), None),
        (json!({"a": {}}), None),
        (json!({"b": "v"}), None),
        (json!({"a": {"b": []}}), None),
        (Value::Null, None),
    ] {
        let header = one.header(&arguments);
        let expected = expected.map(|value| ("Mcp-Param-X".to_owned(), value.to_owned()));
        assert_eq!(header, expected, "{arguments}");
    }
}
