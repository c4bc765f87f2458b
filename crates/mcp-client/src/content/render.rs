//! Rendering of an outcome for a model: one text, and attachments.

use serde_json::Value;

use super::blob::{self, MAX_BLOB_BYTES};
use super::tag_characters::strip_tag_characters;
use super::{ContentBlock, ToolOutcome};

/// The longest text; a longer one is truncated in the middle.
pub const MAX_TEXT_CHARS: usize = 2_000_000;
/// The most attachments of one outcome; further ones are only named in the text.
pub const MAX_ATTACHMENTS: usize = 16;
/// Space reserved for the line that reports the truncation.
const CUT_LINE_CHARS: usize = 200;
/// The shortest string of the structured content that is replaced if it repeats a blob.
const MIN_REPEATED_BYTES: usize = 64;

/// An outcome as a model sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// At most [`MAX_TEXT_CHARS`] characters.
    pub text: String,
    /// Images, audio and blobs in order; the text refers to each by its number.
    pub attachments: Vec<Attachment>,
    /// The full text if `text` was truncated.
    pub whole: Option<String>,
}

/// Binary data beside the text.
#[expect(missing_docs, reason = "the names of the fields say it")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    pub mime: String,
    pub bytes: Vec<u8>,
}

/// Renders an outcome. Structured content is appended unless a text block repeats it.
pub fn render(outcome: &ToolOutcome) -> Rendered {
    let mut attachments = Vec::new();
    let mut parts: Vec<String> =
        outcome.blocks.iter().map(|block| part(block, &mut attachments)).collect();
    if let Some(structured) = &outcome.structured
        && (!structured.is_null() || parts.is_empty())
        && !repeats_text(structured, &outcome.blocks)
    {
        let text = without_repeated(structured, &outcome.blocks).to_string();
        parts.push(strip_tag_characters(&text).into_owned());
    }
    let whole = parts.join("\n");
    match truncate_middle(&whole) {
        Some(text) => Rendered { text, attachments, whole: Some(whole) },
        None => Rendered { text: whole, attachments, whole: None },
    }
}

fn part(block: &ContentBlock, attachments: &mut Vec<Attachment>) -> String {
    match block {
        ContentBlock::Text(text) => strip_tag_characters(text).into_owned(),
        ContentBlock::Image { mime, base64 } => attach("image", mime, base64, attachments),
        ContentBlock::Audio { mime, base64 } => attach("audio", mime, base64, attachments),
        ContentBlock::EmbeddedText { uri, text, .. } => {
            strip_tag_characters(&format!("[resource {uri}]\n{text}")).into_owned()
        }
        ContentBlock::EmbeddedBlob { uri, mime, base64 } => {
            let mime = mime.as_deref().unwrap_or_else(|| blob::guess_media_type(base64));
            attach(&strip_tag_characters(&format!("resource {uri}")), mime, base64, attachments)
        }
        ContentBlock::Link { uri, name, description, mime } => {
            let mime = mime.as_ref().map(|mime| format!(", {mime}")).unwrap_or_default();
            let about = description.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
            let link = format!(
                "[link to the resource {name} at {uri}{mime}{about}; the read_resource tool of \
                 this server may read it]"
            );
            strip_tag_characters(&link).into_owned()
        }
        ContentBlock::Note(note) => format!("[{}]", strip_tag_characters(note)),
    }
}

/// Adds an attachment and returns its line in the text, or the reason for leaving it out.
fn attach(what: &str, mime: &str, base64: &str, attachments: &mut Vec<Attachment>) -> String {
    let mime = strip_tag_characters(mime);
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
        Err(blob::BlobError::TooLarge { bytes }) => {
            format!("[{what}, {mime}, refused: about {bytes} bytes, over {MAX_BLOB_BYTES}]")
        }
        Err(blob::BlobError::Malformed) => format!("[{what}, {mime}, dropped: not valid base64]"),
    }
}

/// Whether a text block is the same JSON, or its only value: frameworks wrap a text as `result` or
/// `content`.
fn repeats_text(structured: &Value, blocks: &[ContentBlock]) -> bool {
    let wrapped = match structured {
        Value::Object(object) if object.len() == 1 => object.values().next(),
        _ => None,
    };
    blocks.iter().any(|block| {
        let ContentBlock::Text(text) = block else { return false };
        if wrapped.or(Some(structured)).and_then(Value::as_str) == Some(text) {
            return true;
        }
        crate::tool::parse_lenient(text)
            .is_ok_and(|said| said == *structured || Some(&said) == wrapped)
    })
}

/// Replaces strings that repeat a blob.
fn without_repeated(structured: &Value, blocks: &[ContentBlock]) -> Value {
    let blobs: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match block {
            ContentBlock::Image { base64, .. }
            | ContentBlock::Audio { base64, .. }
            | ContentBlock::EmbeddedBlob { base64, .. } => Some(base64.as_str()),
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

/// Keeps head and tail of a text that is too long, with a line between them that counts the missing
/// characters.
fn truncate_middle(whole: &str) -> Option<String> {
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

    fn outcome(blocks: Vec<ContentBlock>, structured: Option<Value>) -> ToolOutcome {
        ToolOutcome { blocks, structured, ..ToolOutcome::default() }
    }

    fn text(text: &str) -> ContentBlock {
        ContentBlock::Text(text.to_owned())
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
        let image = ContentBlock::Image { mime: "image/png".into(), base64: "aGk=".into() };
        let blob = ContentBlock::EmbeddedBlob {
            uri: "x://y".into(),
            mime: None,
            base64: "JVBERi0x".into(),
        };
        let bad = ContentBlock::Audio { mime: "audio/wav".into(), base64: "?".into() };
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
        let image = ContentBlock::Image { mime: "image/png".into(), base64: "aGk=".into() };
        let rendered = render(&outcome(vec![image; MAX_ATTACHMENTS + 2], None));
        assert_eq!(rendered.attachments.len(), MAX_ATTACHMENTS);
        assert_eq!(rendered.text.matches("left out").count(), 2);
    }

    #[test]
    fn a_blob_over_the_limit_is_refused_with_a_note() {
        let base64 = "A".repeat(MAX_BLOB_BYTES / 3 * 4 + 8);
        let rendered =
            render(&outcome(vec![ContentBlock::Image { mime: "image/png".into(), base64 }], None));
        assert!(rendered.attachments.is_empty());
        assert!(rendered.text.contains("refused"), "{}", rendered.text);
    }

    #[test]
    fn bytes_are_not_repeated_in_the_structured_part() {
        let base64 = "QUJD".repeat(30);
        let structured = json!({"image": base64, "name": "x"});
        let image = ContentBlock::Image { mime: "image/png".into(), base64 };
        let rendered = render(&outcome(vec![image], Some(structured)));
        assert!(rendered.text.ends_with(r#"{"image":"[the same bytes as above]","name":"x"}"#));
    }

    #[test]
    fn links_resources_and_notes_are_told() {
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
        let rendered =
            render(&outcome(vec![link, embedded, ContentBlock::Note("odd".into())], None));
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
