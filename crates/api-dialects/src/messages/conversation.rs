//! The conversation as chat messages: the system prompt, then the turns.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::chat_messages::{ChatMessages, plain};
use super::super::fields::{Object, list, object_at, present, text_at};
use super::super::tool_table::{Tool, ToolKind, ToolTable};
use super::super::web_search::page_text;
use super::super::{Untranslatable, opaque};
use super::content;

/// The chat messages of a request.
pub(super) fn translate(body: &Object, tools: &ToolTable) -> Result<Vec<Value>, Untranslatable> {
    let mut conversation = Conversation { tools, chat: ChatMessages::default() };
    if let Some(system) = present(body, "system") {
        conversation.system(system, "system")?;
    }
    for (n, message) in list(body, "messages")?.iter().enumerate() {
        let place = format!("messages[{n}]");
        conversation.add(object_at(message, &place)?, &place)?;
    }
    if conversation.chat.is_empty() {
        return Err(Untranslatable::new("messages", "must contain at least one message to answer"));
    }
    Ok(conversation.chat.into_messages())
}

struct Conversation<'a> {
    tools: &'a ToolTable,
    chat: ChatMessages,
}

impl Conversation<'_> {
    fn add(&mut self, message: &Object, place: &str) -> Result<(), Untranslatable> {
        let role = text_at(message, "role", place)?;
        let content = present(message, "content").unwrap_or(&Value::Null);
        let content_place = format!("{place}.content");
        match (role, content) {
            ("system", content) => self.system(content, &content_place),
            ("user" | "assistant", Value::String(text)) => {
                self.chat.say(role, text.as_str());
                Ok(())
            }
            ("user", Value::Array(blocks)) => self.user(blocks, &content_place),
            ("assistant", Value::Array(blocks)) => self.assistant(blocks, &content_place),
            ("user" | "assistant", _) => {
                let message = "must be a string or a list of blocks";
                Err(Untranslatable::new(content_place, message))
            }
            (role, _) => {
                let message = format!("unknown role {role}");
                Err(Untranslatable::new(format!("{place}.role"), message))
            }
        }
    }

    fn system(&mut self, content: &Value, place: &str) -> Result<(), Untranslatable> {
        let parts = content::parts(content, place)?;
        if !parts.is_empty() {
            self.chat.say("system", plain(parts));
        }
        Ok(())
    }

    /// Results come first: no other message may stand between a call and its result.
    fn user(&mut self, blocks: &[Value], place: &str) -> Result<(), Untranslatable> {
        let mut parts = Vec::new();
        for (n, block) in blocks.iter().enumerate() {
            let place = format!("{place}[{n}]");
            let block = object_at(block, &place)?;
            match text_at(block, "type", &place)? {
                "tool_result" => self.tool_result(block, &place)?,
                "mid_conv_system" => {
                    self.say_parts(std::mem::take(&mut parts));
                    let content = present(block, "content").unwrap_or(&Value::Null);
                    self.system(content, &format!("{place}.content"))?;
                }
                _ => parts.extend(content::block_parts(block, &place)?),
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

    fn tool_result(&mut self, block: &Object, place: &str) -> Result<(), Untranslatable> {
        let id = text_at(block, "tool_use_id", place)?;
        let mut parts = match present(block, "content") {
            None => Vec::new(),
            Some(content) => content::parts(content, &format!("{place}.content"))?,
        };
        if present(block, "is_error") == Some(&Value::Bool(true)) {
            // Chat completions mark no errors, so the text must say it.
            let text = content::texts(&parts);
            if !text.starts_with("Error") {
                parts.insert(0, json!({ "type": "text", "text": "Error:" }));
            }
        }
        self.chat.result(id, parts);
        Ok(())
    }

    fn assistant(&mut self, blocks: &[Value], place: &str) -> Result<(), Untranslatable> {
        let mut text = String::new();
        let answered: BTreeSet<&str> =
            blocks.iter().filter_map(|block| block["tool_use_id"].as_str()).collect();
        for (n, block) in blocks.iter().enumerate() {
            let place = format!("{place}[{n}]");
            let block = object_at(block, &place)?;
            match text_at(block, "type", &place)? {
                "text" => text.push_str(text_at(block, "text", &place)?),
                "tool_use" => {
                    let name = text_at(block, "name", &place)?;
                    self.call(
                        &mut text,
                        &Tool::new(ToolKind::Function, None, name),
                        block,
                        &place,
                    )?;
                }
                "server_tool_use" => {
                    let name = text_at(block, "name", &place)?;
                    if name != "web_search" {
                        return Err(content::unknown(name, &place));
                    }
                    // A search without results was interrupted, and a call needs a result.
                    if answered.contains(text_at(block, "id", &place)?) {
                        let tool = Tool::new(ToolKind::WebSearch, None, name);
                        self.call(&mut text, &tool, block, &place)?;
                    }
                }
                "web_search_tool_result" => self.search_result(&mut text, block, &place)?,
                // The API lets clients leave out what a model thought in earlier turns.
                "thinking" | "redacted_thinking" => {}
                kind => return Err(content::unknown(kind, &place)),
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

    fn call(
        &mut self,
        text: &mut String,
        tool: &Tool,
        block: &Object,
        place: &str,
    ) -> Result<(), Untranslatable> {
        self.flush(text);
        let id = text_at(block, "id", place)?;
        let input = present(block, "input").map_or_else(|| "{}".to_owned(), Value::to_string);
        self.chat.call(id, &self.tools.function(tool), &input);
        Ok(())
    }

    fn search_result(
        &mut self,
        text: &mut String,
        block: &Object,
        place: &str,
    ) -> Result<(), Untranslatable> {
        self.flush(text);
        let id = text_at(block, "tool_use_id", place)?;
        let found = match present(block, "content") {
            Some(Value::Array(results)) => {
                results.iter().map(result_text).collect::<Vec<_>>().join("\n\n")
            }
            Some(Value::Object(error)) => {
                let code = error.get("error_code").and_then(Value::as_str).unwrap_or("unavailable");
                format!("Error: the search failed ({code})")
            }
            _ => {
                return Err(Untranslatable::new(format!("{place}.content"), "must be a list"));
            }
        };
        self.chat.result(id, content::text_part(&found));
        Ok(())
    }
}

/// A result of an earlier search; without text if another service searched.
fn result_text(result: &Value) -> String {
    let text = |name: &str| result[name].as_str();
    let content = text("encrypted_content").and_then(opaque::decode).unwrap_or_default();
    let (title, url) = (text("title").unwrap_or_default(), text("url").unwrap_or_default());
    page_text(title, url, &content, text("page_age"))
}
