//! Laws and tables of the repair.

use super::*;
use proptest::prelude::*;
use serde_json::json;

/// The repaired schema of a property.
fn property(schema: &Value) -> Value {
    let mut root = json!({"type": "object", "properties": {"p": schema}});
    root["$defs"] = json!({"X": {"type": "string"}});
    repair(&root).schema["properties"]["p"].clone()
}

/// Holds repaired properties against what they should be.
fn properties_become(table: impl IntoIterator<Item = (Value, Value)>) {
    for (given, expected) in table {
        assert_eq!(property(&given), expected, "{given}");
    }
}

#[test]
fn unions_with_null_and_of_constants_collapse() {
    properties_become([
        (json!({"type": ["string", "null"]}), json!({"type": "string", "nullable": true})),
        (json!({"type": ["string"]}), json!({"type": "string"})),
        (json!({"type": ["string", "integer"]}), json!({"type": ["string", "integer"]})),
        (json!({"type": ["null"]}), json!({"type": "null"})),
        (json!({"type": ["null", "null"]}), json!({"type": "null"})),
        (
            json!({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": null, "title": "T"}),
            json!({"type": "integer", "nullable": true, "default": null, "title": "T"}),
        ),
        (
            json!({"oneOf": [{"const": null}, {"$ref": "#/$defs/X"}]}),
            json!({"$ref": "#/$defs/X", "nullable": true}),
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}),
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}], "nullable": true}),
        ),
        (
            json!({"type": ["string", "null"], "enum": ["a", null]}),
            json!({"type": "string", "nullable": true, "enum": ["a"]}),
        ),
        (
            json!({"minLength": 1, "anyOf": [{"type": "string", "minLength": 2}]}),
            json!({"minLength": 1, "anyOf": [{"type": "string", "minLength": 2}]}),
        ),
        (
            json!({"anyOf": [{"const": "a"}, {"const": "b", "type": "string"}]}),
            json!({"type": "string", "enum": ["a", "b"]}),
        ),
        (
            json!({"oneOf": [{"const": 1, "title": "low"}, {"const": 2}], "description": "level"}),
            json!({"type": "integer", "enum": [1, 2], "description": "level (1: low)"}),
        ),
        (
            json!({"anyOf": [{"const": "a"}, {"const": 1}]}),
            json!({"anyOf": [{"const": "a"}, {"const": 1}]}),
        ),
    ]);
}

#[test]
fn objects_and_arrays_are_completed() {
    properties_become([
        (json!({"properties": {}}), json!({"type": "object", "properties": {}})),
        (json!({"type": "object"}), json!({"type": "object", "properties": {}})),
        (
            json!({"type": "object", "properties": {"a": {}}, "required": ["a", "b", "a", 3]}),
            json!({"type": "object", "properties": {"a": {}}, "required": ["a"]}),
        ),
        (
            json!({"type": "object", "properties": {"a": {}}, "required": ["b"]}),
            json!({"type": "object", "properties": {"a": {}}}),
        ),
        (json!({"type": "string", "required": true}), json!({"type": "string"})),
        (
            json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        ),
        (json!({"type": "array"}), json!({"type": "array", "items": {}})),
        (json!({"type": "array", "items": true}), json!({"type": "array", "items": {}})),
        (
            json!({"type": "array", "items": [{"type": "string"}], "additionalItems": {"type": "null"}}),
            json!({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "null"}}),
        ),
    ]);
}

#[test]
fn invalid_schemas_and_dangling_references_are_removed() {
    properties_become([
        (json!(true), json!({})),
        (json!(false), json!({"not": {}})),
        (json!("string"), json!({})),
        (json!({"type": "any"}), json!({})),
        (json!({"type": "STRING"}), json!({"type": "string"})),
        (json!({"type": {}}), json!({})),
        (json!({"enum": []}), json!({})),
        (json!({"anyOf": []}), json!({})),
        (json!({"anyOf": {}}), json!({})),
        (json!({"properties": []}), json!({})),
        (json!({"items": 3, "type": "array"}), json!({"type": "array", "items": {}})),
        (json!({"$ref": "https://example.com/x.json"}), json!({})),
        (json!({"$ref": "other.json#/x", "description": "d"}), json!({"description": "d"})),
        (json!({"$ref": "#/$defs/Missing"}), json!({})),
        (json!({"$ref": "#/$defs/X"}), json!({"$ref": "#/$defs/X"})),
        (json!({"$ref": "#"}), json!({"$ref": "#"})),
        (json!({"$ref": 3}), json!({})),
        (json!({"$ref": "#here", "$anchor": "here"}), json!({"$ref": "#here", "$anchor": "here"})),
        (json!({"$ref": "#nowhere"}), json!({})),
        (
            json!({"x-odd": {"type": "array"}, "default": {"type": "array"}}),
            json!({"x-odd": {"type": "array"}, "default": {"type": "array"}}),
        ),
    ]);
}

