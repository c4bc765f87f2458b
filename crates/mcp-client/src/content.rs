//! What tools, prompts and resources give back, block by block.
//!
//! A block that cannot be read becomes a [`Block::Note`] that says what was there; nothing beside
//! it is lost. [`render`] turns an outcome into what a model sees.

mod blob;
mod cleaned;
mod invisible;
mod ordinary;
mod render;
mod suspicion;

use serde_json::{Map, Value};

use crate::tool::{Envelope, Items, MAX_LIST_ITEMS, clip, kind_of, list, read};

pub use crate::tool::DecodeError;
pub use blob::MAX_BLOB_BYTES;
pub(crate) use cleaned::clean_value;
pub use invisible::visible;
pub use render::{Attachment, MAX_ATTACHMENTS, MAX_TEXT_CHARS, Rendered, render};
pub use suspicion::warnings;

/// One piece of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Text.
    Text(String),
    /// A picture.
    Image {
        /// Its type; guessed where the server gives none.
        mime: String,
        /// Its bytes.
        base64: String,
    },
    /// A sound.
    Audio {
        /// Its type; guessed where the server gives none.
        mime: String,
        /// Its bytes.
        base64: String,
    },
    /// A resource that is text.
    EmbeddedText {
        /// Where it is.
        uri: String,
        /// Its type.
        mime: Option<String>,
        /// What it holds.
        text: String,
    },
    /// A resource that is not text.
    EmbeddedBlob {
        /// Where it is.
        uri: String,
        /// Its type.
        mime: Option<String>,
        /// Its bytes.
        base64: String,
    },
    /// A resource that can be read.
    Link {
        /// Where it is.
        uri: String,
        /// Its name; the address where the server gives none.
        name: String,
        /// What it holds.
        description: Option<String>,
        /// Its type.
        mime: Option<String>,
    },
    /// An unknown or broken block: says what was there.
    Note(String),
}

/// What a tool gave back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolOutcome {
    /// Its content.
    pub blocks: Vec<Block>,
    /// The same for programs: any JSON, be it null.
    pub structured: Option<Value>,
    /// Whether the tool says that it failed.
    pub is_error: bool,
    /// `_meta` without what the protocol keeps for itself.
    pub meta: Option<Value>,
}

/// What a prompt gave back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptMessages {
    /// What it is for.
    pub description: Option<String>,
    /// Its messages, in order.
    pub messages: Vec<PromptMessage>,
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptMessage {
    /// Who speaks: `user` or `assistant`, or what the server says.
    pub role: String,
    /// What is said.
    pub blocks: Vec<Block>,
}

/// What reading a resource gave back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceContents {
    /// Its parts: texts, blobs, and notes for what could not be read.
    pub blocks: Vec<Block>,
    /// How long they may be kept.
    pub ttl_ms: Option<u64>,
}

/// Reads a result of `tools/call`. An object without content is an empty outcome.
pub fn tool_outcome(result: &str) -> Result<ToolOutcome, DecodeError> {
    match ordinary::outcome(result) {
        Some(outcome) => Ok(outcome),
        None => lenient_outcome(result),
    }
}

/// Reads what is there of a result, value by value.
fn lenient_outcome(result: &str) -> Result<ToolOutcome, DecodeError> {
    let envelope = Envelope::open_complete(result)?;
    let mut blocks = envelope.text("content").map_or_else(Vec::new, blocks);
    let structured = match envelope.present("structuredContent").map(read) {
        Some(Ok(value)) => Some(value),
        Some(Err(error)) => {
            blocks.push(Block::Note(format!("the structured content is unreadable: {error}")));
            None
        }
        None => None,
    };
    let is_error = match envelope.value("isError") {
        Some(Value::Bool(flag)) => flag,
        Some(Value::String(word)) => word.eq_ignore_ascii_case("true"),
        _ => false,
    };
    let meta = envelope.value("_meta").and_then(open_meta);
    Ok(ToolOutcome { blocks, structured, is_error, meta })
}

