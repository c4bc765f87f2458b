//! Items as chat messages: instructions, the earlier responses, the new input.

use serde_json::{Value, json};

use super::super::Untranslatable;
use super::super::chat_messages::{ChatMessages, plain};
use super::super::fields::{Node, Object, Result, objects, text};
use super::super::opaque;
use super::super::tool_table::{Tool, ToolKind, ToolTable};

/// The chat messages of a request that continues `earlier`.
pub(super) fn translate(body: &Object, earlier: &[Value], tools: &ToolTable) -> Result<Vec<Value>> {
    let body = Node::root(body);
    let mut conversation = Conversation { earlier, tools, chat: ChatMessages::default() };
    match body.get("instructions") {
        None => {}
        Some(Value::String(text)) => conversation.chat.say("system", text.as_str()),
        Some(_) => return Err(body.error("instructions", "must be a string")),
    }
    for item in earlier {
        conversation.add(&Node::new(item, "previous_response_id")?)?;
    }
    match body.get("input") {
        None => {}
        Some(Value::String(text)) => conversation.chat.say("user", text.as_str()),
        Some(Value::Array(_)) => {
            for item in body.objects("input")? {
                conversation.add(&item?)?;
            }
        }
        Some(_) => return Err(body.error("input", "must be a string or a list of items")),
    }
    if conversation.chat.is_empty() {
        return Err(body.error("input", "must contain at least one item to answer"));
    }
    Ok(conversation.chat.into_messages())
}

struct Conversation<'a> {
    earlier: &'a [Value],
    tools: &'a ToolTable,
    chat: ChatMessages,
}

impl Conversation<'_> {
    fn add(&mut self, item: &Node<'_>) -> Result<()> {
        match text(item.object, "type") {
            Some("message") => self.message(item),
            None if item.object.contains_key("role") => self.message(item),
            None | Some("item_reference") => self.reference(item),
            Some("agent_message") => self.agent_message(item),
            Some("function_call") => {
                let arguments = item.text("arguments")?;
                self.call(&named_tool(ToolKind::Function, item)?, arguments, item)
            }
            Some("custom_tool_call") => {
                let input = json!({ "input": item.text("input")? });
                self.call(&named_tool(ToolKind::Custom, item)?, &input.to_string(), item)
            }
            Some("tool_search_call") => {
                let tool = Tool::new(ToolKind::ToolSearch, None, "tool_search");
                self.call(&tool, &item.get_or_null("arguments").to_string(), item)
            }
            Some("local_shell_call") => {
                let tool = Tool::new(ToolKind::Function, None, "local_shell");
                self.call(&tool, &item.get_or_null("action").to_string(), item)
            }
            Some(
                "function_call_output" | "custom_tool_call_output" | "local_shell_call_output",
            ) => {
                self.chat.result(item.text("call_id")?, content_parts(item, "output")?);
                Ok(())
            }
            Some("tool_search_output") => self.found_tools(item),
            Some("compaction" | "compaction_summary" | "context_compaction") => self.summary(item),
            Some("image_generation_call") => self.generated_image(item),
            // A model does not repeat earlier reasoning, and the text after a search states its
            // results. Additional tools are among the tools already.
            Some("reasoning" | "web_search_call" | "additional_tools") => Ok(()),
            Some(kind) => {
                let message = format!("items of type {kind} are not available for this model");
                Err(item.error("type", message))
            }
        }
    }

    fn message(&mut self, item: &Node<'_>) -> Result<()> {
        let role = match item.text("role")? {
            // Servers with only chat completions often lack the developer role.
            "developer" => "system",
            role @ ("system" | "user" | "assistant") => role,
            role => return Err(item.error("role", format!("unknown role {role}"))),
        };
        match (role, item.get("content")) {
            ("assistant", Some(Value::Array(parts))) => {
                self.chat.push(assistant_message(parts, item.place("content"))?);
            }
            _ => self.chat.say(role, plain(content_parts(item, "content")?)),
        }
        Ok(())
    }

    /// A message of another agent of the client; to the model it is a user message.
    fn agent_message(&mut self, item: &Node<'_>) -> Result<()> {
        let author = text(item.object, "author").unwrap_or("another agent");
        let mut content = content_parts(item, "content")?;
        let label = format!("Message from {author}:");
        content.insert(0, json!({ "type": "text", "text": label }));
        self.chat.say("user", plain(content));
        Ok(())
    }

    fn call(&mut self, tool: &Tool, arguments: &str, item: &Node<'_>) -> Result<()> {
        self.chat.call(item.text("call_id")?, &self.tools.function(tool), arguments);
        Ok(())
    }

    fn found_tools(&mut self, item: &Node<'_>) -> Result<()> {
        let tools = item.get("tools").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        let text = match names.as_slice() {
            [] => "No tools found.".to_owned(),
            names => format!("These tools are available now: {}", names.join(", ")),
        };
        self.chat.result(item.text("call_id")?, vec![json!({ "type": "text", "text": text })]);
        Ok(())
    }

    /// The conversation before this item, as a summary by this service.
    fn summary(&mut self, item: &Node<'_>) -> Result<()> {
        let text = opaque::decode(item.text("encrypted_content")?).ok_or_else(|| {
            let message = "this summary can be read only by the service that created it";
            item.error("encrypted_content", message)
        })?;
        self.chat.say("user", format!("Summary of the conversation so far:\n{text}"));
        Ok(())
    }

    fn generated_image(&mut self, item: &Node<'_>) -> Result<()> {
        let url = format!("data:image/png;base64,{}", item.text("result")?);
        let content = json!([
            { "type": "text", "text": "Image that you generated:" },
            { "type": "image_url", "image_url": { "url": url } },
        ]);
        self.chat.say("user", content);
        Ok(())
    }

    /// An item of an earlier response is already in the conversation.
    fn reference(&self, item: &Node<'_>) -> Result<()> {
        let id = item.text("id")?;
        if self.earlier.iter().any(|item| item["id"] == id) {
            return Ok(());
        }
        Err(item.error("id", "no item with this id in the previous responses"))
    }
}

