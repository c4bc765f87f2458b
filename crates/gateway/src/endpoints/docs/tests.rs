//! Tests of `docs`.

use super::*;

#[test]
fn prose_is_escaped_and_code_is_marked() {
    assert_eq!(prose("a <b> `c & d` e"), "a &lt;b&gt; <code>c &amp; d</code> e");
}

#[test]
fn recursive_fields_are_limited_in_depth() {
    let document = serde_json::json!({
        "loop": { "properties": { "again": { "$ref": "#/loop" } } },
    });
    let mut rows = Vec::new();
    describe_fields(&document, &document["loop"], 0, &mut rows);
    assert_eq!(rows.len(), MAX_DEPTH);
}
