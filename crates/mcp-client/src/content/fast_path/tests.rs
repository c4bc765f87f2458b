//! Tests of `fast_path`.

use super::*;
use crate::content::lenient_outcome;

#[test]
fn ordinary_results_match_the_lenient_reader() {
    for result in [
        "{}",
        r#"{"content":[]}"#,
        r#"{"content":[{"type":"text","text":"a\u00e9\n"},{"text":"b","type":"text"}]}"#,
        r#"{"resultType":"complete","content":[],"isError":true,"other":[{}]}"#,
        r#"{"resultType":null,"content":[],"structuredContent":null,"_meta":null}"#,
        r#"{"content":[{"type":"text","text":"a","annotations":{"x":1}}],
                "structuredContent":{"a":[1.5]},"_meta":{"a/b":1,"io.mcp/x":2}}"#,
    ] {
        let outcome = outcome(result).unwrap_or_else(|| panic!("{result}"));
        assert_eq!(outcome, lenient_outcome(result).unwrap(), "{result}");
    }
}

#[test]
fn unusual_results_fall_back_to_the_lenient_reader() {
    let long = format!(r#"{{"content":[{}]}}"#, r#"{"type":"text","text":""},"#.repeat(10_001));
    let long = long.replace(",]", "]");
    for result in [
        "[null,[],null,false,null]",
        r#"{"content":null}"#,
        r#"{"content":"a"}"#,
        r#"{"content":[["text","a"]]}"#,
        r#"{"content":[{"type":"image","data":"","mimeType":"a/b"}]}"#,
        r#"{"content":[{"type":"text","text":1}]}"#,
        r#"{"content":[{"text":"no type"}]}"#,
        r#"{"content":[{"type":"text","text":"\ud83d"}]}"#,
        r#"{"content":[],"content":[]}"#,
        r#"{"content":[],"isError":"true"}"#,
        r#"{"resultType":"input_required"}"#,
        long.as_str(),
    ] {
        assert!(outcome(result).is_none(), "{result}");
    }
}