#[test]
fn definitions_are_renamed_only_as_a_keyword() {
    let given = json!({
        "type": "object",
        "properties": {
            "definitions": {"type": "string"},
            "a": {"$ref": "#/definitions/A"},
            "b": {"$ref": "#/properties/definitions"},
        },
        "definitions": {"A": {"type": "object", "properties": {"again": {"$ref": "#/definitions/A"}}}},
    });
    let expected = json!({
        "type": "object",
        "properties": {
            "definitions": {"type": "string"},
            "a": {"$ref": "#/$defs/A"},
            "b": {"$ref": "#/properties/definitions"},
        },
        "$defs": {"A": {"type": "object", "properties": {"again": {"$ref": "#/$defs/A"}}}},
    });
    assert_eq!(repair(&given).schema, expected);
}

#[test]
fn different_definitions_with_one_name_remain_separate() {
    let given = json!({
        "type": "object",
        "properties": {"a": {"$ref": "#/definitions/A"}, "b": {"$ref": "#/$defs/A"}},
        "definitions": {"A": {"type": "string"}},
        "$defs": {"A": {"type": "integer"}},
    });
    assert_eq!(repair(&given).schema, given);
}

#[test]
fn the_root_schema_becomes_an_object() {
    for (given, expected) in [
        (json!({}), json!({"type": "object", "properties": {}})),
        (json!(true), json!({"type": "object", "properties": {}})),
        (json!({"type": "string"}), json!({"type": "object", "properties": {}})),
        (
            json!({"type": ["object", "null"]}),
            json!({"type": "object", "properties": {}, "nullable": true}),
        ),
        (json!({"enum": [{}], "not": {}}), json!({"type": "object", "properties": {}})),
        (
            json!({"$ref": "#/definitions/In", "definitions": {"In": {"type": "object",
                "properties": {"a": {"type": "string"}}, "required": ["a"]}}}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
                "$defs": {"In": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}}}),
        ),
        (
            json!({"allOf": [
                {"properties": {"a": {"type": "string"}}, "required": ["a"]},
                {"properties": {"b": {"type": "string"}}, "required": ["b"]}]}),
            json!({"type": "object", "required": ["a", "b"],
                "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}),
        ),
        (
            json!({"oneOf": [
                {"properties": {"kind": {"const": "x"}, "x": {"type": "string"}}, "required": ["kind", "x"]},
                {"properties": {"kind": {"const": "y"}, "y": {"type": "string"}}, "required": ["kind", "y"]},
                {"type": "string"}]}),
            json!({"type": "object", "required": ["kind"], "properties": {
                "kind": {"type": "string", "enum": ["x", "y"]},
                "x": {"type": "string"}, "y": {"type": "string"}}}),
        ),
    ] {
        assert_eq!(repair(&given).schema, expected, "{given}");
    }
}

#[test]
fn recursive_root_schemas_terminate() {
    for given in [
        json!({"$ref": "#"}),
        json!({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}),
        json!({"allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A"}],
            "$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A"}]}}}),
    ] {
        let once = repair(&given);
        assert_eq!(once.schema["type"], "object");
        assert!(
            !["$ref", "allOf"].iter().any(|key| once.schema.get(key).is_some()),
            "{}",
            once.schema
        );
        assert_eq!(
            repair(&once.schema),
            RepairedSchema { schema: once.schema.clone(), notes: vec![] }
        );
    }
}

#[test]
fn an_ordinary_schema_is_not_copied() {
    let schema = Arc::new(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "where", "minLength": 1},
            "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
            "filter": {"$ref": "#/$defs/Filter"},
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        },
        "required": ["path"],
        "additionalProperties": false,
        "$defs": {"Filter": {"type": "object", "properties": {}}},
    }));
    let offer = ModelSchema::of(&schema);
    assert!(Arc::ptr_eq(&schema, &offer.schema));
    assert!(offer.notes.is_empty());
}

