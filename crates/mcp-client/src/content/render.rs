//! An outcome as a model sees it: one text, and the bytes beside it.

use serde_json::Value;

use super::blob::{self, MAX_BLOB_BYTES};
use super::invisible::visible;
use super::{Block, ToolOutcome};

/// The most characters of a text; beyond it the middle is cut.
pub const MAX_TEXT_CHARS: usize = 2_000_000;
/// The most attachments of one outcome; the rest are named in the text only.
pub const MAX_ATTACHMENTS: usize = 16;
/// Room for the line that says what was cut.
const CUT_LINE_CHARS: usize = 200;
/// A string of the structured content that is this long and equals a blob is not repeated.
const MIN_REPEATED_BYTES: usize = 64;

/// What a model sees of an outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The text, at most [`MAX_TEXT_CHARS`] characters.
    pub text: String,
    /// Pictures, sounds and blobs, in order; the text names each by its number.
    pub attachments: Vec<Attachment>,
    /// The full text where `text` was cut: the caller writes it to a file.
    pub whole: Option<String>,
}

/// Bytes beside the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Their type.
    pub mime: String,
    /// Themselves.
    pub bytes: Vec<u8>,
}

/// Renders an outcome. Structured content follows the text unless the text already says it.
pub fn render(outcome: &ToolOutcome) -> Rendered {
    let mut attachments = Vec::new();
    let mut parts: Vec<String> =
        outcome.blocks.iter().map(|block| part(block, &mut attachments)).collect();
    if let Some(structured) = &outcome.structured
        && (!structured.is_null() || parts.is_empty())
        && !said(structured, &outcome.blocks)
    {
        let text = without_repeated(structured, &outcome.blocks).to_string();
        parts.push(visible(&text).into_owned());
    }
    let whole = parts.join("\n");
    match cut(&whole) {
        Some(text) => Rendered { text, attachments, whole: Some(whole) },
        None => Rendered { text: whole, attachments, whole: None },
    }
}

fn part(block: &Block, attachments: &mut Vec<Attachment>) -> String {
    match block {
        Block::Text(text) => visible(text).into_owned(),
        Block::Image { mime, base64 } => attach("image", mime, base64, attachments),
        Block::Audio { mime, base64 } => attach("audio", mime, base64, attachments),
        Block::EmbeddedText { uri, text, .. } => {
            visible(&format!("[resource {uri}]\n{text}")).into_owned()
        }
        Block::EmbeddedBlob { uri, mime, base64 } => {
            let mime = mime.as_deref().unwrap_or_else(|| blob::guess(base64));
            attach(&visible(&format!("resource {uri}")), mime, base64, attachments)
        }
        Block::Link { uri, name, description, mime } => {
            let mime = mime.as_ref().map(|mime| format!(", {mime}")).unwrap_or_default();
            let about = description.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
            let link = format!(
                "[link to the resource {name} at {uri}{mime}{about}; the read_resource tool of \
                 this server may read it]"
            );
            visible(&link).into_owned()
        }
        Block::Note(note) => format!("[{}]", visible(note)),
    }
}

/// Adds the bytes to the attachments, or says why not.
fn attach(what: &str, mime: &str, base64: &str, attachments: &mut Vec<Attachment>) -> String {
    let mime = visible(mime);
    if attachments.len() == MAX_ATTACHMENTS {
        return format!("[{what}, {mime}, left out: over {MAX_ATTACHMENTS} attachments]");
    }
    match blob::decode(base64) {
        Ok(bytes) => {
            let note = format!(
                "[{what}, {mime}, {} bytes, attachment {}]",
                bytes.len(),
                attachments.len() + 1
            );
            attachments.push(Attachment { mime: mime.into_owned(), bytes });
            note
        }
        Err(blob::Refused::TooLarge { bytes }) => {
            format!("[{what}, {mime}, refused: about {bytes} bytes, over {MAX_BLOB_BYTES}]")
        }
        Err(blob::Refused::Malformed) => format!("[{what}, {mime}, dropped: not valid base64]"),
    }
}

/// Whether some text block is the same JSON, or the only value of it: frameworks wrap a text as
/// `result` or `content`.
fn said(structured: &Value, blocks: &[Block]) -> bool {
    let wrapped = match structured {
        Value::Object(object) if object.len() == 1 => object.values().next(),
        _ => None,
    };
    blocks.iter().any(|block| {
        let Block::Text(text) = block else { return false };
        if wrapped.or(Some(structured)).and_then(Value::as_str) == Some(text) {
            return true;
        }
        crate::tool::read(text).is_ok_and(|said| said == *structured || Some(&said) == wrapped)
    })
}

/// The structured content with a mark in place of each string that is a blob again.
fn without_repeated(structured: &Value, blocks: &[Block]) -> Value {
    let blobs: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::Image { base64, .. }
            | Block::Audio { base64, .. }
            | Block::EmbeddedBlob { base64, .. } => Some(base64.as_str()),
            _ => None,
        })
        .filter(|base64| base64.len() >= MIN_REPEATED_BYTES)
        .collect();
    let mut structured = structured.clone();
    if !blobs.is_empty() {
        mark(&mut structured, &blobs);
    }
    structured
}

