//! Tests of `arguments`.

use super::*;
use serde_json::json;

#[test]
fn only_json_objects_are_accepted_as_arguments() {
    assert_eq!(parse("{}").unwrap(), json!({}));
    for wrong in ["", "null", "[]", "\"x\"", "1", "{\"a\":}"] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
}
