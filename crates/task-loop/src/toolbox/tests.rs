//! Tests of `toolbox`.

use super::*;

#[test]
fn tool_arguments_are_an_object_or_empty() {
    assert_eq!(arguments("").unwrap(), json!({}));
    assert_eq!(arguments("{\"a\": 1}").unwrap(), json!({"a": 1}));
    for (bad, says) in [("[1]", "object"), ("{\"a\"", "invalid JSON"), ("7", "object")] {
        assert!(arguments(bad).unwrap_err().contains(says), "{bad}");
    }
    let long = format!("{{\"a\": \"{}\"}}", "x".repeat(MAX_ARGUMENT_BYTES));
    assert!(arguments(&long).unwrap_err().contains("the limit is"));
}
