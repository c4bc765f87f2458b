//! Tests of `model`.

use super::*;

#[test]
fn the_text_of_an_answer_is_found_in_either_form() {
    let text = |content: &str| {
        text_of(format!(r#"{{"choices":[{{"message":{{"content":{content}}}}}]}}"#).as_bytes())
    };
    assert_eq!(text(r#""hi""#), "hi");
    assert_eq!(text(r#"[{"type":"text","text":"h"},{"text":"i"},{"image":1}]"#), "hi");
    assert_eq!((text("null"), text_of(b"{}"), text_of(b"{")), Default::default());
}
