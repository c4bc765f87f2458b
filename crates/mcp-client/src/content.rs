//! Results of tools, prompts and resources, decoded block by block.
//!
//! An unreadable block becomes a [`ContentBlock::Note`] that describes it; the other blocks are
//! kept. [`render`] turns an outcome into the text and attachments for a model.

mod blob;
mod fast_path;
mod injection;
mod redaction;
mod render;
mod tag_characters;

use std::fmt::Display;

use serde_json::{Map, Value};

use crate::schema::violation;
use crate::tool::{
    MAX_LIST_ITEMS, RawList, RawObject, json_kind, parse_lenient, parse_list, printable_excerpt,
    take_string,
};

pub use crate::tool::DecodeError;
pub use blob::{MAX_BLOB_BYTES, media_type};
pub use injection::injection_warnings;
pub(crate) use redaction::redact_value;
pub use render::{Attachment, MAX_ATTACHMENTS, MAX_TEXT_CHARS, Rendered, render};
pub use tag_characters::strip_tag_characters;

/// One block of a result. A missing MIME type is guessed, a link without a name has its URI for a
/// name, and a note describes an unknown or malformed block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentBlock {
    Text(String),
    Image { mime: String, base64: String },
    Audio { mime: String, base64: String },
    EmbeddedText { uri: String, mime: Option<String>, text: String },
    EmbeddedBlob { uri: String, mime: Option<String>, base64: String },
    Link { uri: String, name: String, description: Option<String>, mime: Option<String> },
    Note(String),
}

/// The result of `tools/call`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolOutcome {
    pub blocks: Vec<ContentBlock>,
    /// `structuredContent`: any JSON, including null.
    pub structured: Option<Value>,
    /// The structured content matches the output schema of the tool.
    pub is_valid: bool,
    pub is_error: bool,
    /// `_meta` without the keys that are reserved for the protocol.
    pub meta: Option<Value>,
}

impl ToolOutcome {
    /// Records whether a result matches the output schema of its tool; models see a mismatch.
    pub(crate) fn check(&mut self, schema: Option<&Value>) {
        let Some(schema) = schema.filter(|_| !self.is_error) else { return };
        let fault = match &self.structured {
            Some(value) => violation(schema, value),
            None => Some("there is no structured content".to_owned()),
        };
        self.is_valid = fault.is_none();
        if let Some(fault) = fault {
            let note = format!("the result does not match the tool's output schema: {fault}");
            self.blocks.push(ContentBlock::Note(note));
        }
    }
}

/// The result of `prompts/get`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptMessages {
    pub description: Option<String>,
    pub messages: Vec<PromptMessage>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptMessage {
    /// `user` or `assistant`, or what the server sent.
    pub role: String,
    pub blocks: Vec<ContentBlock>,
}

/// Decodes a result of `tools/call`. An object without content is an empty outcome.
pub fn tool_outcome(result: &str) -> Result<ToolOutcome, DecodeError> {
    fast_path::outcome(result).map_or_else(|| lenient_outcome(result), Ok)
}

fn lenient_outcome(result: &str) -> Result<ToolOutcome, DecodeError> {
    let envelope = RawObject::open_complete(result)?;
    let mut blocks = envelope.text("content").map_or_else(Vec::new, blocks);
    let structured = match envelope.present("structuredContent").map(parse_lenient) {
        Some(Ok(value)) => Some(value),
        Some(Err(error)) => {
            blocks.push(invalid("structured content", error));
            None
        }
        None => None,
    };
    let is_error = match envelope.value("isError") {
        Some(Value::Bool(flag)) => flag,
        Some(Value::String(word)) => word.eq_ignore_ascii_case("true"),
        _ => false,
    };
    let meta = envelope.value("_meta").and_then(public_meta);
    Ok(ToolOutcome { blocks, structured, is_valid: false, is_error, meta })
}

/// Decodes a result of `prompts/get`.
pub fn prompt_outcome(result: &str) -> Result<PromptMessages, DecodeError> {
    let envelope = RawObject::open_complete(result)?;
    let RawList { items, left_out } = envelope.list("messages")?;
    let mut messages: Vec<PromptMessage> = items
        .into_iter()
        .map(|raw| {
            let message = RawObject::open(raw.get()).ok();
            let role = message.as_ref().and_then(|message| message.value("role"));
            let role = role.as_ref().and_then(Value::as_str).unwrap_or("user").to_owned();
            let content = message.and_then(|message| message.text("content"));
            let missing = || vec![ContentBlock::Note("message without content".to_owned())];
            let blocks = content.map_or_else(missing, blocks);
            PromptMessage { role, blocks }
        })
        .collect();
    if left_out > 0 {
        let blocks = vec![omitted_note(left_out)];
        messages.push(PromptMessage { role: "user".to_owned(), blocks });
    }
    let description = envelope.value("description");
    let description = description.as_ref().and_then(Value::as_str).map(str::to_owned);
    Ok(PromptMessages { description, messages })
}

/// Decodes a result of `resources/read`.
pub fn resource_outcome(result: &str) -> Result<ToolOutcome, DecodeError> {
    let envelope = RawObject::open_complete(result)?;
    let RawList { items, left_out } = envelope.list("contents")?;
    let mut blocks: Vec<ContentBlock> = items
        .into_iter()
        .map(|raw| match parse_lenient(raw.get()) {
            Ok(Value::Object(object)) => embedded(object),
            Ok(_) => invalid("content", expected_object(raw.get())),
            Err(error) => invalid("content", error),
        })
        .collect();
    if left_out > 0 {
        blocks.push(omitted_note(left_out));
    }
    Ok(ToolOutcome { blocks, ..ToolOutcome::default() })
}

