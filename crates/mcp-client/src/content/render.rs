//! Rendering of an outcome for a model: one text, and attachments.

use serde_json::Value;

use super::blob::{self, MAX_BLOB_BYTES};
use super::tag_characters::strip_tag_characters;
use super::{ContentBlock, ToolOutcome};

/// Maximum length; a longer text is truncated in the middle.
pub const MAX_TEXT_CHARS: usize = 2_000_000;
/// Maximum number of attachments of one outcome; further ones are only named in the text.
pub const MAX_ATTACHMENTS: usize = 16;
/// Space reserved for the line that reports the truncation.
const CUT_LINE_CHARS: usize = 200;
/// Minimum length of a string in the structured content that is replaced if it repeats a blob.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    pub mime: String,
    pub bytes: Vec<u8>,
}

/// Renders an outcome. Structured content that matches the schema of its tool replaces the text
/// blocks, unless it only wraps one of them: those are for clients that do not read it. Other
/// structured content is appended unless a text block repeats it.
pub fn render(outcome: &ToolOutcome) -> Rendered {
    let mut attachments = Vec::new();
    let is_replaced = outcome.is_valid
        && outcome.structured.as_ref().is_some_and(|it| !wraps_text(it, &outcome.blocks));
    let is_shown = |block: &&ContentBlock| !is_replaced || !matches!(block, ContentBlock::Text(_));
    let blocks = outcome.blocks.iter().filter(is_shown);
    let mut parts: Vec<String> = blocks.map(|block| part(block, &mut attachments)).collect();
    if let Some(structured) = &outcome.structured
        && (!structured.is_null() || parts.is_empty())
        && (is_replaced || !repeats_text(structured, &outcome.blocks))
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
                "[link to resource {name} at {uri}{mime}{about}; use the read_resource tool of \
                 this server to read it]"
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
        return format!("[{what}, {mime}, omitted: more than {MAX_ATTACHMENTS} attachments]");
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
            format!("[{what}, {mime}, omitted: about {bytes} bytes, limit {MAX_BLOB_BYTES}]")
        }
        Err(blob::BlobError::Malformed) => format!("[{what}, {mime}, omitted: invalid base64]"),
    }
}

/// The only value of an object: frameworks wrap a text as `result` or `content`.
fn wrapped(structured: &Value) -> Option<&Value> {
    structured.as_object().filter(|object| object.len() == 1)?.values().next()
}

/// Whether a text block is the text, or the wrapped one.
fn wraps_text(structured: &Value, blocks: &[ContentBlock]) -> bool {
    let inner = wrapped(structured).unwrap_or(structured).as_str();
    blocks.iter().any(|block| matches!(block, ContentBlock::Text(text) if Some(&**text) == inner))
}

/// Whether a text block has the same content, as JSON or without its wrapper.
fn repeats_text(structured: &Value, blocks: &[ContentBlock]) -> bool {
    let inner = wrapped(structured);
    wraps_text(structured, blocks)
        || blocks.iter().any(|block| {
            let ContentBlock::Text(text) = block else { return false };
            crate::tool::parse_lenient(text)
                .is_ok_and(|said| said == *structured || Some(&said) == inner)
        })
}

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
            "[same bytes as above]".clone_into(text);
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
        "{}\n[truncated by the client: {} of {total} characters omitted here]\n{}",
        &whole[..head_end],
        total - head - tail,
        &whole[tail_start..],
    ))
}

fn byte_at(text: &str, character: usize) -> usize {
    text.char_indices().nth(character).map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests;
