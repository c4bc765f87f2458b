//! A chat completion request as a Messages request: top-level fields.

use serde_json::{Value, json};

use super::super::Untranslatable;
use super::super::fields::{Node, Object, Result, copy, present, text};
use super::messages;

/// Fields that concern only the client and us, or are hints that change no answer.
const DROPPED: &[&str] = &[
    "metadata", "model", "prediction", "prompt_cache_key", "prompt_cache_options",
    "prompt_cache_retention", "seed", "store", "stream_options", "verbosity",
];

/// Fields that are translated below.
const TRANSLATED: &[&str] = &[
    "max_completion_tokens", "max_tokens", "messages", "parallel_tool_calls", "reasoning_effort",
    "response_format", "safety_identifier", "service_tier", "stop", "stream", "temperature",
    "tool_choice", "tools", "top_p", "user",
];

/// Whether a field that cannot be honoured has its no-op value; `None` for any other field.
fn is_no_op(name: &str, value: &Value) -> Option<bool> {
    match name {
        "n" => Some(value.as_u64() == Some(1)),
        "logprobs" => Some(value == &Value::Bool(false)),
        "frequency_penalty" | "presence_penalty" => Some(value.as_f64() == Some(0.0)),
        "logit_bias" => Some(value.as_object().is_some_and(Object::is_empty)),
        "modalities" => Some(value == &json!(["text"])),
        "audio" | "function_call" | "functions" | "moderation" | "top_logprobs"
        | "web_search_options" => Some(false),
        _ => None,
    }
}

/// Converts a chat completion request into a Messages request for `model`.
///
/// Fields that chat completions do not know are passed on untouched, so `thinking`, `top_k` or
/// `cache_control` reach the upstream unchanged.
pub fn request(chat: &Object, model: &str, default_max_tokens: u32) -> Result<Value> {
    let mut body = passed_through(chat)?;
    let request = Node::root(chat);
    let (system, turns) = messages::translate(&request)?;
    let max_tokens = max_tokens(chat)?.unwrap_or_else(|| default_max_tokens.into());
    body.insert("model".into(), model.into());
    body.insert("max_tokens".into(), max_tokens.into());
    if !system.is_empty() {
        body.insert("system".into(), system.into());
    }
    translate_effort(chat, model, max_tokens, &mut body)?;
    body.insert("messages".into(), turns.into());
    sampling(chat, &mut body)?;
    if let Some(stream) = request.flag("stream")? {
        body.insert("stream".into(), stream.into());
    }
    translate_tools(&request, &mut body)?;
    if let Some(user) = present(chat, "safety_identifier").or_else(|| present(chat, "user")) {
        body.insert("metadata".into(), json!({ "user_id": user }));
    }
    if let Some(tier @ ("auto" | "standard_only")) = text(chat, "service_tier") {
        body.insert("service_tier".into(), tier.into());
    }
    if let Some(format) = output_format(chat)? {
        set_output(&mut body, "format", format);
    }
    Ok(Value::Object(body))
}

fn passed_through(chat: &Object) -> Result<Object> {
    let mut body = Object::new();
    for (name, value) in chat {
        let name = name.as_str();
        if value.is_null() || DROPPED.contains(&name) || TRANSLATED.contains(&name) {
            continue;
        }
        match is_no_op(name, value) {
            Some(true) => {}
            Some(false) => return Err(Untranslatable::new(name, "not available for this model")),
            None => {
                body.insert(name.to_owned(), value.clone());
            }
        }
    }
    Ok(body)
}

fn max_tokens(chat: &Object) -> Result<Option<u64>> {
    for name in ["max_completion_tokens", "max_tokens"] {
        if let Some(value) = present(chat, name) {
            return match value.as_u64() {
                Some(tokens @ 1..) => Ok(Some(tokens)),
                _ => Err(Untranslatable::new(name, "must be a positive whole number")),
            };
        }
    }
    Ok(None)
}

