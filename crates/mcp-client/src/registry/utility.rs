//! The utility tools for a server's resources and prompts.

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::ToolAction;
use crate::config::ToolPolicy;

pub(super) struct Utility {
    pub(super) native_name: &'static str,
    pub(super) action: ToolAction,
    pub(super) description: String,
    pub(super) schema: Arc<Value>,
}

pub(super) fn wanted(
    server: &str,
    policy: &ToolPolicy,
    resources: bool,
    prompts: bool,
) -> Vec<Utility> {
    let utility = |native_name, action, description, schema: &Arc<Value>| Utility {
        native_name,
        action,
        description,
        schema: Arc::clone(schema),
    };
    let mut utilities = Vec::new();
    if policy.resources && resources {
        let list = format!("List the resources that the MCP server `{server}` offers.");
        let read = format!("Read one resource of the MCP server `{server}` by its URI.");
        utilities.push(utility("list_resources", ToolAction::ListResources, list, &NOTHING));
        utilities.push(utility("read_resource", ToolAction::ReadResource, read, &URI));
    }
    if policy.prompts && prompts {
        let list = format!("List the prompts that the MCP server `{server}` offers.");
        let get = format!("Get one prompt of the MCP server `{server}`, filled in.");
        utilities.push(utility("list_prompts", ToolAction::ListPrompts, list, &NOTHING));
        utilities.push(utility("get_prompt", ToolAction::GetPrompt, get, &PROMPT));
    }
    utilities
}

static NOTHING: LazyLock<Arc<Value>> =
    LazyLock::new(|| Arc::new(json!({"type": "object", "properties": {}})));

static URI: LazyLock<Arc<Value>> = LazyLock::new(|| {
    Arc::new(json!({
        "type": "object",
        "properties": {"uri": {"type": "string", "description": "The resource's URI, as listed"}},
        "required": ["uri"],
    }))
});

static PROMPT: LazyLock<Arc<Value>> = LazyLock::new(|| {
    Arc::new(json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The prompt's name, as listed"},
            "arguments": {
                "type": "object",
                "description": "Values for the prompt's arguments, by name",
                "properties": {},
                "additionalProperties": {"type": "string"},
            },
        },
        "required": ["name"],
    }))
});