fn named_tool(kind: ToolKind, item: &Node<'_>) -> Result<Tool> {
    Ok(Tool::new(kind, text(item.object, "namespace"), item.text("name")?))
}

/// An assistant message: its texts joined, its refusal separate.
fn assistant_message(parts: &[Value], place: String) -> Result<Value> {
    let mut text = String::new();
    let mut refusal = None;
    for part in objects(parts, place) {
        let part = part?;
        match part.text("type")? {
            "output_text" | "input_text" | "text" => text.push_str(part.text("text")?),
            "refusal" => refusal = Some(part.text("refusal")?),
            kind => return Err(unknown(kind, &part)),
        }
    }
    let content = if text.is_empty() && refusal.is_some() { Value::Null } else { text.into() };
    let mut message = json!({ "role": "assistant", "content": content });
    if let Some(refusal) = refusal {
        message["refusal"] = refusal.into();
    }
    Ok(message)
}

/// The content of a user message or a tool output: a text or a list of parts.
fn content_parts(item: &Node<'_>, name: &str) -> Result<Vec<Value>> {
    match item.get_or_null(name) {
        Value::String(text) => Ok(vec![json!({ "type": "text", "text": text })]),
        Value::Array(parts) => {
            objects(parts, item.place(name)).map(|part| chat_part(&part?)).collect()
        }
        _ => Err(item.error(name, "must be a string or a list")),
    }
}

fn chat_part(part: &Node<'_>) -> Result<Value> {
    match part.text("type")? {
        "input_text" | "output_text" | "text" => {
            Ok(json!({ "type": "text", "text": part.text("text")? }))
        }
        "refusal" => Ok(json!({ "type": "text", "text": part.text("refusal")? })),
        "input_image" => {
            not_stored(part, "file_id")?;
            let mut image = json!({ "url": part.text("image_url")? });
            match part.get("detail") {
                None => {}
                // Chat completions support no finer detail.
                Some(detail) if detail == "original" => image["detail"] = "high".into(),
                Some(detail) => image["detail"] = detail.clone(),
            }
            Ok(json!({ "type": "image_url", "image_url": image }))
        }
        "input_file" => {
            not_stored(part, "file_id")?;
            not_stored(part, "file_url")?;
            let mut file = json!({ "file_data": part.text("file_data")? });
            if let Some(name) = part.get("filename") {
                file["filename"] = name.clone();
            }
            Ok(json!({ "type": "file", "file": file }))
        }
        "input_audio" => Ok(json!({ "type": "input_audio", "input_audio": audio(part)? })),
        kind => Err(unknown(kind, part)),
    }
}

/// Audio as an object, or as the data URL that Codex sends.
fn audio(part: &Node<'_>) -> Result<Value> {
    if let Some(audio) = part.get("input_audio") {
        return Ok(audio.clone());
    }
    let url = part.text("audio_url")?;
    let audio = url.strip_prefix("data:audio/").and_then(|rest| rest.split_once(";base64,"));
    let Some((format, data)) = audio else {
        return Err(part.error("audio_url", "must be a base64 data URL"));
    };
    let format = if format == "mpeg" { "mp3" } else { format };
    Ok(json!({ "data": data, "format": format }))
}

fn not_stored(part: &Node<'_>, name: &str) -> Result<()> {
    match part.get(name) {
        None => Ok(()),
        Some(_) => Err(part.error(name, "files must be sent with the request")),
    }
}

fn unknown(kind: &str, part: &Node<'_>) -> Untranslatable {
    part.error("type", format!("content of type {kind} is not available for this model"))
}