#[test]
fn notes_are_unique_and_limited() {
    let many: Map<String, Value> =
        (0..30).map(|at| (format!("p{at}"), json!({"type": "array"}))).collect();
    let repaired = repair(&json!({"type": "object", "properties": many}));
    assert_eq!(repaired.notes, ["added the missing `items` of an array"]);
    let odd = json!({
        "properties": {"a": true, "b": {"type": "array"}, "c": {"type": "any"}, "d": {"enum": []},
            "e": {"anyOf": []}, "f": {"oneOf": []}, "g": {"allOf": []}, "h": {"$ref": "x"},
            "i": {"type": "object"}, "j": {"required": 1}, "k": {"not": 3}, "l": {"if": 3}},
    });
    let notes = repair(&odd).notes;
    assert_eq!(notes.len(), MAX_NOTES + 1);
    assert!(notes[MAX_NOTES].ends_with("more changes"), "{notes:?}");
}

#[test]
fn root_alternatives_beyond_the_limit_are_omitted_with_a_note() {
    let branches: Vec<Value> =
        (0..70).map(|at| json!({"properties": {format!("p{at}"): {"type": "string"}}})).collect();
    let repaired = repair(&json!({"anyOf": branches}));
    assert_eq!(repaired.schema["properties"].as_object().map(Map::len), Some(64));
    assert!(
        repaired.notes.iter().any(|note| note.contains("more than 64")),
        "{:?}",
        repaired.notes
    );
}

#[test]
fn the_largest_schemas_are_repaired_quickly() {
    let constants: Vec<Value> = (0..17_000).map(|at| json!({"const": at})).collect();
    let names: Vec<String> = (0..17_000).map(|at| format!("p{at}")).collect();
    let properties: Map<String, Value> =
        names.iter().map(|name| (name.clone(), json!({}))).collect();
    let started = std::time::Instant::now();
    let many = json!({"type": "object", "properties": {"p": {"oneOf": constants}}});
    assert_eq!(
        repair(&many).schema["properties"]["p"]["enum"].as_array().map(Vec::len),
        Some(17_000)
    );
    let required = json!({"type": "object", "properties": properties, "required": names});
    assert_eq!(repair(&required), RepairedSchema { schema: required.clone(), notes: vec![] });
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}

/// Schemas as they might come, sense and nonsense mixed.
fn any_schema() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "string", "object", "array", "null", "integer", "any", "#", "#/$defs/a", "#/definitions/b",
        "#/properties/a", "#/anyOf/0", "https://x/y", "a", "b",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3).prop_map(Value::from),
        word.clone().prop_map(Value::from),
        prop::collection::vec(word, 0..3).prop_map(Value::from),
        Just(json!({})),
        Just(json!({"type": "null"})),
        Just(json!({"const": "a"})),
    ];
    let keyword = prop::sample::select(vec![
        "type", "properties", "required", "items", "anyOf", "oneOf", "allOf", "$ref", "$defs",
        "definitions", "enum", "const", "additionalProperties", "not", "description", "nullable",
        "prefixItems", "dependencies", "a", "b",
    ]);
    leaf.prop_recursive(5, 48, 5, move |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            4 => prop::collection::btree_map(keyword.clone().prop_map(str::to_owned), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Whether every object in the schema is one that strict APIs take.
fn fit(schema: &Value) -> bool {
    let Value::Object(node) = schema else { return true };
    let object = node.get("type").is_none_or(|kind| kind != "object")
        || node.get("properties").is_some_and(Value::is_object);
    object
        && node.iter().all(|(keyword, value)| match (walk::keyword_value(keyword), value) {
            (walk::KeywordValue::Schema, inner) => fit(inner),
            (walk::KeywordValue::SchemaMap, Value::Object(named)) => named.values().all(fit),
            (walk::KeywordValue::SchemaList, Value::Array(list)) => list.iter().all(fit),
            (walk::KeywordValue::Data, _) => true,
            _ => false,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn schema_repair_is_idempotent_and_results_in_an_object(schema in any_schema()) {
        let once = repair(&schema);
        prop_assert_eq!(&once.schema["type"], "object");
        prop_assert!(once.schema["properties"].is_object());
        prop_assert!(fit(&once.schema), "{}", once.schema);
        for keyword in ["$ref", "anyOf", "oneOf", "allOf", "definitions"] {
            let left = once.schema.get(keyword);
            prop_assert!(left.is_none() || keyword == "definitions", "{} {}", keyword, once.schema);
        }
        let twice = repair(&once.schema);
        prop_assert_eq!(&twice.schema, &once.schema);
        prop_assert!(twice.notes.is_empty(), "{:?}", twice.notes);
    }
}

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
    let estimate = |name: &str, description: &str| {
        estimate_tokens(name.len() + description.len() + compact_bytes(&json!({})))
    };
    assert_eq!(estimate("", ""), 13);
    assert_eq!(estimate("abcd", "efgh"), 15);
    assert_eq!(estimate("abcd", "efghi"), 15);
    assert_eq!(estimate("abcd", "efghijk"), 16);
}
