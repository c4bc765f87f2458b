//! Tests of `tools`.

use super::*;

#[test]
fn every_schema_is_an_object_in_one_piece() {
    for tool in ALL {
        for schema in [(tool.takes)(), (tool.gives)()] {
            assert_eq!(schema["type"], "object", "{}", tool.name);
            assert!(!schema.to_string().contains("$ref"), "{}", tool.name);
            assert!(jsonschema::draft202012::meta::is_valid(&schema), "{}", tool.name);
        }
        assert!(tool.described().annotations.is_some());
    }
}
