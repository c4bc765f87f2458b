//! The positions of schemas inside a schema.
//!
//! A keyword is only one in a schema: below `properties` the same word is a property name, and
//! values of `default` or `enum` are data.

use serde_json::Value;

use super::Object;

/// Deeper schemas are left unchanged. No decoded schema nests this deep.
const MAX_DEPTH: usize = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeywordValue {
    Schema,
    SchemaMap,
    SchemaList,
    Data,
}

pub(super) fn keyword_value(keyword: &str) -> KeywordValue {
    match keyword {
        "items"
        | "additionalProperties"
        | "additionalItems"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contains"
        | "propertyNames"
        | "not"
        | "if"
        | "then"
        | "else" => KeywordValue::Schema,
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
        | "dependencies" => KeywordValue::SchemaMap,
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => KeywordValue::SchemaList,
        _ => KeywordValue::Data,
    }
}

/// Visits every inner schema, then the given one.
pub(super) fn visit_all(schema: &mut Object, visit: &mut impl FnMut(&mut Object)) {
    below(schema, MAX_DEPTH, visit);
}

fn below(schema: &mut Object, depth: usize, visit: &mut impl FnMut(&mut Object)) {
    if depth == 0 {
        return;
    }
    for (keyword, value) in &mut *schema {
        match (keyword_value(keyword), value) {
            (KeywordValue::Schema, Value::Object(inner)) => below(inner, depth - 1, visit),
            (KeywordValue::SchemaMap, Value::Object(named)) => {
                objects(named.values_mut(), depth - 1, visit);
            }
            // `items` may be a list in older drafts.
            (KeywordValue::SchemaList | KeywordValue::Schema, Value::Array(list)) => {
                objects(list.iter_mut(), depth - 1, visit);
            }
            _ => {}
        }
    }
    visit(schema);
}

fn objects<'a>(
    values: impl Iterator<Item = &'a mut Value>,
    depth: usize,
    visit: &mut impl FnMut(&mut Object),
) {
    values.filter_map(Value::as_object_mut).for_each(|inner| below(inner, depth, visit));
}
