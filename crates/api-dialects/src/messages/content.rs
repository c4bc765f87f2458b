//! Content blocks as chat content parts.

use serde_json::{Value, json};

use super::super::Untranslatable;
use super::super::fields::{Object, object_at, present, text_at};
use super::super::web_search::page_text;

/// The parts of a content field: a text or a list of blocks.
pub(super) fn parts(content: &Value, place: &str) -> Result<Vec<Value>, Untranslatable> {
    let blocks = match content {
        Value::String(text) => return Ok(text_part(text)),
        Value::Array(blocks) => blocks,
        _ => return Err(Untranslatable::new(place, "must be a string or a list of blocks")),
    };
    let mut parts = Vec::with_capacity(blocks.len());
    for (n, block) in blocks.iter().enumerate() {
        let place = format!("{place}[{n}]");
        parts.extend(block_parts(object_at(block, &place)?, &place)?);
    }
    Ok(parts)
}

/// A text as a list of parts; an empty text is no part.
pub(super) fn text_part(text: &str) -> Vec<Value> {
    if text.is_empty() { Vec::new() } else { vec![json!({ "type": "text", "text": text })] }
}

/// The parts of one block of a user message or a tool result.
pub(super) fn block_parts(block: &Object, place: &str) -> Result<Vec<Value>, Untranslatable> {
    match text_at(block, "type", place)? {
        "text" => Ok(text_part(text_at(block, "text", place)?)),
        "image" => Ok(vec![image(block, place)?]),
        "document" => document(block, place),
        "search_result" => {
            no_citations(block, place)?;
            let (title, source) =
                (text_at(block, "title", place)?, text_at(block, "source", place)?);
            let content = present(block, "content").unwrap_or(&Value::Null);
            let content = texts(&parts(content, &format!("{place}.content"))?);
            Ok(text_part(&page_text(title, source, &content, None)))
        }
        "tool_reference" => {
            let name = text_at(block, "tool_name", place)?;
            Ok(text_part(&format!("The tool {name} is available.")))
        }
        kind => Err(unknown(kind, place)),
    }
}

/// The texts among the parts.
pub(super) fn texts(parts: &[Value]) -> String {
    parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n\n")
}

fn image(block: &Object, place: &str) -> Result<Value, Untranslatable> {
    let place = format!("{place}.source");
    let source = object_at(block.get("source").unwrap_or(&Value::Null), &place)?;
    let url = match text_at(source, "type", &place)? {
        "base64" => data_url(source, &place)?,
        "url" => text_at(source, "url", &place)?.to_owned(),
        _ => return Err(not_sent(&place)),
    };
    Ok(json!({ "type": "image_url", "image_url": { "url": url } }))
}

fn document(block: &Object, place: &str) -> Result<Vec<Value>, Untranslatable> {
    no_citations(block, place)?;
    let label = |name| present(block, name).and_then(Value::as_str);
    let place = format!("{place}.source");
    let source = object_at(block.get("source").unwrap_or(&Value::Null), &place)?;
    let content = match text_at(source, "type", &place)? {
        "text" => text_part(text_at(source, "data", &place)?),
        "content" => {
            let content = present(source, "content").unwrap_or(&Value::Null);
            parts(content, &format!("{place}.content"))?
        }
        "base64" => {
            let name = label("title").unwrap_or("document.pdf");
            let file = json!({ "filename": name, "file_data": data_url(source, &place)? });
            let file = json!({ "type": "file", "file": file });
            return Ok(label("context").into_iter().flat_map(text_part).chain([file]).collect());
        }
        _ => return Err(not_sent(&place)),
    };
    let labels = ["title", "context"].into_iter().filter_map(label).flat_map(text_part);
    Ok(labels.chain(content).collect())
}

fn data_url(source: &Object, place: &str) -> Result<String, Untranslatable> {
    let media_type = text_at(source, "media_type", place)?;
    Ok(format!("data:{media_type};base64,{}", text_at(source, "data", place)?))
}

/// Refuses citations: a client that asks for them relies on positions no chat model gives.
fn no_citations(block: &Object, place: &str) -> Result<(), Untranslatable> {
    let is_on = present(block, "citations").and_then(|citations| citations.get("enabled"));
    if is_on == Some(&Value::Bool(true)) {
        let message = "this model does not support citations";
        return Err(Untranslatable::new(format!("{place}.citations"), message));
    }
    Ok(())
}

fn not_sent(place: &str) -> Untranslatable {
    Untranslatable::new(format!("{place}.type"), "this content must be sent with the request")
}

pub(super) fn unknown(kind: &str, place: &str) -> Untranslatable {
    let message = format!("content of type {kind} is not available for this model");
    Untranslatable::new(format!("{place}.type"), message)
}