fn sampling(chat: &Object, body: &mut Object) -> Result<()> {
    if let Some(value) = present(chat, "temperature") {
        let Some(temperature) = value.as_f64() else {
            return Err(Untranslatable::new("temperature", "must be a number"));
        };
        // Chat completions allow up to 2, this API up to 1.
        let capped = if temperature > 1.0 { json!(1.0) } else { value.clone() };
        body.insert("temperature".into(), capped);
    }
    copy(chat, body, &[("top_p", "top_p")]);
    let stops = match present(chat, "stop") {
        None => return Ok(()),
        Some(Value::Array(stops)) => stops.clone(),
        Some(stop) => vec![stop.clone()],
    };
    let visible = |stop: &Value| stop.as_str().is_some_and(|stop| !stop.trim().is_empty());
    if !stops.iter().all(visible) {
        let message = "this model supports only stop sequences with visible text";
        return Err(Untranslatable::new("stop", message));
    }
    if !stops.is_empty() {
        body.insert("stop_sequences".into(), stops.into());
    }
    Ok(())
}

fn output_format(chat: &Object) -> Result<Option<Value>> {
    let Some(format) = present(chat, "response_format") else { return Ok(None) };
    match format.get("type").and_then(Value::as_str) {
        Some("text") => Ok(None),
        Some("json_schema") => {
            let schema = format.pointer("/json_schema/schema").filter(|schema| schema.is_object());
            let schema = schema.ok_or_else(|| {
                Untranslatable::new("response_format.json_schema.schema", "must be a schema")
            })?;
            Ok(Some(json!({ "type": "json_schema", "schema": schema })))
        }
        _ => {
            let message = "this model supports only text and json_schema";
            Err(Untranslatable::new("response_format.type", message))
        }
    }
}

/// Adds the tools and the choice among them.
fn translate_tools(chat: &Node<'_>, body: &mut Object) -> Result<()> {
    let tools =
        chat.objects("tools")?.map(|tool| definition(&tool?)).collect::<Result<Vec<_>>>()?;
    let choice = chat.get("tool_choice").map(choice).transpose()?;
    if tools.is_empty() {
        return match choice.as_ref().and_then(|choice| choice["type"].as_str()) {
            None | Some("auto" | "none") => Ok(()),
            Some(_) => Err(chat.error("tool_choice", "requires tools to choose from")),
        };
    }
    body.insert("tools".into(), tools.into());
    let one_at_a_time = chat.flag("parallel_tool_calls")? == Some(false);
    let mut choice = match choice {
        None if one_at_a_time => json!({ "type": "auto" }),
        None => return Ok(()),
        Some(choice) => choice,
    };
    if one_at_a_time && choice["type"] != "none" {
        choice["disable_parallel_tool_use"] = true.into();
    }
    body.insert("tool_choice".into(), choice);
    Ok(())
}

fn definition(tool: &Node<'_>) -> Result<Value> {
    let kind = tool.text("type")?;
    if kind != "function" {
        let message = format!("this model supports only function tools, not {kind}");
        return Err(tool.error("type", message));
    }
    let function = tool.object("function")?;
    let mut definition = Object::new();
    definition.insert("name".into(), function.text("name")?.into());
    let fields = [("description", "description"), ("strict", "strict")];
    copy(function.object, &mut definition, &fields);
    let parameters = function.optional_object("parameters")?;
    let mut schema = parameters.map(|schema| schema.object.clone()).unwrap_or_default();
    schema.entry("type").or_insert_with(|| "object".into());
    definition.insert("input_schema".into(), schema.into());
    copy(tool.object, &mut definition, &[("cache_control", "cache_control")]);
    Ok(definition.into())
}

