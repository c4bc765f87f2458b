//! The published JSON Schema, as an editor uses it. All files that other tests read successfully
//! are validated too.

use std::sync::LazyLock;

use agent_test_support::json_schema::JsonSchema;
use serde_json::{Value as Json, json};

use super::*;

static SCHEMA: LazyLock<JsonSchema> =
    LazyLock::new(|| JsonSchema::of(&schema().published("gateway.yaml")));

/// The paths of all errors that the validator reports for a file.
pub(super) fn faults(yaml: &str) -> Vec<String> {
    let file = settings::Node::from_yaml(yaml).unwrap_or_else(|problem| panic!("{problem}"));
    SCHEMA.faults(&file.to_json())
}

#[test]
fn the_example_is_valid() {
    assert_eq!(faults(example()), Vec::<String>::new());
}

#[test]
fn the_schema_accepts_every_form_of_the_reader() {
    for text in [
        "limits: {max_connections: '${MANY}', header_timeout: 1.5, parser_workers: ~}",
        "database: sqlite:x.db",
        "database: {url: 'postgres://h', pool_size: 3}",
        "on_client_gone: ${WORD}",
        "fetch: {robots: off, allow_private: wiki.internal, ports: [80, '443']}",
        "providers: {p: {kind: openai, timeout: 40, health: false, models: {a: , b: {max_n: 1}}}}",
        "providers: {p: {kind: openai, timeout: {idle: 3}, health: {failures: 2}, models: [m]}}",
        "models: {a: x/y, b: [x/y], c: {targets: [{model: x/y, weight: 2}]}, d: {targets: x/y}}",
        "prices: {default_micros: {chat: 5}, models: {'x/*': 0}}",
    ] {
        assert_eq!(faults(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn reader_and_schema_reject_the_same_mistakes() {
    for (text, path) in [
        ("limits: {max_connections: 0}", "/limits/max_connections"),
        ("limits: {max_connections: many}", "/limits/max_connections"),
        ("limits: {max_conections: 5}", "/limits"),
        ("databse: sqlite:x.db", ""),
        ("log: {level: loud}", "/log/level"),
        ("log: {requests: perhaps}", "/log/requests"),
        ("providers: {p: {kind: grpc}}", "/providers/p/kind"),
        ("providers: [p]", "/providers"),
    ] {
        assert_eq!(faults(text), [path], "{text}");
        assert!(reading(text).config.is_none(), "{text}");
    }
}

#[test]
fn every_key_is_described() {
    let schema = schema().published("gateway.yaml");
    let limits = &schema["properties"]["limits"];
    assert_eq!(limits["properties"]["max_connections"]["default"], json!(10_000));
    let described = |key: &Json| key["description"].as_str().is_some_and(|text| !text.is_empty());
    for (name, key) in limits["properties"].as_object().into_iter().flatten() {
        assert!(described(key), "{name}");
    }
    assert!(!schema.to_string().contains("\"x-"), "keywords of our own are not published");
}
