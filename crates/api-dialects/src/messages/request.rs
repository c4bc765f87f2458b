//! A Messages request as a chat completion request: top-level fields.

use serde_json::{Value, json};

use super::super::fields::{Node, Object, Result, object, present, text};
use super::super::tool_table::{OfferedTools, Tool, ToolKind};
use super::super::{Translated, Untranslatable, WebSearchTool};
use super::conversation;

/// Fields with the same meaning in both APIs, by source and target name.
const PASSED: &[(&str, &str)] = &[
    ("max_tokens", "max_completion_tokens"),
    ("model", "model"),
    ("stop_sequences", "stop"),
    ("temperature", "temperature"),
    ("top_p", "top_p"),
];

/// Fields that a chat completion cannot honour.
const UNMET: &[&str] = &["container", "inference_geo", "mcp_servers"];

/// Maximum `user` length of OpenAI. Claude Code sends a longer one, which is left out.
const MAX_USER_BYTES: usize = 64;

/// Thinking budgets below this are low effort, up to the next one medium.
const MEDIUM_BUDGET_TOKENS: u64 = 4096;
const HIGH_BUDGET_TOKENS: u64 = 16_384;

/// Converts a Messages request into a chat completion request.
///
/// Fields that only save tokens or time (`cache_control`, `context_management`, `speed`), that
/// only narrow the choice of tokens (`top_k`, which servers that check their fields refuse) or
/// that are unknown are left out: clients send beta fields unasked.
pub fn request(body: &Object) -> Result<Translated> {
    let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
    let asks = |name: &&&str| present(body, name).is_some_and(|value| !is_empty(value));
    if let Some(name) = UNMET.iter().find(asks) {
        return Err(Untranslatable::new(*name, "not available for this model"));
    }
    let mut chat = Object::new();
    for (name, chat_name) in PASSED {
        if let Some(value) = present(body, name).filter(|value| !is_empty(value)) {
            chat.insert((*chat_name).into(), value.clone());
        }
    }
    let mut offered = OfferedTools::default();
    for tool in Node::root(body).objects("tools")? {
        offer(&mut offered, &tool?)?;
    }
    chat.insert("messages".into(), conversation::translate(body, &offered.table)?.into());
    write_tools(&mut offered, body, &mut chat)?;
    if let Some(effort) = reasoning_effort(body)? {
        chat.insert("reasoning_effort".into(), effort.into());
    }
    if let Some(format) = response_format(body)? {
        chat.insert("response_format".into(), format);
    }
    let user = present(body, "metadata").and_then(|metadata| metadata.get("user_id"));
    if let Some(user) = user.and_then(Value::as_str).filter(|user| user.len() <= MAX_USER_BYTES) {
        chat.insert("user".into(), user.into());
    }
    if present(body, "service_tier").is_some_and(|tier| tier == "standard_only") {
        chat.insert("service_tier".into(), "default".into());
    }
    if Node::root(body).flag("stream")? == Some(true) {
        chat.insert("stream".into(), true.into());
        chat.insert("stream_options".into(), json!({ "include_usage": true }));
    }
    Ok(Translated { chat, tools: offered.table })
}

fn response_format(body: &Object) -> Result<Option<Value>> {
    let (config, body) = (object(body, "output_config"), Node::root(body));
    let format = if config.is_some_and(|config| present(config, "format").is_some()) {
        body.object("output_config")?.object("format")?
    } else if let Some(format) = body.optional_object("output_format")? {
        format
    } else {
        return Ok(None);
    };
    let kind = format.text("type")?;
    let Some(schema) = format.get("schema").filter(|_| kind == "json_schema") else {
        return Err(format.own_error("must be a JSON schema"));
    };
    let schema = json!({ "name": "output", "schema": schema, "strict": true });
    Ok(Some(json!({ "type": "json_schema", "json_schema": schema })))
}

/// The requested effort, if any.
///
/// `output_config.effort` has the same values; a budget is mapped by its size. Without either
/// the field is omitted: the model decides, and models without thinking refuse the field. Many
/// thinking models refuse `none`, so disabled thinking also sends nothing.
fn reasoning_effort(body: &Object) -> Result<Option<&str>> {
    let body = Node::root(body);
    let effort = body.get("output_config").and_then(|config| config.get("effort"));
    let effort = effort.and_then(Value::as_str);
    let Some(thinking) = body.optional_object("thinking")? else {
        return Ok(effort.map(of_effort));
    };
    match (thinking.text("type")?, effort) {
        ("disabled", _) => Ok(None),
        ("enabled", None) => {
            Ok(thinking.get("budget_tokens").and_then(Value::as_u64).map(of_budget))
        }
        ("adaptive" | "enabled", effort) => Ok(effort.map(of_effort)),
        (kind, _) => Err(thinking.error("type", format!("unknown thinking type {kind}"))),
    }
}

