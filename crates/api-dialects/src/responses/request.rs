//! A responses request as a chat completion request: the fields at the top.

use serde_json::{Value, json};

use super::super::Untranslatable;
use super::super::fields::{Object, flag, list, object_at, present, text_at};
use super::{conversation, tools};

/// Fields that are ours to act on, or that say nothing to a chat completion.
const KEPT_HERE: &[&str] = &[
    "background",
    "client_metadata",
    "include",
    "max_tool_calls",
    "metadata",
    "previous_response_id",
    "store",
    "stream_options",
    "truncation",
];

/// Fields that are put into another form below.
const TRANSLATED: &[&str] = &[
    "input",
    "instructions",
    "max_output_tokens",
    "reasoning",
    "stream",
    "text",
    "tool_choice",
    "tools",
];

/// Fields whose wish a chat completion cannot meet.
const UNMET: &[&str] = &["context_management", "conversation", "moderation", "prompt"];

/// The chat completion request that continues `earlier` with what the responses request asks.
///
/// `earlier` are the items, input and output, of the responses before this one, oldest first.
/// Fields the Responses API does not know are passed on untouched.
pub fn request(body: &Object, earlier: &[Value]) -> Result<Object, Untranslatable> {
    let mut chat = passed_through(body)?;
    chat.insert("messages".into(), conversation::translate(body, earlier)?.into());
    tools::translate(body, &mut chat)?;
    if let Some(format) = text_format(body)? {
        chat.insert("response_format".into(), format);
    }
    let nested = [("text", "verbosity", "verbosity"), ("reasoning", "effort", "reasoning_effort")];
    for (object, field, name) in nested {
        if let Some(value) = present(body, object).and_then(|object| object.get(field))
            && !value.is_null()
        {
            chat.insert(name.into(), value.clone());
        }
    }
    if let Some(tokens) = present(body, "max_output_tokens") {
        chat.insert("max_completion_tokens".into(), tokens.clone());
    }
    if flag(body, "stream")? == Some(true) {
        chat.insert("stream".into(), true.into());
        chat.insert("stream_options".into(), json!({ "include_usage": true }));
    }
    Ok(chat)
}

fn passed_through(body: &Object) -> Result<Object, Untranslatable> {
    let mut chat = Object::new();
    for (name, value) in body {
        let name = name.as_str();
        if value.is_null() || KEPT_HERE.contains(&name) || TRANSLATED.contains(&name) {
            continue;
        }
        let logprobs = name == "top_logprobs" && value.as_u64() != Some(0);
        if UNMET.contains(&name) || logprobs {
            return Err(Untranslatable::new(name, "not available for this model"));
        }
        if name != "top_logprobs" {
            chat.insert(name.to_owned(), value.clone());
        }
    }
    let wished = list(body, "include")?;
    if wished.iter().any(|wish| wish == "message.output_text.logprobs") {
        return Err(Untranslatable::new("include", "this model gives no log probabilities here"));
    }
    Ok(chat)
}

fn text_format(body: &Object) -> Result<Option<Value>, Untranslatable> {
    let Some(text) = present(body, "text") else { return Ok(None) };
    let Some(format) = present(object_at(text, "text")?, "format") else { return Ok(None) };
    let place = "text.format";
    let format = object_at(format, place)?;
    match text_at(format, "type", place)? {
        "text" => Ok(None),
        "json_object" => Ok(Some(json!({ "type": "json_object" }))),
        "json_schema" => {
            let mut schema = Object::new();
            schema.insert("name".into(), text_at(format, "name", place)?.into());
            for name in ["description", "schema", "strict"] {
                if let Some(value) = present(format, name) {
                    schema.insert(name.into(), value.clone());
                }
            }
            Ok(Some(json!({ "type": "json_schema", "json_schema": schema })))
        }
        kind => {
            let message = format!("this model gives no answers of the type {kind}");
            Err(Untranslatable::new("text.format.type", message))
        }
    }
}
