//! Content blocks as chat content parts.

use serde_json::{Value, json};

use super::super::Untranslatable;
use super::super::fields::{Node, Result, objects, text};
use super::super::web_search::page_text;

/// The parts of a content field: a text or a list of blocks.
pub(super) fn parts(content: &Value, place: String) -> Result<Vec<Value>> {
    let blocks = match content {
        Value::String(text) => return Ok(text_part(text)),
        Value::Array(blocks) => blocks,
        _ => return Err(Untranslatable::new(place, "must be a string or a list of blocks")),
    };
    let mut parts = Vec::with_capacity(blocks.len());
    for block in objects(blocks, place) {
        parts.extend(block_parts(&block?)?);
    }
    Ok(parts)
}

/// The parts of the content of a message or block.
pub(super) fn content_parts(node: &Node<'_>) -> Result<Vec<Value>> {
    parts(node.get_or_null("content"), node.place("content"))
}

/// A text as a list of parts; an empty text has none.
pub(super) fn text_part(text: &str) -> Vec<Value> {
    if text.is_empty() { Vec::new() } else { vec![json!({ "type": "text", "text": text })] }
}

/// The parts of one block of a user message or a tool result.
pub(super) fn block_parts(block: &Node<'_>) -> Result<Vec<Value>> {
    match block.text("type")? {
        "text" => Ok(text_part(block.text("text")?)),
        "image" => Ok(vec![image(block)?]),
        "document" => document(block),
        "search_result" => {
            no_citations(block)?;
            let (title, source) = (block.text("title")?, block.text("source")?);
            let content = texts(&content_parts(block)?);
            Ok(text_part(&page_text(title, source, &content, None)))
        }
        "tool_reference" => {
            Ok(text_part(&format!("The tool {} is available.", block.text("tool_name")?)))
        }
        kind => Err(unknown(kind, block)),
    }
}

/// The texts among the parts.
pub(super) fn texts(parts: &[Value]) -> String {
    parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n\n")
}

fn image(block: &Node<'_>) -> Result<Value> {
    let source = block.object("source")?;
    let url = match source.text("type")? {
        "base64" => data_url(&source)?,
        "url" => source.text("url")?.to_owned(),
        _ => return Err(not_sent(&source)),
    };
    Ok(json!({ "type": "image_url", "image_url": { "url": url } }))
}

fn document(block: &Node<'_>) -> Result<Vec<Value>> {
    no_citations(block)?;
    let label = |name| text(block.object, name);
    let source = block.object("source")?;
    let content = match source.text("type")? {
        "text" => text_part(source.text("data")?),
        "content" => content_parts(&source)?,
        "base64" => {
            let name = label("title").unwrap_or("document.pdf");
            let file = json!({ "filename": name, "file_data": data_url(&source)? });
            let file = json!({ "type": "file", "file": file });
            return Ok(label("context").into_iter().flat_map(text_part).chain([file]).collect());
        }
        _ => return Err(not_sent(&source)),
    };
    let labels = ["title", "context"].into_iter().filter_map(label).flat_map(text_part);
    Ok(labels.chain(content).collect())
}

fn data_url(source: &Node<'_>) -> Result<String> {
    Ok(format!("data:{};base64,{}", source.text("media_type")?, source.text("data")?))
}

/// Refuses citations: clients need positions that chat models do not return.
fn no_citations(block: &Node<'_>) -> Result<()> {
    let is_on = block.get("citations").and_then(|citations| citations.get("enabled"));
    if is_on == Some(&Value::Bool(true)) {
        return Err(block.error("citations", "this model does not support citations"));
    }
    Ok(())
}

fn not_sent(source: &Node<'_>) -> Untranslatable {
    source.error("type", "this content must be sent with the request")
}

pub(super) fn unknown(kind: &str, block: &Node<'_>) -> Untranslatable {
    block.error("type", format!("content of type {kind} is not available for this model"))
}
