//! Tests of `text`.

use super::*;

#[test]
fn resolved_references_are_not_shown() {
    let text = Text::resolved("Bearer ${TOKEN}", "Bearer s3cret");
    assert_eq!(text.shown(), "Bearer ${TOKEN}");
    assert_eq!(format!("{text:?}"), "\"Bearer ${TOKEN}\"");
    assert_eq!(text.value(), "Bearer s3cret");
}

#[test]
fn masked_literals_are_used_but_not_shown() {
    let text = Text::literal("Bearer s3cret").masked("Bearer [hidden]");
    assert_eq!(format!("{text:?}"), "\"Bearer [hidden]\"");
    assert_eq!((text.value(), text.written()), ("Bearer s3cret", "Bearer s3cret"));
    let text = text.with_value("other");
    assert_eq!((text.shown(), text.value()), ("Bearer [hidden]", "other"));
}
