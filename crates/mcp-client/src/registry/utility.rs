//! The tools that the client adds for a server's resources and prompts.

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::Action;
use crate::config::ToolPolicy;

/// One tool of the client's own.
pub(super) struct Utility {
    pub(super) native: &'static str,
    pub(super) action: Action,
    pub(super) description: String,
    pub(super) schema: Arc<Value>,
}

/// The utilities that are both wanted and backed by the server.
pub(super) fn wanted(
    server: &str,
    policy: &ToolPolicy,
    resources: bool,
    prompts: bool,
) -> Vec<Utility> {
    let mut utilities = Vec::new();
    if policy.resources && resources {
        utilities.push(Utility {
            native: "list_resources",
            action: Action::ListResources,
            description: format!("List the resources that the MCP server `{server}` offers."),
            schema: Arc::clone(&NOTHING),
        });
        utilities.push(Utility {
            native: "read_resource",
            action: Action::ReadResource,
            description: format!("Read one resource of the MCP server `{server}` by its URI."),
            schema: Arc::clone(&URI),
        });
    }
    if policy.prompts && prompts {
        utilities.push(Utility {
            native: "list_prompts",
            action: Action::ListPrompts,
            description: format!("List the prompts that the MCP server `{server}` offers."),
            schema: Arc::clone(&NOTHING),
        });
        utilities.push(Utility {
            native: "get_prompt",
            action: Action::GetPrompt,
            description: format!("Get one prompt of the MCP server `{server}`, filled in."),
            schema: Arc::clone(&PROMPT),
        });
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