fn mark(value: &mut Value, blobs: &[&str]) {
    match value {
        Value::String(text) if blobs.contains(&text.as_str()) => {
            "[the same bytes as above]".clone_into(text);
        }
        Value::Array(list) => list.iter_mut().for_each(|inner| mark(inner, blobs)),
        Value::Object(object) => object.values_mut().for_each(|inner| mark(inner, blobs)),
        _ => {}
    }
}

/// Head and tail of a text that is too long, with a line between them that says what is missing.
fn cut(whole: &str) -> Option<String> {
    if whole.len() <= MAX_TEXT_CHARS {
        return None;
    }
    let total = whole.chars().count();
    if total <= MAX_TEXT_CHARS {
        return None;
    }
    let room = MAX_TEXT_CHARS - CUT_LINE_CHARS;
    let (head, tail) = (room * 2 / 5, room - room * 2 / 5);
    let head_end = byte_at(whole, head);
    let tail_start = byte_at(whole, total - tail);
    Some(format!(
        "{}\n[cut by the client: {} of {total} characters are missing here]\n{}",
        &whole[..head_end],
        total - head - tail,
        &whole[tail_start..],
    ))
}

fn byte_at(text: &str, character: usize) -> usize {
    text.char_indices().nth(character).map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn outcome(blocks: Vec<Block>, structured: Option<Value>) -> ToolOutcome {
        ToolOutcome { blocks, structured, ..ToolOutcome::default() }
    }

    fn text(text: &str) -> Block {
        Block::Text(text.to_owned())
    }

    #[test]
    fn structured_content_is_added_unless_it_was_said() {
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
    fn bytes_become_attachments_with_a_line_each() {
        let image = Block::Image { mime: "image/png".into(), base64: "aGk=".into() };
        let blob =
            Block::EmbeddedBlob { uri: "x://y".into(), mime: None, base64: "JVBERi0x".into() };
        let bad = Block::Audio { mime: "audio/wav".into(), base64: "?".into() };
        let rendered = render(&outcome(vec![text("see"), image, blob, bad], None));
        assert_eq!(
            rendered.text,
            "see\n[image, image/png, 2 bytes, attachment 1]\n\
             [resource x://y, application/pdf, 6 bytes, attachment 2]\n\
             [audio, audio/wav, dropped: not valid base64]"
        );
        assert_eq!(
            rendered.attachments[0],
            Attachment { mime: "image/png".into(), bytes: b"hi".into() }
        );
        assert_eq!(rendered.attachments.len(), 2);
    }

    #[test]
    fn no_more_attachments_than_the_limit() {
        let image = Block::Image { mime: "image/png".into(), base64: "aGk=".into() };
        let rendered = render(&outcome(vec![image; MAX_ATTACHMENTS + 2], None));
        assert_eq!(rendered.attachments.len(), MAX_ATTACHMENTS);
        assert_eq!(rendered.text.matches("left out").count(), 2);
    }

    #[test]
    fn a_blob_over_the_limit_is_refused_with_a_note() {
        let base64 = "A".repeat(MAX_BLOB_BYTES / 3 * 4 + 8);
        let rendered =
            render(&outcome(vec![Block::Image { mime: "image/png".into(), base64 }], None));
        assert!(rendered.attachments.is_empty());
        assert!(rendered.text.contains("refused"), "{}", rendered.text);
    }

    #[test]
    fn bytes_are_not_repeated_in_the_structured_part() {
        let base64 = "QUJD".repeat(30);
        let structured = json!({"image": base64, "name": "x"});
        let image = Block::Image { mime: "image/png".into(), base64 };
        let rendered = render(&outcome(vec![image], Some(structured)));
        assert!(rendered.text.ends_with(r#"{"image":"[the same bytes as above]","name":"x"}"#));
    }

    #[test]
    fn links_resources_and_notes_are_told() {
        let link = Block::Link {
            uri: "file:///a".into(),
            name: "a".into(),
            description: Some("the a".into()),
            mime: Some("text/plain".into()),
        };
        let embedded =
            Block::EmbeddedText { uri: "x://t".into(), mime: None, text: "in\u{E0041}side".into() };
        let rendered = render(&outcome(vec![link, embedded, Block::Note("odd".into())], None));
        assert_eq!(
            rendered.text,
            "[link to the resource a at file:///a, text/plain: the a; the read_resource tool of \
             this server may read it]\n[resource x://t]\ninside\n[odd]"
        );
    }

    #[test]
    fn a_long_text_keeps_head_and_tail_and_says_what_is_missing() {
        let short = "é".repeat(MAX_TEXT_CHARS);
        assert_eq!(render(&outcome(vec![text(&short)], None)).whole, None);
        let long = format!("{}{}", "a".repeat(1_500_000), "é".repeat(1_500_000));
        let rendered = render(&outcome(vec![text(&long)], None));
        assert_eq!(rendered.whole.as_deref(), Some(long.as_str()));
        let count = rendered.text.chars().count();
        assert!((MAX_TEXT_CHARS - CUT_LINE_CHARS..=MAX_TEXT_CHARS).contains(&count), "{count}");
        assert!(rendered.text.contains("1000200 of 3000000 characters are missing here"));
        let (head, tail) = rendered.text.split_once("\n[cut").unwrap();
        assert_eq!(head.len(), 799_920);
        assert!(tail.ends_with('é'));
    }
}
