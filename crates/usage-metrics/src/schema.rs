//! The published JSON Schema, generated from the catalogue.

use serde_json::{Map, Value, json};

use crate::catalogue::{
    COUNTER_TYPE, DimensionSpec, Domain, KINDS, Kind, KindSpec, MAX_VERSION_CHARS, RESOURCE,
    SCHEMA_VERSION,
};

const UUID_PATTERN: &str =
    "^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$";
const IDENTIFIER_PATTERN: &str = "^[a-z0-9][a-z0-9._:/@+-]*$";

/// The schema of a package: JSON Schema draft 2020-12, with asserted formats.
pub fn json_schema() -> Value {
    let uuid = json!({ "type": "string", "pattern": UUID_PATTERN });
    let date_time = json!({ "type": "string", "format": "date-time" });
    let mut schema = object([
        ("schema_version", json!({ "const": SCHEMA_VERSION })),
        ("package_id", uuid.clone()),
        ("install_id", uuid),
        ("period_start", date_time.clone()),
        ("period_end", date_time.clone()),
        ("generated_at", date_time),
        ("resource", resource()),
        ("metrics", metrics()),
    ]);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["$id"] = json!(format!("urn:{SCHEMA_VERSION}"));
    schema["title"] = json!("Usage-metrics package, version 2");
    schema
}

fn resource() -> Value {
    let version = json!({ "type": "string", "minLength": 1, "maxLength": MAX_VERSION_CHARS });
    object(
        std::iter::once(("agent_version", version))
            .chain(RESOURCE.iter().map(|field| (field.key, dimension(field)))),
    )
}

fn metrics() -> Value {
    let kinds: Vec<Value> = KINDS.iter().map(entry).collect();
    json!({ "type": "array", "minItems": 1, "items": { "oneOf": kinds } })
}

fn entry(spec: &KindSpec) -> Value {
    let value = match spec.kind {
        Kind::ClientActive => json!({ "const": 1 }),
        _ => json!({ "type": "integer", "minimum": 1 }),
    };
    let mut entry = object([
        ("name", json!({ "const": spec.name })),
        ("type", json!({ "const": COUNTER_TYPE })),
        ("dimensions", object(spec.dimensions.iter().map(|it| (it.key, dimension(it))))),
        ("value", value),
    ]);
    entry["description"] = json!(spec.summary);
    entry
}

fn dimension(spec: &DimensionSpec) -> Value {
    let mut schema = match spec.domain {
        Domain::Listed(texts) => json!({ "enum": texts }),
        Domain::Identifier { max_chars } => json!({
            "type": "string",
            "minLength": 1,
            "maxLength": max_chars,
            "pattern": IDENTIFIER_PATTERN,
        }),
    };
    schema["description"] = json!(spec.summary);
    schema
}

fn object<'a>(properties: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let properties: Map<String, Value> =
        properties.into_iter().map(|(key, schema)| (key.to_owned(), schema)).collect();
    let required: Vec<&String> = properties.keys().collect();
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": properties,
    })
}
