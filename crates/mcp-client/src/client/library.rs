//! Prompts and resources of servers, for selection by a person, and callable like tools.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Client;
use crate::content::ToolOutcome;
use crate::error::Error;
use crate::message::plain_text;
use crate::registry::ToolAction;
use crate::session::{CallOptions, Session};
use crate::supervisor::{CallEffect, ServerHandle};
use crate::tool::{Prompt, Resource, ResourceTemplate};

/// The object whose argument is completed.
#[derive(Debug, Clone, Copy)]
pub enum Completed<'a> {
    Prompt(&'a str),
    Template(&'a str),
}

impl Client {
    pub fn servers_with_prompts(&self) -> Vec<String> {
        self.servers_with(|action| matches!(action, ToolAction::GetPrompt))
    }

    pub fn servers_with_resources(&self) -> Vec<String> {
        self.servers_with(|action| matches!(action, ToolAction::ReadResource))
    }

    fn servers_with(&self, is_wanted: impl Fn(&ToolAction) -> bool) -> Vec<String> {
        let registry = self.registry();
        let found = registry.entries().filter(|entry| is_wanted(&entry.action));
        found.map(|entry| entry.server.to_string()).collect()
    }

    pub async fn prompts(&self, server: &str) -> Result<Vec<Prompt>, Error> {
        let list = |session: Session| async move { session.list_prompts().await };
        Ok(self.read(server, "prompts/list", list).await?.items)
    }

    /// A prompt, rendered by its server.
    pub async fn prompt(
        &self,
        server: &str,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Result<ToolOutcome, Error> {
        let options = &CallOptions::default();
        let call =
            |session: Session| async move { session.get_prompt(name, arguments, options).await };
        let filled = self.read(server, name, call).await?;
        // A single message of the user needs no label.
        let outcome = match filled.messages.as_slice() {
            [only] if only.role == "user" => {
                ToolOutcome { blocks: only.blocks.clone(), ..ToolOutcome::default() }
            }
            _ => filled.into(),
        };
        Ok(outcome.redacted(&self.inner.host.redactor))
    }

    /// The server's suggestions that complete a partial argument of a prompt or resource
    /// template.
    pub async fn complete(
        &self,
        server: &str,
        of: Completed<'_>,
        (argument, begun): (&str, &str),
        given: &BTreeMap<String, String>,
    ) -> Result<Vec<String>, Error> {
        let reference = &match of {
            Completed::Prompt(name) => json!({ "type": "ref/prompt", "name": name }),
            Completed::Template(uri) => json!({ "type": "ref/resource", "uri": uri }),
        };
        let call = |session: Session| async move {
            session.complete(reference, argument, begun, given).await
        };
        self.read(server, argument, call).await
    }

    pub async fn resources(&self, server: &str) -> Result<Vec<Resource>, Error> {
        let list = |session: Session| async move { session.list_resources().await };
        Ok(self.read(server, "resources/list", list).await?.items)
    }

    pub async fn resource_templates(&self, server: &str) -> Result<Vec<ResourceTemplate>, Error> {
        let list = |session: Session| async move { session.list_templates().await };
        Ok(self.read(server, "resources/templates/list", list).await?.items)
    }

    /// Whether a resource may have changed since the last call. The first call, also after a
    /// reconnect, subscribes to its changes. `None` if the server does not report changes.
    pub async fn watch_resource(&self, server: &str, uri: &str) -> Result<Option<bool>, Error> {
        let watch = |session: Session| async move { session.watch_resource(uri).await };
        self.read(server, uri, watch).await
    }

    pub async fn unwatch_resource(&self, server: &str, uri: &str) -> Result<(), Error> {
        let unwatch = |session: Session| async move { session.unwatch_resource(uri).await };
        self.read(server, uri, unwatch).await
    }

    pub async fn resource(&self, server: &str, uri: &str) -> Result<ToolOutcome, Error> {
        let options = &CallOptions::default();
        let call = |session: Session| async move { session.read_resource(uri, options).await };
        Ok(self.read(server, uri, call).await?.redacted(&self.inner.host.redactor))
    }
}

/// Runs one of the four utility tools. They only read, so a lost call is retried.
pub(super) async fn run_utility(
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
