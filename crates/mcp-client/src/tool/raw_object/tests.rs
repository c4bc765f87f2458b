//! Tests of `raw_object`.

use super::*;

#[test]
fn errors_name_the_received_type() {
    for (result, expected) in [
        ("[]", "the result must be an object, found a list"),
        ("\"x\"", "the result must be an object, found a string"),
        ("null", "the result must be an object, found null"),
        ("{}", "the result has no `tools` list; it has no keys"),
        (r#"{"content":[],"x":1}"#, "the result has no `tools` list; it has `content`, `x`"),
        (r#"{"tools":null}"#, "the result has no `tools` list; it has `tools`"),
        (r#"{"tools":{}}"#, "`tools` must be a list, found an object"),
        ("{", "the result is invalid JSON"),
        ("", "the result is invalid JSON"),
    ] {
        let outcome = RawObject::open(result).and_then(|open| open.list("tools").map(drop));
        assert_eq!(outcome.unwrap_err().to_string(), expected, "{result}");
    }
}

#[test]
fn list_items_beyond_the_limit_are_dropped_and_counted() {
    let text = format!("[{}1]", "0,".repeat(MAX_LIST_ITEMS + 4));
    let items = parse_list(&text).unwrap().unwrap();
    assert_eq!((items.items.len(), items.left_out), (MAX_LIST_ITEMS, 5));
}

#[test]
fn lone_surrogates_are_replaced_and_pairs_preserved() {
    for (text, expected) in [
        (r#""a\ud83d""#, "a\u{fffd}"),
        (r#""\ude00b""#, "\u{fffd}b"),
        (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
        (r#""\\ud83d \ud83d""#, "\\ud83d \u{fffd}"),
    ] {
        assert_eq!(parse_lenient(text).unwrap(), expected, "{text}");
    }
    assert!(parse_lenient(r#""\ud8"#).is_err());
    assert!(parse_lenient("\"\\").is_err());
}
