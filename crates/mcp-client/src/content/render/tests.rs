//! Tests of `render`.

use super::*;
use serde_json::json;

fn outcome(blocks: Vec<ContentBlock>, structured: Option<Value>) -> ToolOutcome {
    ToolOutcome { blocks, structured, ..ToolOutcome::default() }
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text(text.to_owned())
}

#[test]
fn structured_content_is_added_unless_already_in_the_text() {
    let value = json!({"a": 1, "b": [true]});
    for (blocks, structured, expected) in [
        (vec![text("one"), text("two")], None, "one\ntwo"),
        (vec![], Some(value.clone()), r#"{"a":1,"b":[true]}"#),
        (vec![text("hi")], Some(value.clone()), "hi\n{\"a\":1,\"b\":[true]}"),
        (vec![text("{\"b\": [true],\n \"a\": 1}")], Some(value), "{\"b\": [true],\n \"a\": 1}"),
        (vec![text("plain")], Some(json!({"result": "plain"})), "plain"),
        (vec![text("[1,2]")], Some(json!({"result": [1, 2]})), "[1,2]"),
        (vec![text("plain")], Some(json!("plain")), "plain"),
        (vec![text("x")], Some(Value::Null), "x"),
        (vec![], Some(Value::Null), "null"),
        (vec![], None, ""),
    ] {
        assert_eq!(render(&outcome(blocks, structured)).text, expected);
    }
}

#[test]
fn structured_content_that_matches_its_schema_replaces_the_text() {
    let image = ContentBlock::Image { mime: "image/png".into(), base64: "aGk=".into() };
    let line = "[image, image/png, 2 bytes, attachment 1]\n";
    for (said, structured, expected) in [
        ("warm", json!({"celsius": 21.5}), format!("{line}{{\"celsius\":21.5}}")),
        ("{\n  \"a\": 1\n}", json!({"a": 1}), format!("{line}{{\"a\":1}}")),
        ("two\nlines", json!({"result": "two\nlines"}), format!("two\nlines\n{}", line.trim_end())),
    ] {
        let outcome = outcome(vec![text(said), image.clone()], Some(structured));
        assert_eq!(render(&ToolOutcome { is_valid: true, ..outcome }).text, expected);
    }
}

#[test]
fn binary_content_becomes_attachments_with_a_line_each() {
    let image = ContentBlock::Image { mime: "image/png".into(), base64: "aGk=".into() };
    let blob =
        ContentBlock::EmbeddedBlob { uri: "x://y".into(), mime: None, base64: "JVBERi0x".into() };
    let bad = ContentBlock::Audio { mime: "audio/wav".into(), base64: "?".into() };
    let rendered = render(&outcome(vec![text("see"), image, blob, bad], None));
    assert_eq!(
        rendered.text,
        "see\n[image, image/png, 2 bytes, attachment 1]\n[resource x://y, application/pdf, 6 \
         bytes, attachment 2]\n[audio, audio/wav, omitted: invalid base64]"
    );
    assert_eq!(
        rendered.attachments[0],
        Attachment { mime: "image/png".into(), bytes: b"hi".into() }
    );
    assert_eq!(rendered.attachments.len(), 2);
}

#[test]
fn attachments_are_limited() {
    let image = ContentBlock::Image { mime: "image/png".into(), base64: "aGk=".into() };
    let rendered = render(&outcome(vec![image; MAX_ATTACHMENTS + 2], None));
    assert_eq!(rendered.attachments.len(), MAX_ATTACHMENTS);
    assert_eq!(rendered.text.matches("omitted").count(), 2);
}

#[test]
fn an_oversized_blob_is_replaced_by_a_note() {
    let base64 = "A".repeat(MAX_BLOB_BYTES / 3 * 4 + 8);
    let rendered =
        render(&outcome(vec![ContentBlock::Image { mime: "image/png".into(), base64 }], None));
    assert!(rendered.attachments.is_empty());
    assert!(rendered.text.contains("omitted: about"), "{}", rendered.text);
}

#[test]
fn attachment_bytes_are_not_repeated_in_structured_content() {
    let base64 = "QUJD".repeat(30);
    let structured = json!({"image": base64, "name": "x"});
    let image = ContentBlock::Image { mime: "image/png".into(), base64 };
    let rendered = render(&outcome(vec![image], Some(structured)));
    assert!(rendered.text.ends_with(r#"{"image":"[same bytes as above]","name":"x"}"#));
}

#[test]
fn links_resources_and_notes_are_rendered() {
    let link = ContentBlock::Link {
        uri: "file:///a".into(),
        name: "a".into(),
        description: Some("the a".into()),
        mime: Some("text/plain".into()),
    };
    let embedded = ContentBlock::EmbeddedText {
        uri: "x://t".into(),
        mime: None,
        text: "in\u{E0041}side".into(),
    };
    let rendered = render(&outcome(vec![link, embedded, ContentBlock::Note("odd".into())], None));
    assert_eq!(
        rendered.text,
        "[link to resource a at file:///a, text/plain: the a; use the read_resource tool of this \
         server to read it]\n[resource x://t]\ninside\n[odd]"
    );
}

#[test]
fn a_long_text_keeps_head_and_tail_with_a_note() {
    let short = "é".repeat(MAX_TEXT_CHARS);
    assert_eq!(render(&outcome(vec![text(&short)], None)).whole, None);
    let long = format!("{}{}", "a".repeat(1_500_000), "é".repeat(1_500_000));
    let rendered = render(&outcome(vec![text(&long)], None));
    assert_eq!(rendered.whole.as_deref(), Some(long.as_str()));
    let count = rendered.text.chars().count();
    assert!((MAX_TEXT_CHARS - CUT_LINE_CHARS..=MAX_TEXT_CHARS).contains(&count), "{count}");
    assert!(rendered.text.contains("1000200 of 3000000 characters omitted here"));
    let (head, tail) = rendered.text.split_once("\n[truncated").unwrap();
    assert_eq!(head.len(), 799_920);
    assert!(tail.ends_with('é'));
}