/// Chat completions have no higher effort.
fn of_effort(effort: &str) -> &str {
    if effort == "max" { "xhigh" } else { effort }
}

fn of_budget(tokens: u64) -> &'static str {
    match tokens {
        ..MEDIUM_BUDGET_TOKENS => "low",
        MEDIUM_BUDGET_TOKENS..HIGH_BUDGET_TOKENS => "medium",
        HIGH_BUDGET_TOKENS.. => "high",
    }
}

fn offer(offered: &mut OfferedTools, tool: &Node<'_>) -> Result<()> {
    match text(tool.object, "type") {
        None | Some("custom") => {
            let own = Tool::new(ToolKind::Function, None, tool.text("name")?);
            let parameters = ("input_schema", "parameters");
            let fields = [("description", "description"), ("strict", "strict"), parameters];
            offered.define(own, tool.object, &fields);
        }
        Some(kind) if kind.starts_with("web_search_") => {
            offered.offer_web_search(WebSearchTool::parse(tool.object));
        }
        // Deferred tools are offered from the start, so there is nothing to search for.
        Some(kind) if kind.starts_with("tool_search_tool_") => {}
        Some(kind) => {
            let message = format!("the tool {kind} is not available for this model");
            return Err(tool.error("type", message));
        }
    }
    Ok(())
}

/// Adds `tools`, `tool_choice` and `parallel_tool_calls` to the chat completion request.
fn write_tools(offered: &mut OfferedTools, body: &Object, chat: &mut Object) -> Result<()> {
    let body = Node::root(body);
    let choice = body.optional_object("tool_choice")?;
    let kind = choice.as_ref().map(|choice| choice.text("type")).transpose()?;
    if offered.functions.is_empty() {
        return match kind {
            None | Some("auto" | "none") => Ok(()),
            Some(_) => Err(body.error("tool_choice", "requires tools to choose from")),
        };
    }
    chat.insert("tools".into(), std::mem::take(&mut offered.functions).into());
    let Some((choice, kind)) = choice.zip(kind) else { return Ok(()) };
    let chosen = match kind {
        "auto" | "none" => kind.into(),
        "any" => "required".into(),
        "tool" => {
            let name = choice.text("name")?;
            let own = offered.table.offered(ToolKind::Function, name);
            let search = || offered.table.offered(ToolKind::WebSearch, name);
            let function = own.or_else(search).ok_or_else(|| {
                choice.error("name", format!("no tool named {name} in this request"))
            })?;
            json!({ "type": "function", "function": { "name": function } })
        }
        kind => return Err(choice.error("type", format!("unknown tool choice type {kind}"))),
    };
    chat.insert("tool_choice".into(), chosen);
    if choice.flag("disable_parallel_tool_use")? == Some(true) {
        chat.insert("parallel_tool_calls".into(), false.into());
    }
    Ok(())
}

/// Average bytes of English text, code or JSON per token.
const BYTES_PER_TOKEN: usize = 4;
/// Tokens of a typical image.
const IMAGE_TOKENS: usize = 1600;
/// Bytes of base64 in a PDF per token; a page of text takes about 2,000 tokens.
const PDF_BYTES_PER_TOKEN: usize = 50;
/// Overhead of each message, block and tool.
const FRAME_TOKENS: usize = 4;

/// Estimates the tokens of the prompt, for upstreams that cannot count them.
///
/// The tokenizer of the upstream is unknown, so the result can be wrong by a third.
pub fn estimate_input_tokens(body: &Object) -> u64 {
    let fields = ["system", "messages", "tools", "output_config"];
    let tokens: usize = fields.iter().filter_map(|name| body.get(*name)).map(tokens).sum();
    tokens as u64
}

fn tokens(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len().div_ceil(BYTES_PER_TOKEN),
        Value::Array(items) => items.iter().map(|item| FRAME_TOKENS + tokens(item)).sum(),
        Value::Object(object) => match object.get("type").and_then(Value::as_str) {
            Some("image" | "image_url") => IMAGE_TOKENS,
            Some("base64") => {
                let data = object.get("data").and_then(Value::as_str).unwrap_or_default();
                data.len().div_ceil(PDF_BYTES_PER_TOKEN)
            }
            // A client sends thinking back, but the model does not read it.
            Some("thinking" | "redacted_thinking") => 0,
            _ => object
                .iter()
                .filter(|(name, _)| *name != "cache_control" && *name != "type")
                .map(|(name, value)| name.len() / BYTES_PER_TOKEN + tokens(value))
                .sum(),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}