/// Reads a result of `prompts/get`.
pub fn prompt_outcome(result: &str) -> Result<PromptMessages, DecodeError> {
    let envelope = Envelope::open_complete(result)?;
    let Items { items, left_out } = envelope.list("messages")?;
    let mut messages: Vec<PromptMessage> = items
        .into_iter()
        .map(|raw| {
            let message = Envelope::open(raw.get()).ok();
            let role = message.as_ref().and_then(|message| message.value("role"));
            let role = role.as_ref().and_then(Value::as_str).unwrap_or("user").to_owned();
            let blocks = match message.and_then(|message| message.text("content")) {
                Some(content) => blocks(content),
                None => vec![Block::Note("a message without content".to_owned())],
            };
            PromptMessage { role, blocks }
        })
        .collect();
    if left_out > 0 {
        messages.push(PromptMessage { role: "user".to_owned(), blocks: vec![cut_list(left_out)] });
    }
    let description = match envelope.value("description") {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    Ok(PromptMessages { description, messages })
}

/// Reads a result of `resources/read`.
pub fn resource_outcome(result: &str) -> Result<ResourceContents, DecodeError> {
    let envelope = Envelope::open_complete(result)?;
    let Items { items, left_out } = envelope.list("contents")?;
    let mut blocks: Vec<Block> = items
        .into_iter()
        .map(|raw| match read(raw.get()) {
            Ok(Value::Object(object)) => embedded(object),
            Ok(_) => Block::Note(format!("a content that is {}", kind_of(raw.get()))),
            Err(error) => Block::Note(format!("an unreadable content: {error}")),
        })
        .collect();
    if left_out > 0 {
        blocks.push(cut_list(left_out));
    }
    Ok(ResourceContents { blocks, ttl_ms: envelope.ttl_ms() })
}

impl From<ResourceContents> for ToolOutcome {
    fn from(contents: ResourceContents) -> Self {
        Self { blocks: contents.blocks, ..Self::default() }
    }
}

impl From<PromptMessages> for ToolOutcome {
    /// Every message with a line that says who speaks.
    fn from(prompt: PromptMessages) -> Self {
        let mut blocks: Vec<Block> = prompt.description.map(Block::Text).into_iter().collect();
        for message in prompt.messages {
            blocks.push(Block::Text(format!("{}:", message.role)));
            blocks.extend(message.blocks);
        }
        Self { blocks, ..Self::default() }
    }
}

/// The blocks of a `content`: a list, or what some servers give instead, one block or a string.
fn blocks(content: &str) -> Vec<Block> {
    match list(content) {
        Ok(Some(Items { items, left_out })) => {
            let mut blocks: Vec<Block> = items.into_iter().map(|raw| block(raw.get())).collect();
            if left_out > 0 {
                blocks.push(cut_list(left_out));
            }
            blocks
        }
        Ok(None) => vec![block(content)],
        Err(error) => vec![Block::Note(format!("unreadable content: {error}"))],
    }
}

fn cut_list(left_out: usize) -> Block {
    Block::Note(format!("{left_out} more blocks, beyond {MAX_LIST_ITEMS}, are left out"))
}

fn block(text: &str) -> Block {
    let mut object = match read(text) {
        Ok(Value::Object(object)) => object,
        Ok(Value::String(text)) => return Block::Text(text),
        Ok(_) => return Block::Note(format!("a block that is {}", kind_of(text))),
        Err(error) => return Block::Note(format!("an unreadable block: {error}")),
    };
    let kind = take(&mut object, "type");
    let broken = |missing: &str| Block::Note(format!("a block without `{missing}`"));
    match kind.as_deref() {
        Some("text") => take(&mut object, "text").map_or_else(|| broken("text"), Block::Text),
        Some("image") => match binary(&mut object) {
            Some((mime, base64)) => Block::Image { mime, base64 },
            None => broken("data"),
        },
        Some("audio") => match binary(&mut object) {
            Some((mime, base64)) => Block::Audio { mime, base64 },
            None => broken("data"),
        },
        Some("resource") => match object.remove("resource") {
            Some(Value::Object(resource)) => embedded(resource),
            _ => broken("resource"),
        },
        Some("resource_link") => match take(&mut object, "uri") {
            Some(uri) => Block::Link {
                name: take(&mut object, "name").unwrap_or_else(|| uri.clone()),
                description: take(&mut object, "description"),
                mime: take(&mut object, "mimeType"),
                uri,
            },
            None => broken("uri"),
        },
        other => unknown(other, &mut object),
    }
}

/// A block without a type that is plainly text is text; any other is named.
fn unknown(kind: Option<&str>, object: &mut Map<String, Value>) -> Block {
    if kind.is_none()
        && let Some(text) = take(object, "text")
    {
        return Block::Text(text);
    }
    let keys: Vec<String> = object.keys().take(8).map(|key| format!("`{}`", clip(key))).collect();
    let of = match kind {
        Some(kind) => format!("of the unknown type `{}`", clip(kind)),
        None => "without a type".to_owned(),
    };
    let with = if keys.is_empty() { "nothing".to_owned() } else { keys.join(", ") };
    Block::Note(format!("a block {of}, with {with}, was left out"))
}

/// Type and bytes of an image or a sound.
fn binary(object: &mut Map<String, Value>) -> Option<(String, String)> {
    let data = take(object, "data")?;
    let (named, data) = blob::without_data_address(data);
    let mime = take(object, "mimeType")
        .filter(|mime| !mime.trim().is_empty())
        .or(named)
        .unwrap_or_else(|| blob::guess(&data).to_owned());
    Some((mime, data))
}

/// A resource that came with its content.
fn embedded(mut resource: Map<String, Value>) -> Block {
    let uri = take(&mut resource, "uri").unwrap_or_default();
    let mime = take(&mut resource, "mimeType");
    if let Some(text) = take(&mut resource, "text") {
        return Block::EmbeddedText { uri, mime, text };
    }
    match take(&mut resource, "blob") {
        Some(base64) => Block::EmbeddedBlob { uri, mime, base64 },
        None => Block::Note(format!("the resource `{}` came without text or blob", clip(&uri))),
    }
}

fn take(object: &mut Map<String, Value>, key: &str) -> Option<String> {
    match object.remove(key) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// `_meta` without the keys whose prefix the protocol keeps for itself.
fn open_meta(meta: Value) -> Option<Value> {
    let Value::Object(mut meta) = meta else { return None };
    meta.retain(|key, _| !reserved(key));
    (!meta.is_empty()).then_some(Value::Object(meta))
}

/// Whether a key's prefix has `mcp` or `modelcontextprotocol` as its second label, or before
/// another label: newer and older revisions differ in which they reserve.
fn reserved(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else { return false };
    let labels: Vec<&str> = prefix.split('.').collect();
    labels.iter().enumerate().any(|(at, label)| {
        matches!(*label, "mcp" | "modelcontextprotocol") && (at == 1 || at + 1 < labels.len())
    })
}

#[cfg(test)]
mod tests;
