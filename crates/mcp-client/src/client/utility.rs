//! Utility tools: the resources and prompts of a server, callable like tools.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::content::{ContentBlock, ToolOutcome};
use crate::error::Error;
use crate::registry::ToolAction;
use crate::session::{CallOptions, Session};
use crate::supervisor::{CallEffect, ServerHandle};

/// Runs one of the four utility tools. They only read, so a lost call is retried.
pub(super) async fn run(
    handle: &ServerHandle,
    name: &str,
    action: &ToolAction,
    arguments: &Value,
    options: &CallOptions,
) -> Result<ToolOutcome, Error> {
    let call = |session: Session| async move {
        match action {
            ToolAction::ListResources => list_resources(&session).await,
            ToolAction::ReadResource => {
                let uri = required_argument(arguments, "uri")?;
                let contents = session.read_resource(uri, options).await?;
                Ok(outcome(contents.blocks))
            }
            ToolAction::ListPrompts => list_prompts(&session).await,
            ToolAction::GetPrompt => {
                let prompt = required_argument(arguments, "name")?;
                let filled = session
                    .get_prompt(prompt, &prompt_arguments(&arguments["arguments"]), options)
                    .await?;
                Ok(outcome(prompt_blocks(filled)))
            }
            ToolAction::Tool(_) => Err(Error::UnknownTool { name: name.to_owned() }),
        }
    };
    handle.run(name, CallEffect::ReadOnly, call).await
}

async fn list_resources(session: &Session) -> Result<ToolOutcome, Error> {
    let listed = session.list_resources().await?;
    // Few servers implement templates, so a failure is ignored.
    let templates = session.list_templates().await.map(|listed| listed.items).unwrap_or_default();
    let resources: Vec<Value> = listed
        .items
        .iter()
        .map(|item| {
            without_nulls(json!({
                "uri": item.uri, "name": item.name, "title": item.title,
                "description": item.description, "mimeType": item.mime_type, "size": item.size,
            }))
        })
        .collect();
    let templates: Vec<Value> = templates
        .iter()
        .map(|item| {
            without_nulls(json!({
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
                    without_nulls(json!({
                        "name": argument.name, "description": argument.description,
                        "required": argument.required,
                    }))
                })
                .collect();
            without_nulls(json!({
                "name": item.name, "title": item.title, "description": item.description,
                "arguments": arguments,
            }))
        })
        .collect();
    Ok(structured(json!({ "prompts": prompts })))
}

fn prompt_blocks(filled: crate::content::PromptMessages) -> Vec<ContentBlock> {
    let mut blocks = Vec::new();
    if let Some(description) = filled.description {
        blocks.push(ContentBlock::Text(description));
    }
    for message in filled.messages {
        blocks.push(ContentBlock::Text(format!("{}:", message.role)));
        blocks.extend(message.blocks);
    }
    blocks
}

fn outcome(blocks: Vec<ContentBlock>) -> ToolOutcome {
    ToolOutcome { blocks, ..ToolOutcome::default() }
}

fn structured(value: Value) -> ToolOutcome {
    ToolOutcome { structured: Some(value), ..outcome(Vec::new()) }
}

fn without_nulls(mut value: Value) -> Value {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    value
}

fn required_argument<'a>(arguments: &'a Value, key: &str) -> Result<&'a str, Error> {
    let found = arguments.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    found.ok_or_else(|| Error::BadArguments { reason: format!("`{key}` is missing") })
}

/// The protocol wants strings; models may pass numbers.
fn prompt_arguments(arguments: &Value) -> BTreeMap<String, String> {
    let fields = arguments.as_object().into_iter().flatten();
    fields
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (key.clone(), text)
        })
        .collect()
}
