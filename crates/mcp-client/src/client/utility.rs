//! The utility tools: resources and prompts of a server, offered like tools.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::content::{Block, ToolOutcome};
use crate::error::Error;
use crate::registry::Action;
use crate::session::{CallOptions, Session};
use crate::supervise::{Effect, Handle};

/// Runs one of the four utility tools. They only read, so a lost one is tried again.
pub(super) async fn run(
    handle: &Handle,
    name: &str,
    action: &Action,
    arguments: &Value,
    options: &CallOptions,
) -> Result<ToolOutcome, Error> {
    let call = |session: Session| async move {
        match action {
            Action::ListResources => list_resources(&session).await,
            Action::ReadResource => {
                let uri = wanted(arguments, "uri")?;
                let contents = session.read_resource(uri, options).await?;
                Ok(outcome(contents.blocks))
            }
            Action::ListPrompts => list_prompts(&session).await,
            Action::GetPrompt => {
                let prompt = wanted(arguments, "name")?;
                let filled =
                    session.get_prompt(prompt, &words(&arguments["arguments"]), options).await?;
                Ok(outcome(prompt_blocks(filled)))
            }
            Action::Tool(_) => Err(Error::UnknownTool { name: name.to_owned() }),
        }
    };
    handle.run(name, Effect::None, call).await
}

async fn list_resources(session: &Session) -> Result<ToolOutcome, Error> {
    let listed = session.list_resources().await?;
    // Templates are an extra that few servers have.
    let templates = session.list_templates().await.map(|listed| listed.items).unwrap_or_default();
    let resources: Vec<Value> = listed
        .items
        .iter()
        .map(|item| {
            compact(json!({
                "uri": item.uri, "name": item.name, "title": item.title,
                "description": item.description, "mimeType": item.mime_type, "size": item.size,
            }))
        })
        .collect();
    let templates: Vec<Value> = templates
        .iter()
        .map(|item| {
            compact(json!({
                "uriTemplate": item.uri_template, "name": item.name,
                "description": item.description, "mimeType": item.mime_type,
            }))
        })
        .collect();
    Ok(structured(json!({ "resources": resources, "resourceTemplates": templates })))
}

async fn list_prompts(session: &Session) -> Result<ToolOutcome, Error> {
    let listed = session.list_prompts().await?;
    let prompts: Vec<Value> = listed
        .items
        .iter()
        .map(|item| {
            let arguments: Vec<Value> = item
                .arguments
                .iter()
                .map(|argument| {
                    compact(json!({
                        "name": argument.name, "description": argument.description,
                        "required": argument.required,
                    }))
                })
                .collect();
            compact(json!({
                "name": item.name, "title": item.title, "description": item.description,
                "arguments": arguments,
            }))
        })
        .collect();
    Ok(structured(json!({ "prompts": prompts })))
}

fn prompt_blocks(filled: crate::content::PromptMessages) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(description) = filled.description {
        blocks.push(Block::Text(description));
    }
    for message in filled.messages {
        blocks.push(Block::Text(format!("{}:", message.role)));
        blocks.extend(message.blocks);
    }
    blocks
}

fn outcome(blocks: Vec<Block>) -> ToolOutcome {
    ToolOutcome { blocks, structured: None, is_error: false, meta: None }
}

fn structured(value: Value) -> ToolOutcome {
    ToolOutcome { structured: Some(value), ..outcome(Vec::new()) }
}

/// Without the fields that say nothing.
fn compact(mut value: Value) -> Value {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    value
}

fn wanted<'a>(arguments: &'a Value, key: &str) -> Result<&'a str, Error> {
    let found = arguments.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    found.ok_or_else(|| Error::BadArguments { reason: format!("`{key}` is missing") })
}

/// Prompt arguments are strings on the wire; what a model gives as numbers is written out.
fn words(arguments: &Value) -> BTreeMap<String, String> {
    let fields = arguments.as_object().into_iter().flatten();
    fields
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (key.clone(), text)
        })
        .collect()
}
