//! Utility tools: the resources and prompts of a server, callable like tools.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::content::ToolOutcome;
use crate::error::Error;
use crate::message::plain_text;
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
                session.read_resource(uri, options).await
            }
            ToolAction::ListPrompts => list_prompts(&session).await,
            ToolAction::GetPrompt => {
                let prompt = required_argument(arguments, "name")?;
                let arguments = prompt_arguments(&arguments["arguments"]);
                Ok(session.get_prompt(prompt, &arguments, options).await?.into())
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
    Ok(structured(json!({ "resources": listed.items, "resourceTemplates": templates })))
}

async fn list_prompts(session: &Session) -> Result<ToolOutcome, Error> {
    let listed = session.list_prompts().await?;
    Ok(structured(json!({ "prompts": listed.items })))
}

fn structured(value: Value) -> ToolOutcome {
    ToolOutcome { structured: Some(value), ..ToolOutcome::default() }
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
        .map(|(key, value)| (key.clone(), plain_text(value)))
        .collect()
}
