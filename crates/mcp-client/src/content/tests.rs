//! Results as servers really give them.

use super::*;
use crate::tool::any_json;
use proptest::prelude::*;
use serde_json::json;

fn outcome(result: &Value) -> ToolOutcome {
    tool_outcome(&result.to_string()).unwrap()
}

fn only(block: &Value) -> ContentBlock {
    let mut blocks = outcome(&json!({"content": [block]})).blocks;
    assert_eq!(blocks.len(), 1);
    blocks.remove(0)
}

#[test]
fn unusual_results_are_accepted() {
    assert_eq!(outcome(&json!({})), ToolOutcome::default());
    assert_eq!(outcome(&json!({"structuredContent": [1]})).structured, Some(json!([1])));
    assert_eq!(outcome(&json!({"structuredContent": null})).structured, Some(Value::Null));
    let with_strange_keys =
        json!({"content": [{"type": "text", "text": "x"}], "tools": [], "messages": 3});
    assert_eq!(outcome(&with_strange_keys).blocks, [ContentBlock::Text("x".into())]);
    assert_eq!(outcome(&json!({"content": "x"})).blocks, [ContentBlock::Text("x".into())]);
    assert_eq!(
        outcome(&json!({"content": {"type": "text", "text": "x"}})).blocks,
        [ContentBlock::Text("x".into())]
    );
    assert!(outcome(&json!({"isError": true})).is_error);
    assert!(outcome(&json!({"isError": "True"})).is_error);
    assert!(!outcome(&json!({"isError": 1})).is_error);
}

