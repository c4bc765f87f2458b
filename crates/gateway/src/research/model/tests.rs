//! Tests of `model`.

use super::*;

#[test]
fn answer_text_is_read_as_string_or_parts() {
    let text = |content: &str| {
        text_of(format!(r#"{{"choices":[{{"message":{{"content":{content}}}}}]}}"#).as_bytes())
    };
    assert_eq!(text(r#""hi""#), "hi");
    assert_eq!(text(r#"[{"type":"text","text":"h"},{"text":"i"},{"image":1}]"#), "hi");
    assert_eq!((text("null"), text_of(b"{}"), text_of(b"{")), Default::default());
}
