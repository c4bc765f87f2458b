//! Tests of `form`.

use super::*;

#[test]
fn form_input_is_converted_to_the_schema_type() {
    let cases = [
        ("7", json!({"type": "integer"}), json!(7)),
        ("1.5", json!({"type": "number", "minimum": 1}), json!(1.5)),
        ("Yes", json!({"type": "boolean"}), json!(true)),
        ("red", json!({"enum": ["red", "blue"]}), json!("red")),
        ("Red one", json!({"enum": ["r"], "enumNames": ["Red one"]}), json!("r")),
        ("B", json!({"oneOf": [{"const": "b", "title": "B"}]}), json!("b")),
        ("a, b", json!({"type": "array", "items": {"enum": ["a", "b"]}}), json!(["a", "b"])),
        ("2026-02-28", json!({"type": "string", "format": "date"}), json!("2026-02-28")),
        ("x@y.z", json!({"type": "string", "format": "email"}), json!("x@y.z")),
    ];
    for (typed, schema, value) in cases {
        assert_eq!(read(typed, &schema), Ok(value), "{typed}");
    }
}

#[test]
fn invalid_form_input_is_rejected_with_the_expected_type() {
    let cases = [
        ("x", json!({"type": "integer"}), "a whole number"),
        ("0", json!({"type": "integer", "minimum": 1}), "at least 1"),
        ("green", json!({"enum": ["red", "blue"]}), "one of red, blue"),
        ("maybe", json!({"type": "boolean"}), "yes or no"),
        ("2026-02-30", json!({"type": "string", "format": "date"}), "in the format `date`"),
        ("ab", json!({"type": "string", "minLength": 3}), "at least 3 characters long"),
        ("NaN", json!({"type": "number"}), "a number"),
    ];
    for (typed, schema, wanted) in cases {
        assert_eq!(read(typed, &schema), Err(wanted.to_owned()), "{typed}");
    }
}