#[test]
fn incomplete_and_non_object_results_are_errors() {
    for (result, expected) in [
        (r#"{"resultType":"input_required"}"#, "not a complete result"),
        ("[]", "found a list"),
        ("null", "found null"),
    ] {
        let error = tool_outcome(result).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert!(tool_outcome(r#"{"resultType":"complete"}"#).is_ok());
}

#[test]
fn every_kind_of_block_is_parsed() {
    let png = "iVBORw0KGgo=";
    for (given, expected) in [
        (json!({"type": "text", "text": "a", "annotations": 7}), ContentBlock::Text("a".into())),
        (json!({"text": "a"}), ContentBlock::Text("a".into())),
        (json!("a"), ContentBlock::Text("a".into())),
        (
            json!({"type": "image", "data": png}),
            ContentBlock::Image { mime: "image/png".into(), base64: png.into() },
        ),
        (
            json!({"type": "image", "data": format!("data:image/gif;base64,{png}")}),
            ContentBlock::Image { mime: "image/gif".into(), base64: png.into() },
        ),
        (
            json!({"type": "audio", "data": "AA==", "mimeType": ""}),
            ContentBlock::Audio { mime: "application/octet-stream".into(), base64: "AA==".into() },
        ),
        (
            json!({"type": "resource", "resource": {"uri": "u", "text": "t", "mimeType": "m"}}),
            ContentBlock::EmbeddedText {
                uri: "u".into(),
                mime: Some("m".into()),
                text: "t".into(),
            },
        ),
        (
            json!({"type": "resource", "resource": {"uri": "u", "blob": "AA=="}}),
            ContentBlock::EmbeddedBlob { uri: "u".into(), mime: None, base64: "AA==".into() },
        ),
        (
            json!({"type": "resource_link", "uri": "u"}),
            ContentBlock::Link { uri: "u".into(), name: "u".into(), description: None, mime: None },
        ),
    ] {
        assert_eq!(only(&given), expected, "{given}");
    }
}

#[test]
fn an_invalid_block_becomes_a_note_and_the_others_are_kept() {
    for (bad, part) in [
        (json!({"type": "text"}), "`text`"),
        (json!({"type": "text", "text": 3}), "`text`"),
        (json!({"type": "image"}), "`data`"),
        (json!({"type": "resource"}), "`resource`"),
        (json!({"type": "resource", "resource": {"uri": "u"}}), "neither text nor blob"),
        (json!({"type": "resource_link"}), "`uri`"),
        (json!({"type": "hologram", "depth": 1}), "unknown type `hologram` with `depth`"),
        (json!({}), "without a type with nothing"),
        (json!(7), "a number"),
        (Value::Null, "null"),
    ] {
        let good = json!({"type": "text", "text": "good"});
        let blocks = outcome(&json!({"content": [good, bad, good]})).blocks;
        assert_eq!(
            (&blocks[0], &blocks[2]),
            (&ContentBlock::Text("good".into()), &ContentBlock::Text("good".into()))
        );
        let ContentBlock::Note(note) = &blocks[1] else { panic!("{bad}: {:?}", blocks[1]) };
        assert!(note.contains(part), "{bad}: {note}");
    }
}

#[test]
fn lone_surrogates_in_text_are_replaced() {
    let blocks =
        tool_outcome(r#"{"content":[{"type":"text","text":"cut \ud83d"}]}"#).unwrap().blocks;
    assert_eq!(blocks, [ContentBlock::Text("cut \u{fffd}".into())]);
}

#[test]
fn too_deep_structured_content_becomes_a_note() {
    let nested = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    let outcome = tool_outcome(&format!(r#"{{"structuredContent":{nested}}}"#)).unwrap();
    assert_eq!(outcome.structured, None);
    assert!(
        matches!(&outcome.blocks[..], [ContentBlock::Note(note)] if note.contains("structured"))
    );
}

#[test]
fn blocks_beyond_the_limit_are_counted() {
    let list = vec![json!("x"); MAX_LIST_ITEMS + 3];
    let blocks = outcome(&json!({"content": list})).blocks;
    assert_eq!(blocks.len(), MAX_LIST_ITEMS + 1);
    assert!(
        matches!(blocks.last(), Some(ContentBlock::Note(note)) if note.starts_with("3 blocks"))
    );
}

#[test]
fn reserved_meta_keys_are_dropped() {
    let meta = json!({
        "io.modelcontextprotocol/serverInfo": 1, "modelcontextprotocol.io/x": 1, "mcp.dev/x": 1,
        "tools.mcp.com/x": 1, "dev.mcp/x": 1, "com.example/x": 2, "plain": 3, "mcp/x": 4,
    });
    let kept = outcome(&json!({"_meta": meta})).meta;
    assert_eq!(kept, Some(json!({"com.example/x": 2, "plain": 3, "mcp/x": 4})));
    assert_eq!(outcome(&json!({"_meta": {"dev.mcp/x": 1}})).meta, None);
    assert_eq!(outcome(&json!({"_meta": 3})).meta, None);
}

#[test]
fn prompts_and_resources_are_parsed() {
    let prompt = prompt_outcome(
        &json!({"description": "d", "messages": [
            {"role": "assistant", "content": {"type": "text", "text": "a"}},
            {"content": [{"type": "text", "text": "b"}, {"type": "text", "text": "c"}]},
            {"role": "user"}, 7,
        ]})
        .to_string(),
    )
    .unwrap();
    assert_eq!(prompt.messages.len(), 4);
    assert_eq!(prompt.messages[0].role, "assistant");
    assert_eq!(prompt.messages[1].blocks.len(), 2);
    assert!(matches!(prompt.messages[3].blocks[..], [ContentBlock::Note(_)]));
    let rendered = render(&prompt.into());
    assert!(rendered.text.starts_with("d\nassistant:\na\nuser:\nb\nc\n"), "{}", rendered.text);

    let contents = resource_outcome(
        &json!({"contents": [{"uri": "u", "text": "t"}, {"uri": "v", "blob": "AA=="}, {}, 3]})
            .to_string(),
    )
    .unwrap();
    assert_eq!(contents.blocks.len(), 4);
    assert!(matches!(contents.blocks[3], ContentBlock::Note(_)));
    assert!(prompt_outcome("{}").is_err() && resource_outcome("{}").is_err());
}

proptest! {
    #[test]
    fn any_result_is_decoded_and_rendered_without_panic(value in any_json(), text in ".{0,40}") {
        for result in [value.to_string(), text, json!({"content": [value.clone()], "structuredContent": value.clone()}).to_string(),
            json!({"messages": [value.clone()]}).to_string(), json!({"contents": [value]}).to_string()]
        {
            if let Ok(outcome) = tool_outcome(&result) {
                drop(render(&outcome));
            }
            drop(prompt_outcome(&result));
            drop(resource_outcome(&result));
        }
    }
}
