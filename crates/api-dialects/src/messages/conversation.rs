//! The conversation as chat messages: the system prompt, then the turns.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::chat_messages::{ChatMessages, plain};
use super::super::fields::{Node, Object, Result, objects, text};
use super::super::tool_table::{Tool, ToolKind, ToolTable};
use super::super::web_search::page_text;
use super::super::{Untranslatable, opaque};

/// The chat messages of a request.
pub(super) fn translate(body: &Object, tools: &ToolTable) -> Result<Vec<Value>> {
    let body = Node::root(body);
    let mut conversation = Conversation { tools, chat: ChatMessages::default() };
    if let Some(system) = body.get("system") {
        conversation.system(parts(system, "system".to_owned())?);
    }
    for message in body.objects("messages")? {
        conversation.add(&message?)?;
    }
    if conversation.chat.is_empty() {
        return Err(body.error("messages", "must contain at least one message to answer"));
    }
    Ok(conversation.chat.into_messages())
}

struct Conversation<'a> {
    tools: &'a ToolTable,
    chat: ChatMessages,
}

impl Conversation<'_> {
    fn add(&mut self, message: &Node<'_>) -> Result<()> {
        let place = message.place("content");
        match (message.text("role")?, message.get_or_null("content")) {
            ("system", _) => self.system(content_parts(message)?),
            (role @ ("user" | "assistant"), Value::String(text)) => {
                self.chat.say(role, text.as_str());
            }
            ("user", Value::Array(blocks)) => self.user(objects(blocks, place))?,
            ("assistant", Value::Array(blocks)) => self.assistant(blocks, place)?,
            ("user" | "assistant", _) => {
                return Err(message.error("content", "must be a string or a list of blocks"));
            }
            (role, _) => return Err(message.error("role", format!("unknown role {role}"))),
        }
        Ok(())
    }

    fn system(&mut self, parts: Vec<Value>) {
        if !parts.is_empty() {
            self.chat.say("system", plain(parts));
        }
    }

    /// Results come first: no message may come between a call and its result.
    fn user<'n>(&mut self, blocks: impl Iterator<Item = Result<Node<'n>>>) -> Result<()> {
        let mut parts = Vec::new();
        for block in blocks {
            let block = block?;
            match block.text("type")? {
                "tool_result" => self.tool_result(&block)?,
                "mid_conv_system" => {
                    self.say_parts(std::mem::take(&mut parts));
                    self.system(content_parts(&block)?);
                }
                _ => parts.extend(block_parts(&block)?),
            }
        }
        self.say_parts(parts);
        Ok(())
    }

    fn say_parts(&mut self, parts: Vec<Value>) {
        if !parts.is_empty() {
            self.chat.say("user", plain(parts));
        }
    }

    fn tool_result(&mut self, block: &Node<'_>) -> Result<()> {
        let id = block.text("tool_use_id")?;
        let mut parts = match block.get("content") {
            None => Vec::new(),
            Some(_) => content_parts(block)?,
        };
        if block.get("is_error") == Some(&Value::Bool(true)) {
            // Chat completions have no error flag, so the text must say it.
            let text = texts(&parts);
            if !text.starts_with("Error") {
                parts.insert(0, json!({ "type": "text", "text": "Error:" }));
            }
        }
        self.chat.result(id, parts);
        Ok(())
    }

    fn assistant(&mut self, blocks: &[Value], place: String) -> Result<()> {
        let mut text = String::new();
        let answered: BTreeSet<&str> =
            blocks.iter().filter_map(|block| block["tool_use_id"].as_str()).collect();
        for block in objects(blocks, place) {
            let block = block?;
            match block.text("type")? {
                "text" => text.push_str(block.text("text")?),
                "tool_use" => {
                    let tool = Tool::new(ToolKind::Function, None, block.text("name")?);
                    self.call(&mut text, &tool, &block)?;
                }
                "server_tool_use" => {
                    let name = block.text("name")?;
                    if name != "web_search" {
                        return Err(unknown(name, &block));
                    }
                    // A search without results was interrupted, and a call needs a result.
                    if answered.contains(block.text("id")?) {
                        let tool = Tool::new(ToolKind::WebSearch, None, name);
                        self.call(&mut text, &tool, &block)?;
                    }
                }
                "web_search_tool_result" => self.search_result(&mut text, &block)?,
                // Clients may omit the thinking of earlier turns.
                "thinking" | "redacted_thinking" => {}
                kind => return Err(unknown(kind, &block)),
            }
        }
        self.flush(&mut text);
        Ok(())
    }

    fn flush(&mut self, text: &mut String) {
        if !text.is_empty() {
            self.chat.say("assistant", std::mem::take(text));
        }
    }

    fn call(&mut self, text: &mut String, tool: &Tool, block: &Node<'_>) -> Result<()> {
        self.flush(text);
        let id = block.text("id")?;
        let input = block.get("input").map_or_else(|| "{}".to_owned(), Value::to_string);
        self.chat.call(id, &self.tools.function(tool), &input);
        Ok(())
    }

    fn search_result(&mut self, text: &mut String, block: &Node<'_>) -> Result<()> {
        self.flush(text);
        let id = block.text("tool_use_id")?;
        let found = match block.get("content") {
            Some(Value::Array(results)) => {
                results.iter().map(result_text).collect::<Vec<_>>().join("\n\n")
            }
            Some(Value::Object(error)) => {
                let code = error.get("error_code").and_then(Value::as_str).unwrap_or("unavailable");
                format!("Error: the search failed ({code})")
            }
            _ => return Err(block.error("content", "must be a list")),
        };
        self.chat.result(id, text_part(&found));
        Ok(())
    }
}

