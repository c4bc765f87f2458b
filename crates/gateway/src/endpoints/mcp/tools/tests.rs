//! Tests of `tools`.

use agent_test_support::json_schema::JsonSchema;
use serde_json::json;
use wire::research;
use wire::search::{MAX_QUERY_CHARS, MAX_RESULTS};

use super::*;

#[test]
fn every_schema_is_a_self_contained_object() {
    assert_eq!(DESCRIBED.len(), ALL.len());
    for tool in &ALL {
        let described = tool.described();
        for schema in [described.input_schema, described.output_schema.unwrap()] {
            let schema = Value::Object((*schema).clone());
            assert_eq!(schema["type"], "object", "{}", tool.name);
            assert!(!schema.to_string().contains("$ref"), "{}", tool.name);
            JsonSchema::of(&schema);
        }
        assert!(described.annotations.is_some());
    }
}

#[test]
fn bounds_of_arguments_are_those_that_calls_check() {
    for (tool, path, value) in [
        ("list_models", "limit/maximum", json!(MAX_MODELS)),
        ("list_models", "limit/default", json!(MODELS)),
        ("web_search", "query/maxLength", json!(MAX_QUERY_CHARS)),
        ("web_search", "max_results/maximum", json!(MAX_RESULTS)),
        ("web_fetch", "max_chars/maximum", json!(MAX_CHARS)),
        ("web_fetch", "max_chars/default", json!(PAGE_CHARS)),
        ("start_research", "query/maxLength", json!(research::MAX_QUERY_CHARS)),
        ("start_research", "max_sources/maximum", json!(research::MAX_SOURCES)),
        ("get_research", "wait_s/maximum", json!(MAX_WAIT)),
    ] {
        let schema = find(tool).unwrap().described().input_schema;
        let found = schema["properties"].pointer(&format!("/{path}"));
        assert_eq!(found, Some(&value), "{tool}: {path}");
    }
}