fn choice(choice: &Value) -> Result<Value> {
    match choice {
        Value::String(mode) if mode == "auto" => Ok(json!({ "type": "auto" })),
        Value::String(mode) if mode == "none" => Ok(json!({ "type": "none" })),
        Value::String(mode) if mode == "required" => Ok(json!({ "type": "any" })),
        _ => {
            let name = choice.pointer("/function/name").and_then(Value::as_str);
            name.map(|name| json!({ "type": "tool", "name": name })).ok_or_else(|| {
                let message = "must be auto, none, required or one function";
                Untranslatable::new("tool_choice", message)
            })
        }
    }
}

/// Minimum thinking budget of the API.
const MIN_BUDGET_TOKENS: u64 = 1024;

/// First generation whose models control thinking by effort instead of a budget.
const FIRST_ADAPTIVE: (u32, u32) = (4, 6);

/// Efforts with their level in this API, and the share of the token limit that an older model may
/// think: divisor and factor.
const EFFORTS: [(&str, &str, u64, u64); 6] = [
    ("minimal", "low", 4, 1),
    ("low", "low", 4, 1),
    ("medium", "medium", 2, 1),
    ("high", "high", 4, 3),
    ("xhigh", "xhigh", 4, 3),
    ("max", "max", 4, 3),
];

/// Adds what the wished effort means to the body; a `thinking` the client wrote itself stays.
fn translate_effort(chat: &Object, model: &str, max_tokens: u64, body: &mut Object) -> Result<()> {
    let Some(wish) = present(chat, "reasoning_effort") else { return Ok(()) };
    let effort = EFFORTS.iter().find(|(name, ..)| wish == name);
    if effort.is_none() && wish != "none" {
        let message = "this model does not support this effort";
        return Err(Untranslatable::new("reasoning_effort", message));
    }
    if body.contains_key("thinking") {
        return Ok(());
    }
    let is_adaptive = generation(model).is_none_or(|generation| generation >= FIRST_ADAPTIVE);
    let thinking = match effort {
        None => Some(json!({ "type": "disabled" })),
        Some((_, level, ..)) if is_adaptive => {
            set_output(body, "effort", (*level).into());
            Some(json!({ "type": "adaptive", "display": "summarized" }))
        }
        Some((.., divisor, factor)) => budget(chat, max_tokens / divisor * factor, max_tokens)
            .map(|tokens| json!({ "type": "enabled", "budget_tokens": tokens })),
    };
    if let Some(thinking) = thinking {
        body.insert("thinking".into(), thinking);
    }
    Ok(())
}

/// Sets one field of the body's `output_config`; the client's other fields are kept.
fn set_output(body: &mut Object, name: &str, value: Value) {
    let mut config = match body.remove("output_config") {
        Some(Value::Object(config)) => config,
        _ => Object::new(),
    };
    config.insert(name.into(), value);
    body.insert("output_config".into(), config.into());
}

/// Thinking budget of an older model, or `None` if it cannot think in this request.
fn budget(chat: &Object, share: u64, max_tokens: u64) -> Option<u64> {
    // With a fixed budget, a turn after a tool call must begin with the signed thinking before it,
    // which chat completions cannot carry.
    let last = chat.get("messages").and_then(Value::as_array).and_then(|list| list.last());
    if last.and_then(|message| message.get("role")).and_then(Value::as_str) == Some("tool") {
        return None;
    }
    let tokens = share.max(MIN_BUDGET_TOKENS);
    (tokens < max_tokens).then_some(tokens)
}

/// The version in a model's name: `claude-sonnet-4-5-20250929` and `claude-3-7-sonnet` alike.
fn generation(model: &str) -> Option<(u32, u32)> {
    let mut numbers = model
        .split(['-', '.', '@', ':', '_'])
        .skip_while(|part| part.parse::<u32>().is_err())
        .map_while(|part| part.parse::<u32>().ok().filter(|number| *number < 100));
    let major = numbers.next()?;
    Some((major, numbers.next().unwrap_or(0)))
}

#[cfg(test)]
mod tests;
