//! Where schemas stand inside a schema.
//!
//! A keyword is one only in a schema: the same word below `properties` is the name of a property,
//! and what stands below `default` or `enum` is data.

use serde_json::{Map, Value};

/// Deeper schemas are left as they are. Nothing read from a server nests this deep.
const MAX_DEPTH: usize = 128;

/// What a keyword holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// One schema.
    Schema,
    /// Schemas by name.
    Named,
    /// A list of schemas.
    Listed,
    /// Anything else.
    Data,
}

pub(super) fn holds(keyword: &str) -> Holds {
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
        | "else" => Holds::Schema,
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
        | "dependencies" => Holds::Named,
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => Holds::Listed,
        _ => Holds::Data,
    }
}

/// Visits every schema below and at last the one given.
pub(super) fn each(
    schema: &mut Map<String, Value>,
    visit: &mut impl FnMut(&mut Map<String, Value>),
) {
    below(schema, MAX_DEPTH, visit);
}

fn below(
    schema: &mut Map<String, Value>,
    depth: usize,
    visit: &mut impl FnMut(&mut Map<String, Value>),
) {
    if depth == 0 {
        return;
    }
    for (keyword, value) in &mut *schema {
        match (holds(keyword), value) {
            (Holds::Schema, Value::Object(inner)) => below(inner, depth - 1, visit),
            (Holds::Named, Value::Object(named)) => {
                objects(named.values_mut(), depth - 1, visit);
            }
            // `items` may be a list in older drafts.
            (Holds::Listed | Holds::Schema, Value::Array(list)) => {
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
    visit: &mut impl FnMut(&mut Map<String, Value>),
) {
    for value in values {
        if let Value::Object(inner) = value {
            below(inner, depth, visit);
        }
    }
}