impl From<PromptMessages> for ToolOutcome {
    /// Prefixes every message with a line that names its role.
    fn from(prompt: PromptMessages) -> Self {
        let mut blocks: Vec<ContentBlock> =
            prompt.description.map(ContentBlock::Text).into_iter().collect();
        for message in prompt.messages {
            blocks.push(ContentBlock::Text(format!("{}:", message.role)));
            blocks.extend(message.blocks);
        }
        Self { blocks, ..Self::default() }
    }
}

/// The blocks of a `content`: a list, or the single block or string that some servers send instead.
fn blocks(content: &str) -> Vec<ContentBlock> {
    match parse_list(content) {
        Ok(Some(RawList { items, left_out })) => {
            let mut blocks: Vec<ContentBlock> =
                items.into_iter().map(|raw| block(raw.get())).collect();
            if left_out > 0 {
                blocks.push(omitted_note(left_out));
            }
            blocks
        }
        Ok(None) => vec![block(content)],
        Err(error) => vec![invalid("content", error)],
    }
}

fn invalid(what: &str, reason: impl Display) -> ContentBlock {
    ContentBlock::Note(format!("invalid {what}: {reason}"))
}

fn expected_object(found: &str) -> String {
    format!("expected an object, found {}", json_kind(found))
}

fn omitted_note(left_out: usize) -> ContentBlock {
    ContentBlock::Note(format!("{left_out} blocks beyond the limit of {MAX_LIST_ITEMS} omitted"))
}

fn block(text: &str) -> ContentBlock {
    let mut object = match parse_lenient(text) {
        Ok(Value::Object(object)) => object,
        Ok(Value::String(text)) => return ContentBlock::Text(text),
        Ok(_) => return invalid("block", expected_object(text)),
        Err(error) => return invalid("block", error),
    };
    let kind = take_string(&mut object, "type");
    let broken = |missing: &str| invalid("block", format!("missing `{missing}`"));
    match kind.as_deref() {
        Some("text") => {
            take_string(&mut object, "text").map_or_else(|| broken("text"), ContentBlock::Text)
        }
        Some(kind @ ("image" | "audio")) => match binary(&mut object) {
            Some((mime, base64)) if kind == "image" => ContentBlock::Image { mime, base64 },
            Some((mime, base64)) => ContentBlock::Audio { mime, base64 },
            None => broken("data"),
        },
        Some("resource") => match object.remove("resource") {
            Some(Value::Object(resource)) => embedded(resource),
            _ => broken("resource"),
        },
        Some("resource_link") => match take_string(&mut object, "uri") {
            Some(uri) => ContentBlock::Link {
                name: take_string(&mut object, "name").unwrap_or_else(|| uri.clone()),
                description: take_string(&mut object, "description"),
                mime: take_string(&mut object, "mimeType"),
                uri,
            },
            None => broken("uri"),
        },
        other => unknown(other, &mut object),
    }
}

/// A block with `text` but without a type counts as text.
fn unknown(kind: Option<&str>, object: &mut Map<String, Value>) -> ContentBlock {
    if kind.is_none()
        && let Some(text) = take_string(object, "text")
    {
        return ContentBlock::Text(text);
    }
    let keys: Vec<String> =
        object.keys().take(8).map(|key| format!("`{}`", printable_excerpt(key))).collect();
    let of = match kind {
        Some(kind) => format!("of unknown type `{}`", printable_excerpt(kind)),
        None => "without a type".to_owned(),
    };
    let with = if keys.is_empty() { "nothing".to_owned() } else { keys.join(", ") };
    ContentBlock::Note(format!("block {of} with {with} omitted"))
}

fn binary(object: &mut Map<String, Value>) -> Option<(String, String)> {
    let data = take_string(object, "data")?;
    let (named, data) = blob::strip_data_url(data);
    let mime = take_string(object, "mimeType")
        .filter(|mime| !mime.trim().is_empty())
        .or(named)
        .unwrap_or_else(|| blob::guess_media_type(&data).to_owned());
    Some((mime, data))
}

fn embedded(mut resource: Map<String, Value>) -> ContentBlock {
    let uri = take_string(&mut resource, "uri").unwrap_or_default();
    let mime = take_string(&mut resource, "mimeType");
    if let Some(text) = take_string(&mut resource, "text") {
        return ContentBlock::EmbeddedText { uri, mime, text };
    }
    match take_string(&mut resource, "blob") {
        Some(base64) => ContentBlock::EmbeddedBlob { uri, mime, base64 },
        None => ContentBlock::Note(format!(
            "resource `{}` has neither text nor blob",
            printable_excerpt(&uri)
        )),
    }
}

fn public_meta(meta: Value) -> Option<Value> {
    let Value::Object(mut meta) = meta else { return None };
    meta.retain(|key, _| !is_reserved(key));
    (!meta.is_empty()).then_some(Value::Object(meta))
}

/// Whether `mcp` or `modelcontextprotocol` is the second label of the key's prefix, or precedes
/// another label: protocol revisions differ in which of the two is reserved.
fn is_reserved(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else { return false };
    let labels: Vec<&str> = prefix.split('.').collect();
    labels.iter().enumerate().any(|(at, label)| {
        matches!(*label, "mcp" | "modelcontextprotocol") && (at == 1 || at + 1 < labels.len())
    })
}

#[cfg(test)]
mod tests;