/// A result of an earlier search; no text if another service searched.
fn result_text(result: &Value) -> String {
    let text = |name: &str| result[name].as_str();
    let content = text("encrypted_content").and_then(opaque::decode).unwrap_or_default();
    let (title, url) = (text("title").unwrap_or_default(), text("url").unwrap_or_default());
    page_text(title, url, &content, text("page_age"))
}

/// The parts of a content field: a text or a list of blocks.
fn parts(content: &Value, place: String) -> Result<Vec<Value>> {
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
fn content_parts(node: &Node<'_>) -> Result<Vec<Value>> {
    parts(node.get_or_null("content"), node.place("content"))
}

/// A text as a list of parts; an empty text has none.
fn text_part(text: &str) -> Vec<Value> {
    if text.is_empty() { Vec::new() } else { vec![json!({ "type": "text", "text": text })] }
}

/// The parts of one block of a user message or a tool result.
fn block_parts(block: &Node<'_>) -> Result<Vec<Value>> {
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

fn texts(parts: &[Value]) -> String {
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

fn unknown(kind: &str, block: &Node<'_>) -> Untranslatable {
    block.error("type", format!("content of type {kind} is not available for this model"))
}

/// Removes blocks that only this service can read, and returns whether there were any.
///
/// An earlier answer of another kind of upstream has thinking without a signature and searches with
/// our own `encrypted_content`; Anthropic refuses both.
pub fn remove_own_blocks(body: &mut Object) -> bool {
    let Some(Value::Array(messages)) = body.get_mut("messages") else { return false };
    let mut removed = false;
    messages.retain_mut(|message| {
        let Some(Value::Array(blocks)) = message.get_mut("content") else { return true };
        let searches: BTreeSet<String> = blocks
            .iter()
            .filter(|block| is_own_result(block))
            .filter_map(|block| block["tool_use_id"].as_str().map(str::to_owned))
            .collect();
        let is_own = |id: &Value| id.as_str().is_some_and(|id| searches.contains(id));
        let before = blocks.len();
        blocks.retain(|block| match block["type"].as_str() {
            Some("thinking") => block["signature"].as_str().is_some_and(|sign| !sign.is_empty()),
            Some("server_tool_use") => !is_own(&block["id"]),
            Some("web_search_tool_result") => !is_own(&block["tool_use_id"]),
            _ => true,
        });
        removed |= blocks.len() < before;
        before == 0 || !blocks.is_empty()
    });
    removed
}

fn is_own_result(block: &Value) -> bool {
    let is_own = |result: &Value| {
        result["encrypted_content"].as_str().is_some_and(|text| opaque::decode(text).is_some())
    };
    block["type"] == "web_search_tool_result"
        && block["content"].as_array().is_some_and(|results| results.iter().all(is_own))
}
