//! Items as chat messages: instructions, the earlier responses, the new input.

use serde_json::{Value, json};

use super::super::chat_messages::{ChatMessages, plain};
use super::super::fields::{Object, object_at, present, text_at};
use super::super::tool_table::{Tool, ToolKind, ToolTable};
use super::super::{Untranslatable, opaque};
use super::parts;

/// The chat messages of a request that continues `earlier`.
pub(super) fn translate(
    body: &Object,
    earlier: &[Value],
    tools: &ToolTable,
) -> Result<Vec<Value>, Untranslatable> {
    let mut conversation = Conversation { earlier, tools, chat: ChatMessages::default() };
    match present(body, "instructions") {
        None => {}
        Some(Value::String(text)) => conversation.chat.say("system", text.as_str()),
        Some(_) => return Err(Untranslatable::new("instructions", "must be a string")),
    }
    for item in earlier {
        conversation.add(item, "previous_response_id")?;
    }
    match present(body, "input") {
        None => {}
        Some(Value::String(text)) => conversation.chat.say("user", text.as_str()),
        Some(Value::Array(items)) => {
            for (n, item) in items.iter().enumerate() {
                conversation.add(item, &format!("input[{n}]"))?;
            }
        }
        Some(_) => {
            return Err(Untranslatable::new("input", "must be a string or a list of items"));
        }
    }
    if conversation.chat.is_empty() {
        return Err(Untranslatable::new("input", "must contain at least one item to answer"));
    }
    Ok(conversation.chat.into_messages())
}

struct Conversation<'a> {
    earlier: &'a [Value],
    tools: &'a ToolTable,
    chat: ChatMessages,
}

impl Conversation<'_> {
    fn add(&mut self, item: &Value, place: &str) -> Result<(), Untranslatable> {
        let item = object_at(item, place)?;
        match present(item, "type").and_then(Value::as_str) {
            Some("message") => self.message(item, place),
            None if item.contains_key("role") => self.message(item, place),
            None | Some("item_reference") => self.reference(item, place),
            Some("agent_message") => self.agent_message(item, place),
            Some("function_call") => {
                let arguments = text_at(item, "arguments", place)?;
                self.call(ToolKind::Function, arguments, item, place)
            }
            Some("custom_tool_call") => {
                let input = json!({ "input": text_at(item, "input", place)? });
                self.call(ToolKind::Custom, &input.to_string(), item, place)
            }
            Some("tool_search_call") => {
                let arguments = item.get("arguments").unwrap_or(&Value::Null).to_string();
                let tool = Tool::new(ToolKind::ToolSearch, None, "tool_search");
                self.call_of(&tool, &arguments, item, place)
            }
            Some("local_shell_call") => {
                let action = item.get("action").unwrap_or(&Value::Null).to_string();
                let tool = Tool::new(ToolKind::Function, None, "local_shell");
                self.call_of(&tool, &action, item, place)
            }
            Some(
                "function_call_output" | "custom_tool_call_output" | "local_shell_call_output",
            ) => self.output(item, place),
            Some("tool_search_output") => self.found_tools(item, place),
            Some("compaction" | "compaction_summary" | "context_compaction") => {
                self.summary(item, place)
            }
            Some("image_generation_call") => self.generated_image(item, place),
            // A model does not repeat what it thought before, and the text after a search says
            // what it found. Additional tools are among the tools already.
            Some("reasoning" | "web_search_call" | "additional_tools") => Ok(()),
            Some(kind) => {
                let message = format!("items of type {kind} are not available for this model");
                Err(Untranslatable::new(format!("{place}.type"), message))
            }
        }
    }

    fn message(&mut self, item: &Object, place: &str) -> Result<(), Untranslatable> {
        let role = match text_at(item, "role", place)? {
            // Servers that speak only chat completions often know no developer.
            "developer" => "system",
            role @ ("system" | "user" | "assistant") => role,
            role => {
                let message = format!("unknown role {role}");
                return Err(Untranslatable::new(format!("{place}.role"), message));
            }
        };
        let place = format!("{place}.content");
        match (role, item.get("content")) {
            ("assistant", Some(Value::Array(parts))) => {
                self.chat.push(parts::assistant(parts, &place)?);
            }
            (_, content) => self.chat.say(role, plain(parts::content(content, &place)?)),
        }
        Ok(())
    }

    /// A message of another agent of the client; to the model it is a user message.
    fn agent_message(&mut self, item: &Object, place: &str) -> Result<(), Untranslatable> {
        let author = present(item, "author").and_then(Value::as_str).unwrap_or("another agent");
        let mut content = parts::content(item.get("content"), &format!("{place}.content"))?;
        let label = format!("Message from {author}:");
        content.insert(0, json!({ "type": "text", "text": label }));
        self.chat.say("user", plain(content));
        Ok(())
    }

    fn call(
        &mut self,
        kind: ToolKind,
        arguments: &str,
        item: &Object,
        place: &str,
    ) -> Result<(), Untranslatable> {
        let namespace = present(item, "namespace").and_then(Value::as_str);
        let tool = Tool::new(kind, namespace, text_at(item, "name", place)?);
        self.call_of(&tool, arguments, item, place)
    }

    fn call_of(
        &mut self,
        tool: &Tool,
        arguments: &str,
        item: &Object,
        place: &str,
    ) -> Result<(), Untranslatable> {
        let id = text_at(item, "call_id", place)?;
        self.chat.call(id, &self.tools.function(tool), arguments);
        Ok(())
    }

    fn output(&mut self, item: &Object, place: &str) -> Result<(), Untranslatable> {
        let id = text_at(item, "call_id", place)?;
        let content = parts::content(item.get("output"), &format!("{place}.output"))?;
        self.chat.result(id, content);
        Ok(())
    }

    fn found_tools(&mut self, item: &Object, place: &str) -> Result<(), Untranslatable> {
        let id = text_at(item, "call_id", place)?;
        let tools = item.get("tools").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        let text = match names.as_slice() {
            [] => "No tools found.".to_owned(),
            names => format!("These tools are available now: {}", names.join(", ")),
        };
        self.chat.result(id, vec![json!({ "type": "text", "text": text })]);
        Ok(())
    }

    /// The conversation before this item, in few words that this service wrote.
    fn summary(&mut self, item: &Object, place: &str) -> Result<(), Untranslatable> {
        let text = opaque::decode(text_at(item, "encrypted_content", place)?).ok_or_else(|| {
            let message = "this summary can be read only by the service that created it";
            Untranslatable::new(format!("{place}.encrypted_content"), message)
        })?;
        self.chat.say("user", format!("Summary of the conversation so far:\n{text}"));
        Ok(())
    }

    fn generated_image(&mut self, item: &Object, place: &str) -> Result<(), Untranslatable> {
        let url = format!("data:image/png;base64,{}", text_at(item, "result", place)?);
        self.chat.say(
            "user",
            json!([
                { "type": "text", "text": "Image that you generated:" },
                { "type": "image_url", "image_url": { "url": url } },
            ]),
        );
        Ok(())
    }

    /// An item of the responses before is in the conversation already.
    fn reference(&self, item: &Object, place: &str) -> Result<(), Untranslatable> {
        let id = text_at(item, "id", place)?;
        if self.earlier.iter().any(|item| item["id"] == id) {
            return Ok(());
        }
        let message = "no item with this id in the previous responses";
        Err(Untranslatable::new(format!("{place}.id"), message))
    }
}
