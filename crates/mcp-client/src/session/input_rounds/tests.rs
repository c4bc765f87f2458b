//! Tests of `input_rounds`.

use super::*;

#[test]
fn only_results_without_input_requests_are_plainly_complete() {
    for (answer, expected) in [
        (r#"{"content":[]}"#, true),
        (r#"{"resultType":"complete","content":[]}"#, true),
        (r#"{"content":[],"structuredContent":{"resultType":"complete"}}"#, true),
        (r#"{"content":["\"resultType\":\"x\""],"resultType":"complete"}"#, true),
        (r#"{"resultType":"input_required"}"#, false),
        (r#"{"resultType":"completely"}"#, false),
        (r#"{"resultType": "complete"}"#, false),
        (r#"{"_meta":{"resultType":"complete"},"resultType":"input_required"}"#, false),
    ] {
        assert_eq!(is_plainly_complete(answer), expected, "{answer}");
    }
}
