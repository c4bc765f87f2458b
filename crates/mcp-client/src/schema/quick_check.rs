//! A quick check that spares most schemas the repair and a copy.

use serde_json::Value;

use super::Object;
use super::reference::target;
use super::walk::{KeywordValue, keyword_value};

/// Deeper schemas are repaired.
const MAX_DEPTH: usize = 32;
/// Schemas with more required names, which are compared pairwise here, are repaired.
const MAX_REQUIRED: usize = 64;

/// Whether a schema certainly needs no repair. Only common keywords are recognized; any other
/// schema is repaired, possibly without a change.
pub(super) fn needs_no_repair(schema: &Value) -> bool {
    schema.as_object().is_some_and(root_needs_no_repair)
}

pub(super) fn root_needs_no_repair(root: &Object) -> bool {
    root.get("type").is_some_and(|kind| kind == "object")
        && !["$ref", "anyOf", "oneOf", "allOf", "enum", "const", "not"]
            .iter()
            .any(|keyword| root.contains_key(*keyword))
        && node(root, root, MAX_DEPTH)
}

fn node(schema: &Object, root: &Object, depth: usize) -> bool {
    if depth == 0 {
        return false;
    }
    let inner =
        |value: &Value| value.as_object().is_some_and(|schema| node(schema, root, depth - 1));
    let mut kind = None;
    for (keyword, value) in schema {
        let fine = match keyword.as_str() {
            "type" => {
                kind = value.as_str();
                matches!(
                    kind,
                    Some("string" | "number" | "integer" | "boolean" | "object" | "array" | "null")
                )
            }
            "properties" | "$defs" => {
                value.as_object().is_some_and(|named| named.values().all(inner))
            }
            "items" => inner(value),
            "additionalProperties" => value.is_boolean() || inner(value),
            "enum" => value.as_array().is_some_and(|values| !values.is_empty()),
            "required" => required(value, schema),
            "$ref" => value
                .as_str()
                .is_some_and(|pointer| target(root, pointer).is_some_and(Value::is_object)),
            "anyOf" | "oneOf" => value.as_array().is_some_and(|branches| {
                branches.len() > 1
                    && branches.iter().all(|branch| {
                        inner(branch)
                            && branch.get("const").is_none()
                            && branch.get("enum").is_none()
                            && branch.get("type").is_none_or(|kind| kind != "null")
                    })
            }),
            "allOf" => value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(inner)),
            "$dynamicRef" | "$recursiveRef" => false,
            other => keyword_value(other) == KeywordValue::Data,
        };
        if !fine {
            return false;
        }
    }
    match kind {
        Some("object") => schema.contains_key("properties"),
        Some("array") => schema.contains_key("items"),
        Some(_) => true,
        None => !schema.contains_key("properties"),
    }
}

fn required(value: &Value, schema: &Object) -> bool {
    let (Value::Array(names), Some(Value::Object(properties))) = (value, schema.get("properties"))
    else {
        return false;
    };
    names.len() <= MAX_REQUIRED
        && names.iter().enumerate().all(|(at, name)| {
            name.as_str().is_some_and(|text| properties.contains_key(text))
                && !names[..at].contains(name)
        })
}
