//! Tests of `lenient`.

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn json_comments_and_trailing_commas_are_allowed() {
    for (text, expected) in [
        ("{\"a\": 1, }", json!({"a": 1})),
        ("{// c\n\"a\": [1, 2, /* x, */ ], // end }\n}", json!({"a": [1, 2]})),
        ("/**/{\"a\": \"// no /* comment */ ,]\"}", json!({"a": "// no /* comment */ ,]"})),
        ("{\"a\": \"q\\\"//\", /* ** / */}", json!({"a": "q\"//"})),
        ("[1,/*ä*/2]", json!([1, 2])),
        ("[/*/ 1, */ 2 /***/]", json!([2])),
    ] {
        assert_eq!(parse(text), Ok(expected), "{text}");
    }
}

#[test]
fn syntax_errors_contain_only_their_position() {
    let error = parse("{ // x\n \"a\": s3cret }").unwrap_err();
    assert_eq!(error, ForeignError::NotJson { line: 2, column: 7 });
    assert!(parse("[1,,2]").is_err() && parse("{,}").is_ok_and(|v| v == json!({})));
    assert!(parse("/* open").is_err());
}

proptest! {
    #[test]
    fn stripping_keeps_lengths_and_never_panics(text in "(//|/\\*|\\*/|\"|\\\\|,|\\]|\\}|\n|\\PC){0,30}") {
        prop_assert_eq!(strict(&text).len(), text.len());
    }

    #[test]
    fn strict_json_is_unchanged(text in "\\PC{0,20}") {
        let value = json!({"a": [text, 1], "b": {}});
        prop_assert_eq!(parse(&strict(&value.to_string())), Ok(value));
    }
}
